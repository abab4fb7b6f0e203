//! What fails under Slurm's own commands. Words and exit codes were recorded from 22.05.8 with four nodes.

use crate::house::{env, small_disk, start, until_it_writes};
use std::fs;
use testkit::wait_until;

/// `sbcast big FULL/x` in an allocation: on a disk of 64 KiB the real one leaves the part that it wrote; here
/// nothing of it stays, and the job goes on.
#[test]
fn sbcast_to_a_full_disk() {
    let env = env();
    let full = env.root().join("full");
    let Some(_disk) = small_disk("slurm_steps::sbcast_to_a_full_disk", &full, "size=64k") else {
        return;
    };
    fs::write(env.work().join("big"), vec![0; 1_000_000]).unwrap();
    let _told = env.slurm("salloc", &["-Q", "--no-shell"]).code(0);
    let to = full.join("x");
    let said = env
        .slurm("sbcast", &["-j1", "big", to.to_str().unwrap()])
        .code(255)
        .stderr;
    let node = env.slurm("squeue", &["-h", "-o", "%N"]).success();
    let slurms = format!(
        "sbcast: error: REQUEST_FILE_BCAST({}): Unspecified error\n",
        node.trim()
    );
    assert!(said.starts_with(&slurms), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    assert_eq!(fs::read_dir(&full).unwrap().count(), 0);
    let state = env.slurm("squeue", &["-h", "-o", "%T"]).success();
    assert_eq!(state, "RUNNING\n");
    env.slurm("scancel", &["1"]).success();
}

/// Says that it runs: a step is listed before it does.
const BEGINS: &str = "echo $SLURM_PROCID >> begun; exec sleep 100";

/// `srun -N2 -w node[1-2] sleep 100`, then `scontrol update nodename=node2 state=down`: 143, the job is a
/// NODE_FAIL and its step CANCELLED by signal 15.
#[test]
fn srun_whose_node_dies() {
    let mut env = env();
    let size = ["--nodes", "2", "--cpus-per-node", "1"];
    env.yard(&[&["engine", "start", "two"], &size[..]].concat())
        .success();
    env.set_var("TRAINYARD_ENGINE", "two");
    let step = start(&env, &["slurm", "srun", "-N2", "sh", "-c", BEGINS]);
    until_it_writes(&env, "begun", 2);
    let down = ["update", "nodename=node2", "state=down", "reason=gone"];
    env.slurm("scontrol", &down).success();
    let output = step.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{said}");
    for line in [
        "srun: error: Node failure on node2",
        " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "srun: Job step aborted: Waiting up to ",
        "srun: error: node1: task 0: Terminated",
    ] {
        assert_eq!(said.matches(line).count(), 1, "{line}: {said}");
    }
    let ends = ["-n", "-P", "-o", "jobid,state,exitcode", "-j", "1"];
    wait_until("its end is recorded", || {
        env.slurm("sacct", &ends).stdout == "1|NODE_FAIL|0:0\n1.0|CANCELLED|0:15\n"
    });
    // The node that is left takes the next one.
    let next = env.slurm("srun", &["-N1", "hostname"]).success();
    assert_eq!(next, "node1\n");
    env.yard(&["engine", "stop", "two"]).success();
}

/// `sbatch --no-requeue -w node3 --wrap 'sleep 300'`, `srun -w node3 sleep 300`, then the node's slurmd and
/// its slurmstepd are killed.
#[test]
fn jobs_whose_only_node_dies() {
    let mut env = env();
    let size = ["--nodes", "1", "--cpus-per-node", "2"];
    env.yard(&[&["engine", "start", "one"], &size[..]].concat())
        .success();
    env.set_var("TRAINYARD_ENGINE", "one");
    let batch = ["--no-requeue", "-o/dev/null", "--wrap", BEGINS];
    env.slurm("sbatch", &batch).success();
    let step = start(&env, &["slurm", "srun", "sh", "-c", BEGINS]);
    until_it_writes(&env, "begun", 2);
    env.yard(&["engine", "fail-node", "node1"]).success();
    let output = step.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "srun: error: Node failure on node1\n");
    let ends = ["-n", "-P", "-o", "jobid,state,exitcode"];
    let want = "1|NODE_FAIL|0:0\n1.batch|CANCELLED|\n2|NODE_FAIL|0:0\n2.0|CANCELLED|\n";
    wait_until("its end is recorded", || {
        env.slurm("sacct", &ends).stdout == want
    });
    env.yard(&["engine", "stop", "one"]).success();
}

/// `salloc -N2 sleep 30`, then `scontrol update nodename=node1 state=down`: its command goes on.
#[test]
fn salloc_whose_node_dies() {
    let mut env = env();
    let size = ["--nodes", "2", "--cpus-per-node", "1"];
    env.yard(&[&["engine", "start", "two"], &size[..]].concat())
        .success();
    env.set_var("TRAINYARD_ENGINE", "two");
    let until = "until grep -q revoked said; do sleep 0.02; done";
    let line = format!("{} 2>said", "exec \"$0\" slurm salloc -N2 sh -c \"$1\"");
    let mut shell = env.program("sh", &["-c", &line, env!("CARGO_BIN_EXE_yard"), until]);
    let mut shell = shell.spawn().unwrap();
    wait_until("it has its nodes", || {
        env.slurm("squeue", &["-h", "-o", "%T"]).stdout == "RUNNING\n"
    });
    let down = ["update", "nodename=node1", "state=down", "reason=gone"];
    env.slurm("scontrol", &down).success();
    assert!(shell.wait().unwrap().success());
    let said = fs::read_to_string(env.work().join("said")).unwrap();
    assert_eq!(
        said,
        "salloc: Granted job allocation 1\nsalloc: error: Node failure on node1\n\
         salloc: Job allocation 1 has been revoked.\n"
    );
    env.yard(&["engine", "stop", "two"]).success();
}
