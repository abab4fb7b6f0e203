//! An engine that a command of a job starts is none of the job's processes.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use sys::memory_cgroup::MemoryCgroup;
use testkit::{TestEnv, skip, wait_until};

#[test]
fn an_engine_that_a_job_starts_leaves_the_bound_of_its_memory_and_outlives_it() {
    if let Err(error) = MemoryCgroup::probe() {
        let why = format!("no memory control group can be made here ({error})");
        return skip("an_engine_that_a_job_starts", &why);
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let yard = env!("CARGO_BIN_EXE_yard");
    // One that is stopped on purpose is started by the next command, here the job's own.
    let script = format!(
        "{yard} engine stop && squeue && echo $$ > started
         while [ ! -e go ]; do sleep 0.02; done"
    );
    let job = ["--mem=512M", "--wrap", &script];
    env.yard(&["engine", "start"]).success();
    let first = env.engine_pid("local");
    env.slurm("sbatch", &job).success();
    let started = env.work().join("started");
    let text = || fs::read_to_string(&started).unwrap_or_default();
    wait_until("the job has started an engine", || text().ends_with('\n'));
    let group = |pid| sys::control_group::of_process(pid, |name| name.starts_with("yard-"));
    assert!(group(text().trim().parse().unwrap()).is_some(), "the job's");
    let second = env.engine_pid("local");
    assert_ne!(first, second);
    let fork_server = sys::process::children(second);
    assert!(!fork_server.is_empty());
    for pid in fork_server.into_iter().chain([second]) {
        assert_eq!(group(pid), None, "{pid}");
    }
    env.write("go", "");
    let waited = env.yard(&["wait", "1"]).success();
    assert!(waited.contains("COMPLETED"), "{waited}");
    assert_eq!(env.engine_pid("local"), second);
}
