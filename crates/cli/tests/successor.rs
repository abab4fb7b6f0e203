//! Runs that come back in another job, where requeueing does not bring them back.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use testkit::{TestEnv, wait_until};

/// Counts to its first argument, saves every tenth number, and goes on from the newest.
const TRAIN: &str = r#"n=$(ls "$YARD_RESUME" | sed 's/.*-//' | sort -n | tail -1); n=${n:-0}
echo "from $n"
while [ "$n" -lt "$1" ]; do
    n=$((n + 1)); sleep 0.02
    if [ $((n % 10)) = 0 ]; then
        echo "weights $n" > "$YARD_CHECKPOINTS/.part"
        mv "$YARD_CHECKPOINTS/.part" "$YARD_CHECKPOINTS/step-$n"
    fi
done
echo "done at $n"
"#;

fn write_run(env: &TestEnv, to: u32, more: &str) {
    env.write("train.sh", TRAIN);
    let text = format!(
        "name = \"count\"\ncommand = [\"sh\", \"train.sh\", \"{to}\"]\ncheckpoints = {{ complete = \"rename\" }}\n{more}"
    );
    env.write("yard.toml", &text);
}

fn show(env: &TestEnv) -> Value {
    serde_json::from_str(&env.yard(&["show", "count", "--json"]).success()).unwrap()
}

fn run_folder(env: &TestEnv) -> PathBuf {
    PathBuf::from(show(env)["folder"].as_str().unwrap())
}

/// The numbers of the jobs that the run's links name.
fn jobs(env: &TestEnv) -> Vec<u64> {
    let mut links: Vec<(u64, u64)> = fs::read_dir(run_folder(env).join("links"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
        .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok())
        .filter_map(|link: Value| Some((link["number"].as_u64()?, link["state"]["job"].as_u64()?)))
        .collect();
    links.sort_unstable();
    links.into_iter().map(|(_, job)| job).collect()
}

fn wait_for_checkpoint(env: &TestEnv) {
    wait_until("a checkpoint is out", || {
        let manifests = run_folder(env).join("checkpoints/.manifests");
        fs::read_dir(manifests).is_ok_and(|mut entries| entries.next().is_some())
    });
}

#[test]
fn a_run_that_may_not_be_requeued_goes_on_in_its_successors() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let more = "resources = { time = \"5s\" }\nresume = { by = \"successor\", grace = \"2s\" }\n";
    write_run(&env, 400, more);
    let plan = env.yard(&["plan"]).success();
    assert!(plan.contains("a successor job"), "{plan}");
    let said = env.yard(&["run"]).success();
    assert!(said.contains("takes over"), "{said}");
    assert!(said.contains("resumed at step"), "{said}");
    assert!(said.contains("done at 400"), "{said}");
    // One run, whatever the number of its jobs; nobody waits for it any more.
    let listed: Value = serde_json::from_str(&env.yard(&["ls", "--json"]).success()).unwrap();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["runs"][0]["state"], "done");
    let starts = show(&env)["starts"].as_array().unwrap().len();
    assert!(starts > 1, "{said}");
    assert_eq!(jobs(&env).len(), starts + 1, "one waited for each");
    wait_until("the last one is gone", || {
        env.slurm("squeue", &["--noheader"])
            .success()
            .trim()
            .is_empty()
    });
    env.yard(&["wait", "count"]).success();
}

#[test]
fn cancel_ends_the_job_that_waits_too() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let more = "resources = { time = \"10m\" }\nresume = { by = \"successor\" }\n";
    write_run(&env, 1_000_000, more);
    env.yard(&["run", "--detach"]).success();
    wait_until("the next one waits", || jobs(&env).len() == 2);
    wait_for_checkpoint(&env);
    let second = jobs(&env)[1].to_string();
    // Its successor's number means the run too.
    let shown = env.yard(&["show", &second]).success();
    assert!(shown.contains("running"), "{shown}");
    env.yard(&["cancel", "count"]).success();
    let waited = env.yard(&["wait", "count"]);
    assert!(waited.stdout.contains("cancelled"), "{}", waited.snapshot());
    assert!(
        env.slurm("squeue", &["--noheader"])
            .success()
            .trim()
            .is_empty()
    );
    assert_eq!(jobs(&env).len(), 2, "nobody was submitted after that");
    // It can be taken up again, in a job of its own.
    let again = env.yard(&["requeue", "count"]).success();
    assert!(again.contains("continues in job"), "{again}");
    wait_until("it resumes", || {
        show(&env)["starts"].as_array().unwrap().len() == 2
    });
    env.yard(&["cancel", "count"]).success();
    let waited = env.yard(&["wait", "count"]).code(1);
    assert!(waited.stdout.contains("cancelled"), "{}", waited.snapshot());
}

#[test]
fn a_job_that_was_cancelled_behind_our_back_has_no_successor() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let more = "resources = { time = \"10m\" }\nresume = { by = \"successor\" }\n";
    write_run(&env, 1_000_000, more);
    env.yard(&["run", "--detach"]).success();
    wait_until("the next one waits", || jobs(&env).len() == 2);
    wait_for_checkpoint(&env);
    let first = jobs(&env)[0].to_string();
    env.slurm("scancel", &[&first]).success();
    wait_until("all are gone", || {
        env.slurm("squeue", &["--noheader"])
            .success()
            .trim()
            .is_empty()
    });
    let listed: Value = serde_json::from_str(&env.yard(&["ls", "--json"]).success()).unwrap();
    assert_eq!(listed["runs"][0]["state"], "cancelled", "{listed}");
    assert_eq!(show(&env)["starts"].as_array().unwrap().len(), 1);
}

mod slow {
    use super::*;
    use testkit::{RealSlurm, SlurmShape, skip};

    /// A Slurm whose jobs are not requeued unless they ask, and are cancelled for urgent ones.
    fn slurm_that_cancels() -> RealSlurm {
        let slurm = RealSlurm::start(SlurmShape { nodes: 1, cpus: 2 }).expect("a Slurm comes up");
        let conf = fs::read_to_string(slurm.conf()).unwrap();
        let conf = conf.replace("JobRequeue=1", "JobRequeue=0").replace(
            "DefaultTime=01:00:00",
            "DefaultTime=01:00:00 PriorityTier=1 PreemptMode=CANCEL",
        ) + "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n\
               PartitionName=urgent Nodes=node1 PriorityTier=9 PreemptMode=OFF MaxTime=INFINITE State=UP\n";
        fs::write(slurm.conf(), conf).unwrap();
        slurm.run("scontrol", &["reconfigure"]).success();
        slurm
    }

    #[test]
    fn preempted_and_cancelled_by_a_real_slurm() {
        if let Some(reason) = RealSlurm::missing() {
            return skip("preempted_and_cancelled_by_a_real_slurm", &reason);
        }
        let slurm = slurm_that_cancels();
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());
        write_run(&env, 1_500, "resources = { time = \"10m\" }\n");
        let plan = env.yard(&["plan"]).success();
        assert!(plan.contains("preempted jobs are cancelled"), "{plan}");
        env.yard(&["run", "--detach"]).success();
        wait_until("the next one waits", || jobs(&env).len() == 2);
        wait_for_checkpoint(&env);
        let urgent = [
            "--partition=urgent",
            "--exclusive",
            "--output=/dev/null",
            "--wrap=sleep 2",
        ];
        slurm.run("sbatch", &urgent).success();
        let waited = env.yard(&["wait", "count"]);
        assert!(
            waited.stdout.contains("done"),
            "{}\n{}",
            waited.snapshot(),
            show(&env)
        );
        let shown = show(&env);
        let starts = shown["starts"].as_array().unwrap();
        assert_eq!(starts.len(), 2, "{shown}");
        let last = starts[0]["events"].as_array().unwrap().last().unwrap();
        assert_eq!(last["event"], "terminated", "{shown}");
        assert_eq!(last["reason"], "preempted", "{shown}");
        let resumed = |event: &Value| event["event"] == "resumed";
        assert!(
            starts[1]["events"].as_array().unwrap().iter().any(resumed),
            "{shown}"
        );
    }
}
