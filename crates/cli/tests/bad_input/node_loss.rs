//! Jobs and steps that go on without a node that is lost (`--no-kill`), and steps that are cancelled. Words and
//! exit codes were recorded from 22.05.8 with four nodes, of which one was set down.

use crate::house::{env, until_it_writes};
use std::fs;
use testkit::{TestEnv, wait_until};

/// Two nodes of two CPUs each.
fn two_nodes() -> TestEnv {
    let mut env = env();
    let size = ["--nodes", "2", "--cpus-per-node", "2"];
    env.yard(&[&["engine", "start", "two"], &size[..]].concat())
        .success();
    env.set_var("TRAINYARD_ENGINE", "two");
    env
}

fn read(env: &TestEnv, file: &str) -> String {
    fs::read_to_string(env.work().join(file)).unwrap_or_default()
}

fn lose(env: &TestEnv, node: &str) {
    let node = format!("nodename={node}");
    let down = ["update", &node, "state=down", "reason=gone"];
    env.slurm("scontrol", &down).success();
}

fn ended(env: &TestEnv, want: &str) {
    let ask = [
        "-n",
        "-P",
        "-o",
        "jobid,state,exitcode,derivedexitcode,nodelist",
    ];
    wait_until("its end is recorded", || {
        env.slurm("sacct", &ask).stdout == want
    });
}

/// `sbatch --no-kill -N2` whose script runs a step on both nodes, and `scontrol update nodename=node2
/// state=down`: the step is killed, the script goes on with what is left, also under a new engine.
#[test]
fn a_job_with_no_kill_goes_on_without_a_node() {
    let env = two_nodes();
    let script = "#!/bin/sh\n\
        srun -n2 sh -c 'echo $SLURM_PROCID >> began; exec sleep 100' 2>said; echo $? >code\n\
        until [ -e go ]; do sleep 0.05; done\n\
        srun -O hostname >left 2>again\n";
    env.write("job.sh", script);
    let options = ["--no-kill", "-N2", "-n2", "--output", "out", "job.sh"];
    env.slurm("sbatch", &options).success();
    until_it_writes(&env, "began", 2);
    lose(&env, "node2");
    wait_until("the step is over", || env.work().join("code").exists());
    assert_eq!(read(&env, "code"), "137\n");
    let said = read(&env, "said");
    for line in [
        "srun: error: Node failure on node2\n",
        "srun: error: node1: task 0: Killed\n",
        "srun: error: node2: task 1: Killed\n",
        "srun: Force Terminated StepId=1.0\n",
    ] {
        assert_eq!(said.matches(line).count(), 1, "{line}: {said}");
    }
    assert_eq!(said.lines().count(), 4, "{said}");
    let stands = ["-h", "-o", "%T %N %D %C"];
    assert_eq!(
        env.slurm("squeue", &stands).success(),
        "RUNNING node1 1 1\n"
    );
    env.yard(&["engine", "stop", "two"]).success();
    env.yard(&["engine", "start", "two"]).success();
    assert_eq!(
        env.slurm("squeue", &stands).success(),
        "RUNNING node1 1 1\n"
    );
    env.write("go", "");
    ended(
        &env,
        "1|RESIZING|0:0|0:0|node[1-2]\n1.batch|RESIZING|0:0||node1\n1.0|RESIZING|0:0||node[1-2]\n\
         1|COMPLETED|0:0|0:9|node1\n1.1|COMPLETED|0:0||node1\n",
    );
    assert_eq!(read(&env, "left"), "node1\nnode1\n");
    assert_eq!(
        read(&env, "again"),
        "srun: error: SLURM_JOB_NUM_NODES environment variable conflicts with allocated node count (2 != 1).\n"
    );
    env.yard(&["engine", "stop", "two"]).success();
}

/// `srun --no-kill -N2`: what runs on the other node goes on, and the step ends as its killed task did.
#[test]
fn a_step_with_no_kill_goes_on_without_a_node() {
    let env = two_nodes();
    let line = "exec \"$0\" slurm srun --no-kill -N2 sh -c \"$1\" 2>said";
    let task =
        "echo $SLURM_PROCID >> began; until [ -e go ]; do sleep 0.05; done; echo done >> done";
    let step = ["-c", line, env!("CARGO_BIN_EXE_yard"), task];
    let mut step = env.program("sh", &step).spawn().unwrap();
    until_it_writes(&env, "began", 2);
    lose(&env, "node2");
    wait_until("it is said", || {
        read(&env, "said").contains("task 1: Killed")
    });
    env.write("go", "");
    assert_eq!(step.wait().unwrap().code(), Some(137));
    assert_eq!(
        read(&env, "said"),
        "srun: error: Node failure on node2\nsrun: error: node2: task 1: Killed\n\
         srun: Force Terminated StepId=1.0\n"
    );
    assert_eq!(read(&env, "done"), "done\n");
    ended(
        &env,
        "1|RESIZING|0:0|0:0|node[1-2]\n1.0|RESIZING|0:0||node[1-2]\n1|FAILED|0:9|0:9|node1\n",
    );
    env.yard(&["engine", "stop", "two"]).success();
}

/// `scancel JOB.STEP`: killed at once, whatever the step does with SIGTERM, and `sacct` says by whom.
#[test]
fn a_cancelled_step_is_killed_at_once() {
    let env = two_nodes();
    let script = "#!/bin/sh\nsrun -N2 -n2 sh -c 'trap \"\" TERM; echo $SLURM_PROCID >> began; \
        while :; do sleep 0.05; done' 2>said\necho $? > code\n";
    env.write("job.sh", script);
    let options = ["-N2", "-n2", "--output", "out", "job.sh"];
    env.slurm("sbatch", &options).success();
    until_it_writes(&env, "began", 2);
    let unknown = env.slurm("scancel", &["1.7"]);
    assert_eq!(
        unknown.stderr,
        "scancel: error: Kill job error on job step id 1.7: Invalid job id specified\n"
    );
    env.slurm("scancel", &["1.0"]).success();
    ended(
        &env,
        "1|COMPLETED|0:0|0:9|node[1-2]\n1.batch|COMPLETED|0:0||node1\n1.0|CANCELLED by 0|0:9||node[1-2]\n",
    );
    assert_eq!(read(&env, "code"), "137\n");
    let said = read(&env, "said");
    for part in [
        "slurmstepd: error: *** STEP 1.0 ON node1 CANCELLED AT ",
        "srun: Job step aborted: Waiting up to ",
        "srun: error: node1: task 0: Killed\n",
        "srun: error: node2: task 1: Killed\n",
    ] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    assert_eq!(said.lines().count(), 4, "{said}");
    env.yard(&["engine", "stop", "two"]).success();
}
