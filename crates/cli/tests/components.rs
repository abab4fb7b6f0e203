//! Heterogeneous jobs through the built binary. What is expected was recorded from a 22.05.8 with four
//! nodes by the commands that stand in each test; where it differs, a comment says so.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use testkit::{Outcome, TestEnv, wait_until};

fn env() -> TestEnv {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "four", "--nodes", "4"])
        .success();
    env.set_var("TRAINYARD_ENGINE", "four");
    env
}

fn queue(env: &TestEnv) -> Vec<String> {
    let listed = env
        .slurm("squeue", &["-h", "-S", "i", "-o", "%i %t %j %N"])
        .success();
    let mut lines: Vec<String> = listed
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.sort();
    lines
}

fn wait_until_empty(env: &TestEnv) {
    wait_until("nothing is queued", || queue(env).is_empty());
}

#[track_caller]
fn says(outcome: &Outcome, code: i32, stdout: &str, stderr: &str) {
    let got = (
        outcome.status,
        outcome.stdout.as_str(),
        outcome.stderr.as_str(),
    );
    assert_eq!(got, (code, stdout, stderr));
}

#[test]
fn a_script_of_two_components() {
    let env = env();
    let script = "#!/bin/bash\n\
        #SBATCH -n1 -J first -t 5\n\
        #SBATCH hetjob\n\
        #SBATCH -N2 -n4 -J second -t 6\n\
        echo $SLURM_JOB_ID $SLURM_HET_SIZE $SLURM_JOB_ID_HET_GROUP_1 $SLURM_JOB_NODELIST_HET_GROUP_1\n\
        squeue -h -S i -o '%i %A %F %j %N' | sort\n\
        squeue -h -O jobid,hetjobid,hetjobidset,hetjoboffset | sort\n\
        srun bash -c 'echo one $SLURMD_NODENAME'\n\
        srun --het-group=1 bash -c 'echo of second $SLURMD_NODENAME' | sort\n\
        srun --het-group=0,1 bash -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $SLURMD_NODENAME $SLURM_NODEID $SLURM_JOB_NUM_NODES' | sort\n\
        srun -l -n1 echo A : -n2 echo B | sort\n\
        srun -l --export=ALL,X=a sh -c 'echo $X $Y' : -n2 --export=ALL,Y=b sh -c 'echo $X $Y' | sort\n\
        scontrol show job $SLURM_JOB_ID | grep -E 'HetJobId'\n";
    fs::write(env.work().join("job.sh"), script).unwrap();
    says(
        &env.slurm("sbatch", &["job.sh"]),
        0,
        "Submitted batch job 1\n",
        "",
    );
    wait_until_empty(&env);
    let printed = fs::read_to_string(env.work().join("slurm-1.out")).unwrap();
    let want = "1 2 2 node[2-3]\n\
        1+0 1 1 first node1\n\
        1+1 2 2 second node[2-3]\n\
        1                   1                   1-2                 0                   \n\
        2                   1                   1-2                 1                   \n\
        one node1\n\
        of second node2\n\
        of second node2\n\
        of second node3\n\
        of second node3\n\
        0 0 5 node1 0 3\n\
        1 0 5 node2 1 3\n\
        2 1 5 node2 1 3\n\
        3 0 5 node3 2 3\n\
        4 1 5 node3 2 3\n\
        0: A\n1: B\n2: B\n\
        0: a\n1: b\n2: b\n\
        JobId=1 HetJobId=1 HetJobOffset=0 JobName=first\n   HetJobIdSet=1-2\n\
        JobId=2 HetJobId=1 HetJobOffset=1 JobName=second\n   HetJobIdSet=1-2\n";
    // The real one's second component has three tasks on node2 and one on node3.
    assert_eq!(printed, want);
    let ended = env.slurm(
        "sacct",
        &["-X", "-n", "-P", "-o", "jobid,jobidraw,jobname,state"],
    );
    says(
        &ended,
        0,
        "1+0|1|first|COMPLETED\n1+1|2|second|COMPLETED\n",
        "",
    );
}

#[test]
fn all_wait_for_all_and_are_held_and_ended_together() {
    let env = env();
    fs::write(env.work().join("s.sh"), "#!/bin/sh\nsleep 300\n").unwrap();
    env.slurm(
        "sbatch",
        &["-N2", "-t5", "--exclusive", "-J", "before", "s.sh"],
    )
    .success();
    env.slurm(
        "sbatch",
        &[
            "-N2", "-J", "a", "-t3", ":", "-N1", "-J", "b", "-t4", "s.sh",
        ],
    )
    .success();
    env.slurm(
        "sbatch",
        &[
            "-N3", "-J", "c", "-t3", ":", "-N1", "-J", "d", "-t4", "s.sh",
        ],
    )
    .success();
    wait_until("the first runs", || queue(&env)[0].contains(" R "));
    // 2 + 1 fit beside it only with a node shared, which no two components do; 3 + 1 must wait.
    wait_until("the second has started or waits", || queue(&env).len() == 5);
    let all = queue(&env);
    assert!(
        all.iter().any(|line| line.starts_with("2+0 PD a")),
        "{all:?}"
    );
    assert!(
        all.iter().any(|line| line.starts_with("2+1 PD b")),
        "{all:?}"
    );
    let root = sys::process::user() == 0;
    let by_who = if root { "JobHeldAdmin" } else { "JobHeldUser" };
    for (verb, reason) in [("hold", by_who), ("uhold", "JobHeldUser")] {
        env.slurm("scontrol", &[verb, "2"]).success();
        let reasons = env.slurm("squeue", &["-h", "-j", "2", "-o", "%i %r"]);
        let want = format!("2+1 {reason}\n2+0 {reason}\n");
        assert_eq!(reasons.success(), want);
    }
    env.slurm("scontrol", &["release", "2"]).success();
    let one = "scancel: error: Kill job error on job id 2+1: Operation not permitted on individual \
               component of heterogeneous job\n";
    says(&env.slurm("scancel", &["2+1"]), 60, "", one);
    // What isn't a component is not taken for another job.
    says(&env.slurm("scancel", &["1+3"]), 0, "", "");
    assert!(queue(&env)[0].starts_with("1 R "), "{:?}", queue(&env));
    env.slurm("scancel", &["1"]).success();
    wait_until("both run", || {
        let all = queue(&env);
        all.iter()
            .filter(|line| line.contains(" R ") && line.starts_with("2+"))
            .count()
            == 2
    });
    env.slurm("scancel", &["2"]).success();
    wait_until("the last runs", || {
        queue(&env)
            .iter()
            .filter(|line| line.starts_with("4+") && line.contains(" R "))
            .count()
            == 2
    });
    env.slurm("scancel", &["4"]).success();
    wait_until_empty(&env);
    let states = env
        .slurm("sacct", &["-X", "-n", "-P", "-o", "jobid,state"])
        .success();
    let cancelled = |line: &str| line.contains("CANCELLED");
    assert!(states.lines().all(cancelled), "{states}");
}

#[test]
fn allocations_and_steps_outside() {
    let env = env();
    let command = "echo $SLURM_HET_SIZE $SLURM_JOB_ID; srun -l hostname | sed 's/:.*//'; \
                   srun -l --het-group=1 true; srun -l --het-group=1 echo b | sort";
    let outcome = env.slurm("salloc", &["-n1", ":", "-n2", "bash", "-c", command]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "2 1\n0\n0: b\n1: b\n");
    let outcome = env.slurm("srun", &["-n1", "true", ":", "-n2", "false"]);
    assert_eq!(outcome.status, 1);
    let outcome = env.slurm(
        "srun",
        &[
            "-n1", "sh", "-c", "exit 3", ":", "-n2", "sh", "-c", "exit 2",
        ],
    );
    assert_eq!(outcome.status, 3);
    wait_until_empty(&env);
    let outcome = env.slurm(
        "sbatch",
        &["--array=1-2", "-n1", ":", "-n1", "--wrap", "true"],
    );
    let want = "sbatch: error: Batch job submission failed: Invalid job array specification\n";
    says(&outcome, 1, "", want);
    let outcome = env.slurm("sbatch", &["-n1", ":", "-p", "nosuch", "--wrap", "true"]);
    assert!(
        outcome.stderr.contains("Invalid partition name specified"),
        "{}",
        outcome.stderr
    );
    assert_eq!(queue(&env), [""; 0]);
}

#[test]
fn a_node_that_is_through_keeps_no_input_from_the_others() {
    let env = env();
    // More than is sent before the first node takes any.
    fs::write(env.work().join("large"), vec![0; 3_000_000]).unwrap();
    let first_ends = "if [ $SLURM_NODEID = 0 ]; then until [ -e begun ]; do sleep 0.01; done
        else head -c 1 > begun; exec wc -c; fi";
    let yard = env!("CARGO_BIN_EXE_yard");
    let mut srun = env.program(
        yard,
        &["slurm", "srun", "-Q", "-N2", "-n2", "sh", "-c", first_ends],
    );
    srun.stdin(fs::File::open(env.work().join("large")).unwrap());
    says(&Outcome::of(&srun.output().unwrap()), 0, "2999999\n", "");
}
