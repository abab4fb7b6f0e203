//! What is kept of a training that is ended, and what of its work is lost, from outside.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use testkit::{TestEnv, wait_until};

/// Trains until it is ended; started again, it says from where and is done. `save` is run each step,
/// with the step in `$i` and the folder in `$2`.
fn write_run(env: &TestEnv, save: &str, more: &str) {
    let program = format!(
        r#"n=$(ls "$1" | sed 's/[^0-9]//g' | sort -n | tail -1)
if [ -n "$n" ]; then echo "resumed from $n"; exit 0; fi
i=0
while :; do i=$((i+1)); echo "step $i"; {save}; sleep 0.3; done
"#
    );
    env.write("train.sh", &program);
    let command = r#"command = ["sh", "train.sh", "{resume}", "{checkpoints}"]"#;
    env.write(
        "yard.toml",
        &format!("name = \"loop\"\n{command}\n{more}\n"),
    );
}

/// A limit whose grace period is enough for the last checkpoint on a busy machine too.
fn stopped_after(seconds: u32, resume: &str) -> String {
    let time = 2 * seconds;
    format!("resources = {{ time = \"{time}s\" }}\nresume = {{ {resume}grace = \"{seconds}s\" }}")
}

fn show(env: &TestEnv) -> Value {
    let shown = env.yard(&["show", "loop", "--json"]).success();
    serde_json::from_str(&shown).expect("JSON")
}

/// The last number that rank 0 of the start at `index` printed behind the word.
fn last_of(env: &TestEnv, index: usize, word: &str) -> u32 {
    let shown = show(env);
    let start = &shown["starts"][index];
    let folder = PathBuf::from(shown["folder"].as_str().expect("a folder"));
    let name = format!("logs/{}.{}.0", start["job"], start["restart"]);
    let log = fs::read_to_string(folder.join(name)).unwrap_or_default();
    let last = log.lines().rev().find_map(|line| line.strip_prefix(word));
    last.and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

/// Runs a program that saves by renaming until it is stopped and has come back: what `run` said, the last step
/// of its first start, and all that its ranks printed.
fn stopped_and_resumed(env: &TestEnv, program: &str, more: &str) -> (String, u32, String) {
    env.write("train.sh", program);
    let limit = stopped_after(10, "");
    let run = format!(
        "name = \"loop\"\ncommand = [\"sh\", \"train.sh\", \"{{resume}}\", \"{{checkpoints}}\"]\n\
         checkpoints = {{ complete = \"rename\"{more} }}\n{limit}\n"
    );
    env.write("yard.toml", &run);
    let said = env.yard(&["run", "--on", "local"]).success();
    let stopped = last_of(env, 0, "step");
    (said, stopped, env.yard(&["logs"]).success())
}

/// The words of the line that says it, the last first.
fn resumed_from(printed: &str) -> Vec<&str> {
    let line = printed.lines().find(|line| line.contains("resumed from"));
    line.expect(printed).split_whitespace().rev().collect()
}

/// Checkpoints of a format that doesn't tell whether it is whole must stand still for ten seconds
/// while the training goes on: at the limit none of them would ever be out.
#[test]
fn the_newest_of_unknown_format_is_kept_at_the_limit() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let save = r#"echo "state $i" > "$2/.new"; mv "$2/.new" "$2/step-$i.pkl""#;
    write_run(&env, save, &stopped_after(10, ""));
    let said = env.yard(&["run", "--on", "local"]).success();
    assert!(
        said.contains("could not verify that it is complete; coming back"),
        "{said}"
    );
    let (stopped, resumed) = (last_of(&env, 0, "step"), last_of(&env, 1, "resumed from"));
    // The last step may have been under way.
    assert!(
        resumed > 0 && stopped - resumed <= 1,
        "{resumed} of {stopped}\n{said}"
    );
}

/// A program that ends well when it is told has written what it wanted.
#[test]
fn what_a_program_writes_when_it_is_told_to_end_is_kept() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let save = r#"trap 'echo last > "$2/step-1000.pkl"; exit 0' TERM"#;
    write_run(&env, save, &stopped_after(10, ""));
    let said = env.yard(&["run", "--on", "local"]).success();
    assert_eq!(last_of(&env, 1, "resumed from"), 1000, "{said}");
}

/// Each more would come in the middle of what is saved after the first.
#[test]
fn sigterm_comes_once_when_a_run_is_cancelled() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let program = r#"trap 'n=$((n+1)); echo "term $n"' TERM
echo ready
i=0
while [ $i -lt 40 ] && [ "${n:-0}" -lt 2 ]; do i=$((i+${n:-0})); sleep 0.05; done
echo saved; exit 0
"#;
    env.write("train.sh", program);
    env.write(
        "yard.toml",
        "name = \"loop\"\ncommand = [\"sh\", \"train.sh\"]\n",
    );
    env.yard(&["run", "--on", "local", "--detach"]).success();
    let log = || env.yard(&["logs", "loop"]).stdout;
    wait_until("it handles the signal", || log().contains("ready"));
    env.yard(&["cancel", "loop"]).success();
    let _waited = env.yard(&["wait", "loop"]);
    let log = log();
    assert!(log.contains("term 1") && log.contains("saved"), "{log}");
    assert!(!log.contains("term 2"), "{log}");
}

/// One that is still being written when the program is killed is not kept, and that is told.
#[test]
fn half_a_checkpoint_is_left_behind_with_words() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    // It is ended before the ten seconds after which a file that stands still counts.
    let save = r#"echo half > "$2/step-1.pkl"; exec 9> "$2/step-2.pkl"; echo half >&9; sleep 100"#;
    write_run(&env, save, &stopped_after(6, "on = [], "));
    let run = env.yard(&["run", "--on", "local"]);
    let said = &run.stdout;
    assert!(
        said.contains("checkpoint step-2.pkl not saved: the program was still writing it"),
        "{}",
        run.snapshot()
    );
    assert!(!said.contains("step-1.pkl not saved"), "{said}");
}

#[test]
fn what_is_lost_with_a_killed_conductor_is_shown() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let save = r#"if [ $i = 1 ]; then echo 1 > "$2/.new"; mv "$2/.new" "$2/step-1.pkl"; fi"#;
    let more = "resources = { time = \"10m\" }\ncheckpoints = { complete = \"rename\" }";
    // The one that conducts; and its parent, with which the whole batch step is gone.
    for victim in ["job conduct ", "job conductor "] {
        write_run(&env, save, more);
        env.yard(&["run", "--on", "local", "--detach"]).success();
        // Some seconds of work behind the only checkpoint.
        wait_until("it has trained for a while", || {
            let events = show(&env)["starts"][0]["events"].to_string();
            events.contains("checkpoint-out") && last_of(&env, 0, "step") >= 12
        });
        env.signal(9, |command| command.contains(victim));
        let waited = env.yard(&["wait", "loop"]);
        assert_eq!(waited.status, 0, "{}", waited.snapshot());
        let shown = env.yard(&["show", "loop"]).success();
        assert!(shown.contains("came back"), "{shown}");
        assert!(shown.contains("of work lost"), "{shown}");
        assert!(shown.contains("resumed at step 1"), "{shown}");
        let lost = show(&env)["starts"][0]["lost_ms"].as_i64();
        assert!(lost.is_some_and(|lost| lost > 2000), "{shown}");
    }
}

/// Where all of a job is killed at once, the node has what no agent had looked at: nobody else's run and
/// no `yard clean` removes it, and the run goes on from it.
#[test]
fn a_checkpoint_that_no_agent_had_seen_is_removed_by_nobody_else() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let save =
        r#"if [ -e go ]; then echo 7 > "$2/.new"; mv "$2/.new" "$2/step-7.pkl"; touch saved; fi"#;
    let more = "resources = { time = \"10m\" }\ncheckpoints = { complete = \"rename\" }";
    let work = format!("cd {}; ", env.work().display());
    write_run(&env, &(work + save), more);
    env.yard(&["run", "--on", "local", "--detach"]).success();
    wait_until("it trains", || last_of(&env, 0, "step") >= 1);
    // The agent, which would look, stands still.
    env.signal(19, |command| command.contains(" job agent "));
    env.write("go", "");
    wait_until("it has saved", || env.work().join("saved").exists());
    env.signal(9, |command| {
        command.contains(" job ") || command.contains("train.sh")
    });
    // Nobody waits for it, who would bring it back.
    wait_until("its job is over", || {
        env.slurm("squeue", &["-h"]).stdout.is_empty()
    });
    let lost = env.yard(&["show", "loop"]).success();
    assert!(lost.contains("yard requeue"), "{lost}");
    let is_there = || {
        let roots = fs::read_dir(env.root().join("tmp")).expect("a folder");
        let runs = roots
            .flatten()
            .flat_map(|root| fs::read_dir(root.path()))
            .flatten();
        let mut runs = runs.flatten();
        runs.any(|run| run.path().join("checkpoints/step-7.pkl").exists())
    };
    let cleaned = env.yard(&["clean"]).success();
    assert!(
        cleaned.contains("may be the only copy of step-7.pkl"),
        "{cleaned}"
    );
    env.yard(&["run", "--on", "local", "--name", "other", "--", "true"])
        .success();
    assert!(is_there(), "another run of the user removed it");
    env.yard(&["requeue", "loop"]).success();
    let waited = env.yard(&["wait", "loop"]);
    assert_eq!(waited.status, 0, "{}", waited.snapshot());
    assert_eq!(last_of(&env, 1, "resumed from"), 7, "{}", show(&env));
}

/// A program that finds its newest checkpoint by what it keeps beside them: that did not come back.
#[test]
fn what_points_to_the_newest_checkpoint_comes_back_and_names_the_one_that_is_resumed_from() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let program = r#"if [ -e "$1/latest.pt" ]; then
    echo "resumed from $(cat "$1/latest.pt") $(cat "$1/latest_checkpointed_iteration.txt") $(cat "$1/latest")"; exit 0
fi
i=0
while :; do
    i=$((i+1)); echo "$i" > "$2/.new"; mv "$2/.new" "$2/step-$i.pt"
    ln -sfn "step-$i.pt" "$2/latest.pt"; printf "step-$i.pt" > "$2/latest"
    echo "$i" > "$2/latest_checkpointed_iteration.txt"; echo "step $i"; sleep 0.3
done
"#;
    let (said, stopped, printed) = stopped_and_resumed(&env, program, "");
    let words = resumed_from(&printed);
    let step: u32 = words[2].parse().expect(&said);
    assert!(stopped - step <= 1, "{step} of {stopped}\n{said}");
    assert_eq!(words[1], words[2], "{printed}");
    assert_eq!(words[0], format!("step-{step}.pt"), "{printed}");
    // They are no checkpoints.
    assert!(!said.contains("latest"), "{said}");
}

/// Training went on with a new optimizer: of the two files of a step one was brought back, and `keep` counted both.
#[test]
fn a_model_and_the_optimizer_of_its_step_are_kept_and_come_back_together() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let program = r#"if [ -n "$(ls "$1")" ]; then
    echo "resumed from $(cat "$1"/model-*.pt) $(cat "$1"/optim-*.pt) of $(ls "$1" | wc -l)"; exit 0
fi
i=0
while :; do
    i=$((i+1))
    for part in optim model; do echo "$i" > "$2/.new"; mv "$2/.new" "$2/$part-$i.pt"; done
    echo "step $i"; sleep 0.3
done
"#;
    let (said, stopped, printed) = stopped_and_resumed(&env, program, ", keep = 1");
    let words = resumed_from(&printed);
    let step: u32 = words[2].parse().expect(&said);
    assert!(stopped <= step + 1, "{step} of {stopped}\n{said}");
    assert_eq!((words[3], words[0]), (words[2], "2"), "{printed}");
    // Nothing is said of two that are one.
    assert!(!said.contains("two checkpoints"), "{said}");
    let shown = show(&env);
    let saved = PathBuf::from(shown["folder"].as_str().expect("a folder")).join("checkpoints");
    for part in ["model", "optim"] {
        assert!(saved.join(format!("{part}-{step}.pt")).exists(), "{shown}");
    }
    assert!(!saved.join("model-1.pt").exists(), "{shown}");
}

/// `yard requeue`, which was named, is refused for a run that is done. And no message can carry each name.
#[test]
fn what_a_done_run_left_on_its_node_stays_and_is_copied_by_hand() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let program = "mkdir \"$1/r\"\nln -s /etc/hostname \"$1/r/out\"\necho 1 > \"$1/r/one\"\n\
        case $2 in ?*) echo 7 > \"$2/step-$(printf '\\377').pkl\" ;; esac\n";
    env.write("train.sh", program);
    let write = |name: &str, words: &str, more: &str| {
        let run = format!("name = \"{name}\"\ncommand = [\"sh\", \"train.sh\", {words}]\n{more}");
        env.write(format!("{name}.toml"), &run);
    };
    write("files", "\"{data}\"", "data = { collect = [\"r/**\"] }\n");
    write("saves", "\"{data}\", \"{checkpoints}\"", "");
    env.write("plain.toml", "command = [\"true\"]\n");
    let run = |file: &str| env.yard(&["run", file, "--on", "local"]).success();
    run("files.toml");
    let left = env.yard(&["clean", "-n"]).success();
    assert!(left.contains("copy them from there"), "{left}");
    assert!(!left.contains("requeue"), "{left}");
    let _refused = env.yard(&["requeue", "files"]).code(3);
    let _not_all_saved = env.yard(&["run", "saves.toml", "--on", "local"]).code(6);
    for _ in 0..2 {
        let left = env.yard(&["clean"]).success();
        assert!(left.contains("may be a checkpoint"), "{left}");
        assert!(left.contains("step-\u{fffd}.pkl"), "{left}");
        // It removes what others have left, and makes its own.
        run("plain.toml");
    }
}
