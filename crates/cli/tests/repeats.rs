//! More than one run from one file, runs after each other, runs that start at a checkpoint, and files
//! that are brought to the nodes and back.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use testkit::{TestEnv, wait_until};

/// Counts to its first argument, saves every tenth number, and goes on from the newest.
const TRAIN: &str = r#"n=$(ls "$YARD_RESUME" | sed 's/.*-//' | sort -n | tail -1); n=${n:-0}
echo "repeat $YARD_REPEAT of $2 from $n"
mkdir -p "$SLURM_TMPDIR/results"
echo "$YARD_REPEAT from $n" >> "$SLURM_TMPDIR/results/log"
while [ "$n" -lt "$1" ]; do
    n=$((n + 1)); sleep 0.02
    if [ $((n % 10)) = 0 ]; then
        echo "weights $n" > "$YARD_CHECKPOINTS/.part"
        mv "$YARD_CHECKPOINTS/.part" "$YARD_CHECKPOINTS/step-$n"
    fi
done
test -d "$scratch_dir/$exp_name/checkpoints" -a -d "$scratch_dir/hpc_outputs" && cd "$source_dir" &&
    echo "$project_name has all of it"
"#;

fn write_run(env: &TestEnv, name: &str, to: u32, more: &str) {
    env.write("train.sh", TRAIN);
    let text = format!(
        "name = \"{name}\"\ncommand = [\"sh\", \"train.sh\", \"{to}\", \"{{repeat}}\"]\n{more}\
         checkpoints = {{ complete = \"rename\" }}\nresources = {{ time = \"10m\", cpus_per_rank = 1 }}\n"
    );
    env.write(format!("{name}.toml"), &text);
}

fn show(env: &TestEnv, name: &str) -> Value {
    serde_json::from_str(&env.yard(&["show", name, "--json"]).success()).unwrap()
}

fn folder(env: &TestEnv, name: &str) -> PathBuf {
    PathBuf::from(show(env, name)["folder"].as_str().unwrap())
}

fn starts(env: &TestEnv, name: &str) -> usize {
    show(env, name)["starts"].as_array().unwrap().len()
}

#[test]
fn repeats_are_one_array_and_each_is_resumed_by_itself() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let more = "repeat = 3\nat_once = 2\ndata = { collect = [\"results/**\"] }\n";
    write_run(&env, "seeds", 1_000_000, more);
    let plan = env.yard(&["plan", "seeds.toml"]).success();
    assert!(plan.contains("3, as seeds.1 to seeds.3"), "{plan}");
    env.yard(&["run", "seeds.toml", "--detach"]).success();
    wait_until("both that may are saved", || {
        ["seeds.1", "seeds.2"].iter().all(|name| {
            let manifests = folder(&env, name).join("checkpoints/.manifests");
            fs::read_dir(manifests).is_ok_and(|mut entries| entries.next().is_some())
        })
    });
    let listed: Value = serde_json::from_str(&env.yard(&["ls", "--json"]).success()).unwrap();
    let rows = listed["runs"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{listed}");
    let states: Vec<&str> = rows[0]["repeats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["running", "running", "waiting"], "{listed}");
    let shown = env.yard(&["show", "seeds"]).success();
    assert!(
        shown.contains("2 running") && shown.contains("its array runs"),
        "{shown}"
    );

    env.yard(&["requeue", "seeds.2"]).success();
    wait_until("the third has its place", || starts(&env, "seeds.3") == 1);
    // What the first start wrote on the node came back.
    let log = folder(&env, "seeds.2").join("collected/results/log");
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 1);
    env.yard(&["cancel", "seeds.1"]).success();
    let waited = env.yard(&["wait", "seeds.1"]).code(1);
    assert!(waited.stdout.contains("cancelled"), "{}", waited.snapshot());
    let resumed = |logs: &str| {
        let firsts = logs
            .lines()
            .filter(|line| line.contains("repeat 2 of 2 from"));
        firsts.count() == 2 && !logs.ends_with("from 0\n")
    };
    wait_until("it resumes", || {
        resumed(&env.yard(&["logs", "seeds.2"]).success())
    });
    assert_eq!((starts(&env, "seeds.1"), starts(&env, "seeds.2")), (1, 2));

    let cancelled = env.yard(&["cancel", "seeds"]).success();
    assert!(cancelled.contains("2 runs of seeds-"), "{cancelled}");
    let waited = env.yard(&["wait", "seeds"]).code(1);
    assert_eq!(
        waited.stdout.matches("cancelled").count(),
        3,
        "{}",
        waited.snapshot()
    );
    // All of them go back.
    let requeued = env.yard(&["requeue", "seeds"]).success();
    assert!(
        requeued.contains("3 runs go back into the queue"),
        "{requeued}"
    );
    wait_until("the second resumes again", || starts(&env, "seeds.2") == 3);
    env.yard(&["cancel", "seeds"]).success();
    assert_eq!(env.yard(&["wait", "seeds"]).status, 1);
    // The second went on with what was there.
    assert!(fs::read_to_string(log).unwrap().lines().count() >= 2);
    let group = folder(&env, "seeds");
    env.yard(&["rm", "--yes", "seeds"]).success();
    assert!(!group.exists());
    assert!(env.yard(&["ls"]).success().contains("was removed"));
}

/// What their folders say is of the start before, until the next one begins.
#[test]
fn repeats_that_failed_wait_again_once_they_are_requeued() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let work = env.work().display().to_string();
    let args = ["run", "-d", "--repeat", "2", "--name", "again", "--"];
    let command = ["sh", "-c", "test -e \"$0/mended\"", &work];
    env.yard(&[&args[..], &command].concat()).success();
    let _failed = env.yard(&["wait", "again"]).code(1);
    env.slurm(
        "sbatch",
        &[
            "--exclusive",
            "--wrap",
            "until test -e go; do sleep 0.1; done",
        ],
    )
    .success();
    wait_until("another job has all", || {
        let listed = env.slurm("squeue", &["-h", "-o", "%T"]).success();
        listed == "RUNNING\n"
    });
    env.yard(&["requeue", "again"]).success();
    let shown = env.yard(&["show", "again"]).success();
    assert!(shown.contains("2 resuming"), "{shown}");
    let listed: Value = serde_json::from_str(&env.yard(&["ls", "--json"]).success()).unwrap();
    let states = listed["runs"][0]["repeats"].as_array().unwrap();
    assert!(
        states.iter().all(|row| row["state"] == "resuming"),
        "{listed}"
    );
    let left = env.yard(&["wait", "again", "--timeout", "1s"]);
    assert_eq!(left.status, 124, "{}", left.snapshot());
    // Their jobs would start without their folders.
    let kept = env.yard(&["rm", "--yes", "again"]);
    assert_ne!(kept.status, 0, "{}", kept.snapshot());
    env.yard(&["cancel", "again"]).success();
    wait_until("those that waited are cancelled", || {
        env.yard(&["show", "again"])
            .success()
            .contains("2 cancelled")
    });
    env.yard(&["requeue", "again"]).success();
    let shown = env.yard(&["show", "again"]).success();
    assert!(shown.contains("2 resuming"), "{shown}");
    env.write("mended", "");
    env.write("go", "");
    env.yard(&["wait", "again"]).success();
}

/// By Slurm's own command, of which their folders have no word.
#[test]
fn runs_that_slurm_requeued_wait_again_and_are_not_removed() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let args = [
        "run", "-d", "--repeat", "2", "--name", "kept", "--", "false",
    ];
    env.yard(&args).success();
    let _failed = env.yard(&["run", "--name", "one", "--", "false"]).code(1);
    let _failed = env.yard(&["wait", "kept"]).code(1);
    env.slurm("sbatch", &["--exclusive", "--wrap", "sleep 600"])
        .success();
    wait_until("another job has all", || {
        let listed = env.slurm("squeue", &["-h", "-o", "%T"]).success();
        listed == "RUNNING\n"
    });
    let listed = |name: &str| {
        let listed: Value = serde_json::from_str(&env.yard(&["ls", "--json"]).success()).unwrap();
        let rows = listed["runs"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name);
        row.unwrap()["state"].as_str().unwrap().to_owned()
    };
    let states = || [listed("kept"), listed("one")];
    assert_eq!(states(), ["failed", "failed"]);
    let one = env.slurm("squeue", &["-h", "-t", "FAILED", "-n", "one", "-o", "%A"]);
    let one = one.success().trim().to_owned();
    env.slurm("scontrol", &["requeue", "1_1", &one]).success();
    assert_eq!(states(), ["resuming", "resuming"]);
    let shown = env.yard(&["show", "kept"]).success();
    assert!(shown.contains("1 resuming, 1 failed"), "{shown}");
    for name in ["kept", "one"] {
        let left = env.yard(&["wait", name, "--timeout", "1s"]);
        assert_eq!(left.status, 124, "{}", left.snapshot());
    }
    let kept = folder(&env, "kept");
    let refused = env.yard(&["rm", "--yes", "kept"]);
    assert_ne!(refused.status, 0, "{}", refused.snapshot());
    assert!(kept.exists());
    env.slurm("scancel", &["--me"]).success();
    wait_until("no job is left", || {
        env.slurm("squeue", &["-h"]).stdout.is_empty()
    });
    env.yard(&["rm", "--yes", "kept"]).success();
    assert!(!kept.exists());
}

/// Programs that take their time to end.
#[test]
fn repeats_whose_programs_go_on_after_a_cancel_are_being_cancelled() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let script = "trap '' TERM; : > \"$0/begun\"; until [ -e \"$0/go\" ]; do sleep 0.1; done";
    let work = env.work().display().to_string();
    let args = ["run", "-d", "--repeat", "2", "--name", "slow", "--"];
    env.yard(&[&args[..], &["sh", "-c", script, &work]].concat())
        .success();
    wait_until("one has begun", || env.work().join("begun").exists());
    env.yard(&["cancel", "slow"]).success();
    let listed = env.yard(&["ls"]).success();
    assert!(listed.contains("; being cancelled"), "{listed}");
    let shown = env.yard(&["show", "slow"]).success();
    assert!(shown.contains("being cancelled"), "{shown}");
    env.write("go", "");
    let _ = env.yard(&["wait", "slow"]).code(1);
    let listed = env.yard(&["ls"]).success();
    assert!(!listed.contains("being cancelled"), "{listed}");
}

#[test]
fn all_repeats_are_followed_to_their_ends() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    write_run(&env, "seeds", 1, "");
    let said = env.yard(&["run", "seeds.toml", "--repeat", "2"]).success();
    assert!(said.contains(".1           done"), "{said}");
    assert!(said.contains("all done in"), "{said}");
    let logs = env.yard(&["logs", "seeds"]).success();
    assert!(logs.contains("[1.0] repeat 1 of 1 from 0"), "{logs}");
    assert!(logs.contains("[2.0] repeat 2 of 2 from 0"), "{logs}");
    assert_eq!(logs.matches("has all of it").count(), 2, "{logs}");
}

#[test]
fn repeats_of_code_with_a_link_that_leads_nowhere() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    std::os::unix::fs::symlink("data-of-another-machine", env.work().join("data")).unwrap();
    let text = "command = [\"readlink\", \"data\"]\nrepeat = 2\nresources = { time = \"1m\" }\n";
    env.write("yard.toml", text);
    env.yard(&["run"]).success();
    let printed = env.yard(&["logs"]).success();
    let leads = printed
        .lines()
        .filter(|line| line.ends_with("data-of-another-machine"));
    assert_eq!(leads.count(), 2, "{printed}");
}

/// The run that came after it failed: "was removed".
#[test]
fn a_run_that_another_one_is_to_come_after_is_not_removed() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    write_run(&env, "prepare", 1, "");
    write_run(&env, "train", 1, "after = { run = \"prepare\" }\n");
    // Both wait for a CPU until the job that has all of them ends.
    let all = ["--parsable", "--exclusive", "--wrap", "sleep 600"];
    let first = env.slurm("sbatch", &all).success().trim().to_owned();
    env.yard(&["run", "prepare.toml", "--detach"]).success();
    env.yard(&["run", "train.toml", "--detach"]).success();
    let train = env.slurm("squeue", &["-h", "-o", "%i", "-n", "train"]);
    let train = train.success().trim().to_owned();
    env.slurm("scontrol", &["hold", &train]).success();
    env.slurm("scancel", &[&first]).success();
    env.yard(&["wait", "prepare"]).success();
    let refused = env.yard(&["rm", "--yes", "prepare"]).code(3).snapshot();
    assert!(refused.contains("starts after it"), "{refused}");
    env.slurm("scontrol", &["release", &train]).success();
    env.yard(&["wait", "train"]).success();
    env.yard(&["rm", "--yes", "prepare"]).success();
}

#[test]
fn a_run_waits_for_another_and_fails_with_it() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    write_run(&env, "prepare", 30, "");
    write_run(&env, "train", 1, "after = { run = \"prepare\" }\n");
    let none = env.yard(&["run", "train.toml"]).code(2);
    let said = none.snapshot();
    assert_eq!(said.matches("no run has the name").count(), 1, "{said}");
    env.yard(&["run", "prepare.toml", "--detach"]).success();
    env.yard(&["run", "train.toml"]).success();
    let (first, second) = (show(&env, "prepare"), show(&env, "train"));
    let events = |run: &Value| run["starts"][0]["events"].as_array().unwrap().clone();
    let ended = events(&first).last().unwrap()["at"].as_i64().unwrap();
    assert!(
        events(&second)[0]["at"].as_i64().unwrap() >= ended,
        "{first} {second}"
    );

    env.write("train.sh", "sleep 1; echo no space; exit 3");
    env.yard(&["run", "prepare.toml", "--detach"]).success();
    let newest = show(&env, "prepare")["run"].as_str().unwrap().to_owned();
    let oldest = first["run"].as_str().unwrap();
    let which = [
        format!("it starts when {newest} is done"),
        format!("older: {oldest}"),
    ];
    for command in ["plan", "run"] {
        let detach = (command == "run").then_some("--detach");
        let words: Vec<&str> = [command, "train.toml"].into_iter().chain(detach).collect();
        let said = env.yard(&words).success();
        // Long notes are wrapped.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(which.iter().all(|part| said.contains(part)), "{said}");
    }
    let waited = env.yard(&["wait", "train"]).code(1);
    let cause = "after which this one comes, failed: rank 0";
    assert!(waited.stdout.contains(cause), "{}", waited.snapshot());
    // One that has failed already is not waited for.
    let refused = env.yard(&["run", "train.toml"]).code(1);
    assert!(
        refused.stderr.contains("will not be done"),
        "{}",
        refused.snapshot()
    );
}

#[test]
fn a_run_starts_at_the_checkpoint_of_another() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    write_run(&env, "first", 20, "");
    write_run(&env, "second", 30, "");
    for from in ["first", "/nonexistent", "./first", "first/step-10"] {
        let none = env.yard(&["run", "second.toml", "--from", from]).code(2);
        let parts = [
            format!("no run, file or folder {from}\n"),
            format!("asked   --from {from}\n"),
            "do      name a run".to_owned(),
        ];
        assert!(
            parts.iter().all(|part| none.stderr.contains(part)),
            "{}",
            none.snapshot()
        );
    }
    env.yard(&["run", "first.toml"]).success();
    let said = env
        .yard(&["run", "second.toml", "--from", "first"])
        .success();
    assert!(said.contains("step-20 of first-"), "{said}");
    assert!(said.contains("from 20"), "{said}");
    let shown = env.yard(&["show", "second"]).success();
    assert!(shown.contains("began at"), "{shown}");
    let path = folder(&env, "first").join("checkpoints/step-10");
    let path = path.to_str().unwrap();
    let said = env.yard(&["run", "second.toml", "--from", path]).success();
    assert!(said.contains("from 10"), "{said}");
    // A folder of checkpoints that is no run's was copied whole, as one.
    let text = |step: u32| {
        fs::read_to_string(folder(&env, "first").join(format!("checkpoints/step-{step}")))
    };
    for step in [10, 20] {
        env.write(format!("kept/step-{step}"), &text(step).unwrap());
        env.write(format!("numbered/{step}"), &text(step).unwrap());
    }
    let said = env
        .yard(&["run", "second.toml", "--from", "kept"])
        .success();
    assert!(said.contains("from 20"), "{said}");
    assert!(said.contains("/kept/step-20 (could not verify"), "{said}");
    assert!(!said.contains("step-20 of "), "{said}");
    let unclear = env
        .yard(&["run", "second.toml", "--from", "numbered"])
        .code(2);
    let way_out = "name one of them: ";
    assert!(unclear.stderr.contains(way_out), "{}", unclear.snapshot());
    let twice = env
        .yard(&["run", "second.toml", "--from", path, "--repeat", "2"])
        .success();
    let both = "complete), each of the 2 repeats";
    assert!(twice.contains(both), "{twice}");
    let none = env
        .yard(&["run", "second.toml", "--from", "first/step-7"])
        .code(2);
    assert!(
        none.stderr.contains("step-20, step-10"),
        "{}",
        none.snapshot()
    );
    // A newer one of that name that has saved none is passed over, and named.
    env.write("none.toml", "name = \"first\"\ncommand = [\"true\"]\n");
    env.yard(&["run", "none.toml"]).success();
    for (from, name) in [("first", "step-20"), ("first/step-10", "step-10")] {
        let said = env.yard(&["run", "second.toml", "--from", from]);
        let note = format!("has not saved {from}; it is taken of first-");
        let note = note
            .replace("first/", "")
            .replace("saved first;", "saved a checkpoint;");
        assert!(said.stderr.contains(&note), "{said:?}");
        assert!(said.success().contains(&format!("{name} of first-")));
    }
}

#[test]
fn staged_by_hand_as_by_a_run() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("data/deep/a", "1");
    env.write("data/deep/b", "22");
    let said = env
        .yard(&["stage", "data/deep", "data/deep/a", "--to", "there"])
        .success();
    assert!(said.contains("staged"), "{said}");
    let root = env.work().join("there");
    assert_eq!(fs::read_to_string(root.join("data/deep/b")).unwrap(), "22");
    let none = env.yard(&["stage", "data/none", "--to", "there"]).code(5);
    let words = none.stderr.contains("data/none can't be read");
    assert!(
        words && !none.stderr.contains("nodes"),
        "{}",
        none.snapshot()
    );
    let mixed = env
        .yard(&["stage", "deep", "../x/deep", "--to", "mixed"])
        .code(2);
    let refused = mixed.snapshot();
    assert!(refused.contains("two sources would be mixed"), "{refused}");
    assert!(!env.work().join("mixed").exists(), "nothing was made");
}

mod slow {
    use super::*;
    use testkit::{RealSlurm, SlurmShape, skip};

    #[test]
    fn repeats_on_a_real_slurm() {
        if let Some(reason) = RealSlurm::missing() {
            return skip("repeats_on_a_real_slurm", &reason);
        }
        let slurm = RealSlurm::start(SlurmShape { nodes: 1, cpus: 4 }).expect("a Slurm comes up");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());
        write_run(&env, "seeds", 100, "repeat = 3\nat_once = 2\n");
        env.yard(&["run", "seeds.toml", "--detach", "--mem", "100M"])
            .success();
        wait_until("one has saved", || {
            let manifests = folder(&env, "seeds.1").join("checkpoints/.manifests");
            fs::read_dir(manifests).is_ok_and(|mut entries| entries.next().is_some())
        });
        let shown = env.yard(&["show", "seeds"]).success();
        assert!(shown.contains("seeds-"), "{shown}");
        env.yard(&["cancel", "seeds.2"]).success();
        let waited = env.yard(&["wait", "seeds"]).code(1);
        assert_eq!(
            waited.stdout.matches("   done\n").count(),
            2,
            "{}",
            waited.snapshot()
        );
        assert_eq!(
            waited.stdout.matches("cancelled").count(),
            1,
            "{}",
            waited.snapshot()
        );
    }
}
