//! Runs whose own processes are killed, from outside: docs/what-survives.md.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use testkit::{TestEnv, that_mention, wait_until};

/// Counts to its first argument, saves every fifth number, and goes on from the newest. At 10 it waits until
/// the file is there that its second argument names, so that it can't end before its processes are killed.
const TRAIN: &str = r#"n=$(ls "$YARD_RESUME" | sed 's/.*-//' | sort -n | tail -1); n=${n:-0}
echo "from $n"
while [ "$n" -lt "$1" ]; do
    [ "$n" != 10 ] || until [ -e "$2" ]; do sleep 0.02; done
    n=$((n + 1)); sleep 0.05
    if [ $((n % 5)) = 0 ]; then
        echo "weights $n" > "$YARD_CHECKPOINTS/.part"
        mv "$YARD_CHECKPOINTS/.part" "$YARD_CHECKPOINTS/step-$n"
        echo "saved $n"
    fi
done
echo "done at $n"
"#;

fn train(env: &TestEnv, to: u32) {
    env.write("train.sh", TRAIN);
    let go = env.work().join("go");
    let text = format!(
        "name = \"count\"\ncommand = [\"sh\", \"train.sh\", \"{to}\", {go:?}]\n\
         checkpoints = {{ complete = \"rename\" }}\nresources = {{ time = \"10m\" }}\n"
    );
    env.write("yard.toml", &text);
    let _none = fs::remove_file(go);
    env.yard(&["run", "--detach"]).success();
}

fn show(env: &TestEnv) -> Value {
    serde_json::from_str(&env.yard(&["show", "count", "--json"]).success()).unwrap()
}

fn run_folder(env: &TestEnv) -> PathBuf {
    PathBuf::from(show(env)["folder"].as_str().unwrap())
}

fn wait_for_checkpoint(env: &TestEnv) {
    let manifests = run_folder(env).join("checkpoints/.manifests");
    wait_until("a checkpoint is out", || {
        fs::read_dir(&manifests).is_ok_and(|mut entries| entries.next().is_some())
    });
}

/// Lets the training go on.
fn go(env: &TestEnv) {
    env.write("go", "");
}

/// The last number that rank 0 of the start at `index` printed after the word.
fn last_of(env: &TestEnv, index: usize, word: &str) -> u32 {
    let shown = show(env);
    let start = &shown["starts"][index];
    let name = format!("logs/{}.{}.0", start["job"], start["restart"]);
    let log = fs::read_to_string(run_folder(env).join(name)).unwrap_or_default();
    let last = log.lines().rev().find_map(|line| line.strip_prefix(word));
    last.and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

fn is_agent(command: &str) -> bool {
    command.contains(" job agent ") && !command.contains("srun")
}

/// What is complete on the node when an agent or a step is lost is copied all the same, and the
/// run goes on from there.
#[test]
fn no_checkpoint_is_lost_with_the_agent_or_a_steps_srun() {
    let victims: [fn(&str) -> bool; 3] = [
        is_agent,
        |command| command.contains("srun ") && command.contains(" job agent "),
        |command| command.contains("srun ") && command.contains(" job rank "),
    ];
    for is_victim in victims {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        train(&env, 80);
        wait_for_checkpoint(&env);
        env.signal(9, is_victim);
        go(&env);
        let waited = env.yard(&["wait", "count"]);
        assert_eq!(waited.status, 0, "{}\n{}", waited.snapshot(), show(&env));
        let starts = show(&env)["starts"].as_array().unwrap().len();
        assert_eq!(starts, 2, "{}", show(&env));
        let (saved, resumed) = (last_of(&env, 0, "saved"), last_of(&env, 1, "from"));
        assert!(resumed >= saved, "{resumed} of {saved}: {}", show(&env));
        assert_eq!(last_of(&env, 1, "done at"), 80);
    }
}

#[test]
fn a_training_that_was_done_is_not_run_again_after_a_lost_conductor() {
    for victim in [" job conduct ", " job conductor "] {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        train(&env, 40);
        wait_for_checkpoint(&env);
        // While its agent stands still the start can't come to its end.
        env.signal(19, is_agent);
        go(&env);
        let links = run_folder(&env).join("links");
        wait_until("the training is done", || {
            let names = fs::read_dir(&links).unwrap().flatten();
            let mut names = names.map(|entry| entry.file_name().into_string().unwrap());
            names.any(|name| name.contains(".exit."))
        });
        env.signal(9, |command| command.contains(victim));
        // An agent that stands still is not what is tried here.
        let _ = that_mention(env.root())
            .into_iter()
            .filter(|(_, command)| is_agent(command))
            .try_for_each(|(process, _)| sys::process::signal(process, 18));
        let waited = env.yard(&["wait", "count"]);
        assert_eq!(waited.status, 0, "{}\n{}", waited.snapshot(), show(&env));
        let shown = show(&env);
        // On a busy machine another start may have to bring the last checkpoint out.
        for index in 1..shown["starts"].as_array().unwrap().len() {
            assert_eq!(last_of(&env, index, "done at"), 0, "{shown}");
        }
        let manifest = run_folder(&env).join("checkpoints/.manifests/step-40.json");
        assert!(manifest.exists(), "the last checkpoint is out: {shown}");
    }
}

/// Who brings a run back may be killed over it, like everybody else: then the next one does.
#[test]
fn a_comeback_that_a_killed_process_had_claimed_is_taken_up() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    train(&env, 80);
    wait_for_checkpoint(&env);
    let shown = show(&env);
    let start = &shown["starts"][0];
    let claim = format!("links/{}.{}.comeback", start["job"], start["restart"]);
    // What one leaves that was killed right after its claim.
    let left = r#"{"settled":false,"boot_id":"another","process":1,"started":1}"#;
    fs::write(run_folder(&env).join(claim), left).unwrap();
    env.signal(9, |command| command.contains(" job conductor "));
    go(&env);
    let waited = env.yard(&["wait", "count"]);
    assert_eq!(waited.status, 0, "{}\n{}", waited.snapshot(), show(&env));
    assert_eq!(last_of(&env, 1, "done at"), 80);
}

/// The agent, which acts first, is killed in the middle of it: its claim goes with it.
#[test]
fn a_deputy_that_is_killed_over_the_requeue_has_a_deputy() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    train(&env, 100);
    wait_for_checkpoint(&env);
    let shown = show(&env);
    let start = &shown["starts"][0];
    let claim = format!("links/{}.{}.comeback", start["job"], start["restart"]);
    let claim = run_folder(&env).join(claim);
    env.signal(9, |command| command.contains(" job conductor "));
    let all = that_mention(env.root()).into_iter();
    let agents: Vec<u32> = all
        .filter_map(|(process, command)| is_agent(&command).then_some(process))
        .collect();
    wait_until("the agent has claimed the comeback, and is killed", || {
        let claimed = claim.exists();
        if claimed {
            // One that was done with it already is as good.
            for agent in &agents {
                let _ = sys::process::signal(*agent, 9);
            }
        }
        claimed
    });
    go(&env);
    let waited = env.yard(&["wait", "count"]);
    assert_eq!(waited.status, 0, "{}\n{}", waited.snapshot(), show(&env));
}

/// Where all was killed that would have brought the run back, the client that waits for it does.
#[track_caller]
fn check_brought_back_by_a_client(env: &TestEnv) {
    train(env, 80);
    wait_for_checkpoint(env);
    let is_run = |command: &str| {
        let processes = [
            " job conductor ",
            " job conduct ",
            " job agent ",
            " job rank ",
        ];
        !command.contains("srun") && processes.iter().any(|word| command.contains(word))
    };
    // Those that act first are not to act before the others are gone.
    env.signal(19, is_run);
    env.signal(9, is_run);
    go(env);
    wait_until("the job is over", || {
        show(env)["state"]["state"] == "failed"
    });
    let waited = env.yard(&["wait", "count"]);
    assert_eq!(waited.status, 0, "{}\n{}", waited.snapshot(), show(env));
    let said = "goes back into the queue";
    assert!(waited.stderr.contains(said), "{}", waited.snapshot());
    let (saved, resumed) = (last_of(env, 0, "saved"), last_of(env, 1, "from"));
    assert!(resumed >= saved, "{resumed} of {saved}: {}", show(env));
    assert_eq!(last_of(env, 1, "done at"), 80);
}

#[test]
fn a_run_of_which_nothing_is_left_is_brought_back_by_who_waits_for_it() {
    check_brought_back_by_a_client(&TestEnv::new(env!("CARGO_BIN_EXE_yard")));
}

/// Its fork server and supervisors would start it again: where they are killed with it, what runs
/// in the job does.
#[test]
fn an_engine_that_was_killed_with_all_of_its_processes_is_started_by_its_jobs() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    train(&env, 80);
    wait_for_checkpoint(&env);
    // Clients would start it, too: from here on there is none.
    let links = run_folder(&env).join("links");
    env.signal(9, |command| command.contains(" engine serve "));
    go(&env);
    wait_until("the training is done", || {
        let entries = fs::read_dir(&links).unwrap().flatten();
        let mut texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        texts.any(|text| text.contains(r#""event":"finished""#))
    });
    assert_eq!(env.yard(&["wait", "count"]).status, 0);
}

mod slow {
    use super::*;
    use testkit::{RealSlurm, SlurmShape, skip};

    /// Slurm ends a job whose batch step was killed; the agent uses the time that it leaves.
    #[test]
    fn a_killed_batch_step_brings_the_run_back_on_a_real_slurm() {
        if let Some(reason) = RealSlurm::missing() {
            let name = "a_killed_batch_step_brings_the_run_back_on_a_real_slurm";
            return skip(name, &reason);
        }
        let slurm = RealSlurm::start(SlurmShape { nodes: 1, cpus: 2 }).expect("a Slurm comes up");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());
        train(&env, 80);
        wait_for_checkpoint(&env);
        env.signal(9, |command| command.contains(" job conductor "));
        go(&env);
        let waited = env.yard(&["wait", "count"]);
        assert_eq!(waited.status, 0, "{}\n{}", waited.snapshot(), show(&env));
        let (saved, resumed) = (last_of(&env, 0, "saved"), last_of(&env, 1, "from"));
        assert!(resumed >= saved, "{resumed} of {saved}: {}", show(&env));
        check_brought_back_by_a_client(&env);
    }

    /// Its agent asks the cluster what became of the batch step, which may take its time to answer.
    #[test]
    fn a_training_that_ends_while_its_agent_waits_for_a_real_slurm_is_done() {
        if let Some(reason) = RealSlurm::missing() {
            let name = "a_training_that_ends_while_its_agent_waits_for_a_real_slurm_is_done";
            return skip(name, &reason);
        }
        let mut slurm =
            RealSlurm::start(SlurmShape { nodes: 1, cpus: 2 }).expect("a Slurm comes up");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());
        train(&env, 40);
        wait_for_checkpoint(&env);
        let folder = run_folder(&env);
        slurm.stop_controller();
        env.signal(9, |command| command.contains(" job conductor "));
        go(&env);
        wait_until("the training is done", || {
            let names = fs::read_dir(folder.join("links")).unwrap().flatten();
            let mut names = names.map(|entry| entry.file_name().into_string().unwrap());
            names.any(|name| name.contains(".exit."))
        });
        slurm.start_controller().expect("the controller comes back");
        let waited = env.yard(&["wait", "count"]);
        assert_eq!(waited.status, 0, "{}\n{}", waited.snapshot(), show(&env));
        let shown = show(&env);
        assert_eq!(shown["starts"].as_array().unwrap().len(), 1, "{shown}");
        let manifest = folder.join("checkpoints/.manifests/step-40.json");
        assert!(manifest.exists(), "the last checkpoint is out: {shown}");
    }
}
