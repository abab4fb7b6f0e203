//! A job on nodes of a virtual cluster sees its own processes on a node alone, and none of them runs on.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use sys::process::{namespace_of, pid_namespace};
use testkit::{TestEnv, skip, wait_until};

/// A cluster of two nodes; none where the system gives them no processes of their own.
fn start(test: &str) -> Option<TestEnv> {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let started = ["engine", "start", "lab", "--nodes", "2"];
    env.yard(&started).success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let status = env.yard(&["engine", "status", "lab"]).success();
    if status.contains("a job sees its own processes on a node alone") {
        return Some(env);
    }
    env.yard(&["engine", "stop", "lab"]).success();
    skip(test, &status);
    None
}

fn stop(env: &TestEnv) {
    env.yard(&["engine", "stop", "lab"]).success();
}

/// A number of seconds to sleep that stands in no other process's command line; another for each digit.
fn word(digit: u32) -> String {
    format!("{digit}{:07}", std::process::id())
}

/// Processes of this machine with that word in their command line.
fn with_word(word: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|it| it == word.as_bytes())
    };
    sys::process::all().filter(has).collect()
}

#[test]
fn tasks_see_the_processes_of_their_job_on_their_node_alone() {
    let Some(env) = start("processes of nodes") else {
        return;
    };
    let script = "ls /proc | grep -c '^[0-9]'; echo first $(cat /proc/1/comm); kill -0 $SLURM_TASK_PID \
                  && echo found $(($$ - SLURM_TASK_PID)); ps -o sid= -p $$ | tr -d ' ' | sed \"s/^$$\\$/own/\"";
    let printed = env
        .slurm("srun", &["-N2", "-n2", "sh", "-c", script])
        .success();
    for node in ["node1", "node2"] {
        assert!(
            printed.contains(&format!("first yard:{node}\n")),
            "{printed}"
        );
    }
    for line in ["found 0", "own"] {
        let lines = printed.lines().filter(|it| *it == line);
        assert_eq!(lines.count(), 2, "{line}: {printed}");
    }
    let counts = printed.lines().filter_map(|line| line.parse::<u32>().ok());
    let counts: Vec<u32> = counts.collect();
    // The namespace's own, the shell, and those of its pipe.
    assert!(
        counts.len() == 2 && counts.iter().all(|count| *count <= 5),
        "{printed}"
    );
    // A step sees those of the job's other step, here the script's shell.
    let script = "sleep 600 & srun -N1 -n1 -w node1 sh -c 'pgrep -x sleep'; kill %1
                  scontrol listpids | grep -c \"^$$ \"";
    env.write("job.sh", &format!("#!/bin/bash\n{script}\n"));
    env.slurm("sbatch", &["-W", "-N2", "-o", "out", "job.sh"])
        .success();
    let printed = fs::read_to_string(env.work().join("out")).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines.len() == 2 && lines[1] == "1", "{printed}");
    stop(&env);
}

/// Those that a task begins for itself are not the others'.
#[test]
fn tasks_of_a_step_share_the_mounts_of_their_node() {
    let Some(env) = start("mounts of nodes") else {
        return;
    };
    let script = "[ $SLURM_LOCALID = 0 ] && exec unshare -m -u readlink /proc/self/ns/mnt; \
                  echo $(readlink /proc/self/ns/mnt) $(hostname) $(pwd)";
    let words = [
        "-N2",
        "-n6",
        "--ntasks-per-node=3",
        "-O",
        "sh",
        "-c",
        script,
    ];
    let printed = env.slurm("srun", &words).success();
    let mut lines: Vec<&str> = printed.lines().filter(|line| line.contains(' ')).collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 4, "{printed}");
    lines.dedup();
    assert_eq!(lines.len(), 2, "{printed}");
    for node in ["node1", "node2"] {
        let here = format!(" {node} {}", env.work().display());
        assert!(lines.iter().any(|line| line.ends_with(&here)), "{printed}");
    }
    stop(&env);
}

#[test]
fn what_tasks_leave_behind_is_gone_with_their_step_and_what_hides_with_the_job() {
    let Some(env) = start("leftovers of tasks") else {
        return;
    };
    let (word, hidden) = (word(9), word(8));
    // The first daemon has nothing of the step's environment, the second no host name of it either.
    let left = format!(
        "(setsid env -i sleep {word} &); (setsid env -i unshare -u sleep {hidden} &); \
         until pgrep -f '^sleep {word}' && pgrep -f '^sleep {hidden}'; do sleep 0.1; done"
    );
    let script =
        format!("srun -N2 -n2 sh -c \"{left}\"\ntouch over; until [ -e go ]; do sleep 0.05; done");
    env.write("job.sh", &format!("#!/bin/bash\n{script}\n"));
    env.slurm("sbatch", &["-N2", "-o", "out", "job.sh"])
        .success();
    wait_until("the step is over", || env.work().join("over").exists());
    assert_eq!(with_word(&word), Vec::<u32>::new());
    // Where nothing else of the job runs, it is gone too.
    assert!(!with_word(&hidden).is_empty());
    env.write("go", "");
    let waited = env.yard(&["wait", "1"]).success();
    assert!(waited.contains("COMPLETED"), "{waited}");
    assert_eq!(with_word(&hidden), Vec::<u32>::new());
    stop(&env);
}

#[test]
fn an_engine_that_a_job_starts_sees_all_processes_and_outlives_it() {
    let Some(env) = start("an engine of a job") else {
        return;
    };
    let yard = env!("CARGO_BIN_EXE_yard");
    let script = format!(
        "{yard} engine stop lab && squeue && sbatch -o second --wrap 'echo of a job'
         echo $? > started
         until [ -e go ]; do sleep 0.05; done"
    );
    let first = env.engine_pid("lab");
    env.slurm("sbatch", &["-o", "first", "--wrap", &script])
        .success();
    let read = |name: &str| fs::read_to_string(env.work().join(name)).unwrap_or_default();
    wait_until("the job has started an engine", || {
        read("started").ends_with('\n')
    });
    assert_eq!(read("started"), "0\n", "{}", read("first"));
    let second = env.engine_pid("lab");
    assert_ne!(first, second);
    assert_eq!(namespace_of(second, "pid"), Some(pid_namespace()));
    env.write("go", "");
    for job in ["1", "2"] {
        let waited = env.yard(&["wait", job]).success();
        assert!(waited.contains("COMPLETED"), "{waited}");
    }
    assert_eq!(env.engine_pid("lab"), second);
    stop(&env);
}

#[test]
fn steps_go_on_while_the_engine_is_killed() {
    let Some(env) = start("a killed engine") else {
        return;
    };
    let script =
        "srun -N2 -n2 sh -c 'touch begun.$SLURM_PROCID; until [ -e go ]; do sleep 0.05; done'
                  srun -N2 -n2 cat /proc/1/comm";
    env.write("job.sh", &format!("#!/bin/bash\n{script}\n"));
    env.slurm("sbatch", &["-N2", "-o", "out", "job.sh"])
        .success();
    for rank in 0..2 {
        let begun = env.work().join(format!("begun.{rank}"));
        wait_until("the ranks have begun", || begun.exists());
    }
    let first = env.engine_pid("lab");
    let fork_server = sys::process::children(first);
    for pid in fork_server.into_iter().chain([first]) {
        sys::process::signal(pid, 9).unwrap();
    }
    let used = env
        .slurm("sstat", &["-nP", "-o", "JobID,NTasks", "1.0"])
        .success();
    assert_eq!(used, "1.0|2\n");
    env.slurm("scancel", &["-s", "CONT", "1"]).success();
    env.write("go", "");
    let waited = env.yard(&["wait", "1"]).success();
    assert!(waited.contains("COMPLETED"), "{waited}");
    let mut printed: Vec<String> = fs::read_to_string(env.work().join("out"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    printed.sort();
    assert_eq!(printed, ["yard:node1", "yard:node2"]);
    assert_ne!(env.engine_pid("lab"), first);
    stop(&env);
}

#[test]
fn a_job_starts_again_while_its_former_namespace_still_ends() {
    let Some(env) = start("a namespace that ends slowly") else {
        return;
    };
    let script = "touch begun; [ $SLURM_RESTART_COUNT ] || exec sleep 600";
    env.slurm("sbatch", &["--requeue", "--wrap", script])
        .success();
    wait_until("the job has begun", || env.work().join("begun").exists());
    let first = env.engine_pid("lab");
    let fork_server = sys::process::children(first)[0];
    let below = sys::process::children(fork_server);
    // What it inherits is not waited for, so that the namespace can't end.
    sys::process::signal(fork_server, 19).unwrap();
    let is_supervisor = |pid: &u32| namespace_of(*pid, "pid") == Some(pid_namespace());
    let supervisors = below.into_iter().filter(is_supervisor);
    for pid in supervisors.chain([first]) {
        sys::process::signal(pid, 9).unwrap();
    }
    let waited = env.yard(&["wait", "1"]).success();
    sys::process::signal(fork_server, 9).unwrap();
    assert!(waited.contains("COMPLETED"), "{waited}");
    stop(&env);
}

#[test]
fn a_shell_begins_where_yard_itself_is_a_file_in_tmp() {
    let own = format!("/tmp/yard-shell-{}", std::process::id());
    fs::copy(env!("CARGO_BIN_EXE_yard"), &own).unwrap();
    let mut env = TestEnv::new(&own);
    let started = ["engine", "start", "lab", "--nodes", "1"];
    env.yard(&started).success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let shell = ["shell", "--", "sh", "-c", "echo on $SLURMD_NODENAME"];
    let printed = env.yard(&shell).success();
    stop(&env);
    drop(env);
    fs::remove_file(own).unwrap();
    assert_eq!(printed, "on node1\n");
}

/// It was taken for the end of the job by itself, with what ran there killed by 9.
#[test]
fn a_job_whose_namespace_is_killed_is_lost_and_comes_back() {
    let Some(env) = start("a killed namespace") else {
        return;
    };
    let word = word(7);
    let wrap = format!("sleep {word}");
    let words = ["--parsable", "-w", "node1", "-o", "out", "--wrap", &wrap];
    let job = env.slurm("sbatch", &words).success();
    let job = job.trim();
    wait_until("it runs", || with_word(&word).len() == 1);
    let task = with_word(&word)[0];
    let keeper = sys::process::all()
        .find(|pid| {
            let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            comm.trim() == "yard:node1" && namespace_of(*pid, "pid") == namespace_of(task, "pid")
        })
        .expect("the first process of its namespace");
    sys::process::signal(keeper, 9).unwrap();
    wait_until("its second start runs", || {
        let state = env
            .slurm("squeue", &["-h", "-j", job, "-o", "%t"])
            .success();
        state.trim() == "R" && with_word(&word).iter().any(|pid| *pid != task)
    });
    let starts = ["-X", "-D", "-n", "-P", "-j", job, "-o", "State"];
    let starts = env.slurm("sacct", &starts).success();
    assert_eq!(starts, "NODE_FAIL\nRUNNING\n");
    env.slurm("scancel", &[job]).success();
    wait_until("it is over", || {
        env.slurm("squeue", &["-h"]).success().trim().is_empty()
    });
    stop(&env);
}
