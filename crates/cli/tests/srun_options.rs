//! What `srun`'s options do to the tasks of a step. What is expected was recorded from 22.05.8 by the
//! command line that stands in each test, with `task/affinity` and `task/cgroup` on nodes of two CPUs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use testkit::{TestEnv, VirtualCluster, skip};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn several_programs() {
    let env = env();
    env.write(
        "mp.conf",
        "# two\n0 echo zero %t\n* sh -c 'echo others \"$SLURM_PROCID\" $0 %o' it\n",
    );
    let srun = |args: &[&str]| env.slurm("srun", &[&["-n1", "--multi-prog"], args].concat());
    let said = env
        .slurm(
            "srun",
            &["-n2", "-O", "-l", "--multi-prog", "mp.conf", "more"],
        )
        .success();
    assert_eq!(sorted(&said), ["0: zero 0 more", "1: others 1 it %o"]);
    let error = |text: &str| format!("srun: error: {text}\n");
    let missing = srun(&["nosuch.conf"]).code(1).stderr;
    assert_eq!(
        missing,
        error("Could not open multi_prog config file nosuch.conf")
    );
    env.write("few.conf", "1 true\n");
    let wrong = error("Invalid task id, 1 >= ntasks")
        + &error("Line 1 of configuration file few.conf invalid");
    assert_eq!(srun(&["few.conf"]).code(1).stderr, wrong);
    // A program that is not there is its task's matter.
    env.write("gone.conf", "0 nosuchprog\n");
    let gone = srun(&["gone.conf"]).code(2).stderr;
    assert!(
        gone.contains("execve(): nosuchprog: No such file or directory\n"),
        "{gone}"
    );
}

/// `unset TMPDIR; srun -n2 -l sh -c …`, with one that is missing and one that can't be made, and in a batch script:
/// the first task of a node has a folder, the others have what their caller has; a program's name is the
/// path by which it was found.
#[test]
fn the_first_task_has_a_folder_for_files_and_a_program_its_path() {
    let env = env();
    let yard = env!("CARGO_BIN_EXE_yard");
    let say = "sh -c 'echo \"$TMPDIR\" $0'";
    let shell = env.program("sh", &["-c", "command -v sh"]).output();
    let shell = shell.expect("sh can be started").stdout;
    let shell = String::from_utf8_lossy(&shell);
    let shell = shell.trim();
    let work = env.work();
    let work = work.display();
    let cases = [
        (
            format!("unset TMPDIR; {yard} slurm srun -n2 -l {say}"),
            format!("0: /tmp {shell}\n1:  {shell}\n"),
        ),
        (
            format!("TMPDIR=$PWD/new {yard} slurm srun -n1 -l {say}; test -d new && echo made"),
            format!("0: {work}/new {shell}\nmade\n"),
        ),
        (
            format!("TMPDIR=/nosuch/new {yard} slurm srun -n2 -l {say} 2> err; cat err"),
            format!(
                "0: /tmp {shell}\n1: /nosuch/new {shell}\n\
                 slurmstepd: error: Setting TMPDIR to /tmp\n\
                 slurmstepd: error: Unable to create TMPDIR [/nosuch/new]: No such file or directory\n"
            ),
        ),
        (
            format!("ln -s {shell} mine; {yard} slurm srun -n1 ./mine -c 'echo $0'"),
            format!("{work}/./mine\n"),
        ),
        (
            format!(
                "unset TMPDIR; {yard} slurm sbatch -W -o out --wrap 'echo $TMPDIR; basename $0' \
                 > said; cat out"
            ),
            "/tmp\nslurm_script\n".to_owned(),
        ),
    ];
    for (line, want) in cases {
        let output = env.program("bash", &["-c", &line]).output();
        let output = output.expect("bash can be started");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(sorted(&printed), sorted(&want), "{line}: {output:?}");
    }
}

/// `srun -n2 -W 1 sh -c …`: SIGKILL, without a SIGTERM before it.
#[test]
fn a_step_that_srun_gives_up_is_killed() {
    let env = env();
    let waits =
        "test $SLURM_PROCID = 0 || { trap \"echo caught\" TERM; while :; do sleep 0.1; done; }";
    let said = env
        .slurm("srun", &["-n2", "-W", "1", "sh", "-c", waits])
        .code(137);
    assert!(
        said.stderr.contains(": task 1: Killed\n"),
        "{}",
        said.stderr
    );
    assert_eq!(said.stdout, "");
}

/// An MPI program would abort, or run alone as often as there are tasks.
#[test]
fn a_pmi_server_is_not_pretended() {
    let mut env = env();
    for kind in ["pmix", "pmi2"] {
        let refused = env.slurm("srun", &[&format!("--mpi={kind}"), "true"]);
        let refused = refused.code(1).stderr;
        let said = format!("srun: error: invalid MPI type '{kind}'");
        assert!(refused.starts_with(&said), "{refused}");
        assert!(
            refused.contains("start the program with mpirun"),
            "{refused}"
        );
    }
    env.slurm("srun", &["--mpi=none", "true"]).success();
    assert_eq!(
        env.slurm("srun", &["--mpi=list"]).success(),
        "MPI plugin types are...\n\tnone\n"
    );
    // What another Slurm left in the environment asks nothing of this one.
    env.set_var("SLURM_MPI_TYPE", "pmix");
    env.slurm("srun", &["true"]).success();
}

/// `srun -n1 --exact --cpu-bind=verbose`; the mask depends on the machine's CPU.
#[test]
fn binding_is_reported_and_told() {
    let env = env();
    let script = "env | grep ^SLURM_CPU_BIND | sort";
    let outcome = env
        .slurm("srun", &["-n1", "--cpu-bind=verbose", "sh", "-c", script])
        .code(0);
    let want = "SLURM_CPU_BIND=verbose,mask_cpu:0x1\nSLURM_CPU_BIND_LIST=0x1\n\
                SLURM_CPU_BIND_TYPE=mask_cpu:\nSLURM_CPU_BIND_VERBOSE=verbose\n";
    assert_eq!(outcome.stdout, want);
    assert!(
        outcome.stderr.starts_with("cpu-bind=MASK - "),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.ends_with(" set\n"), "{}", outcome.stderr);
    let bound = env
        .slurm("srun", &["-n1", "--cpu-bind=rank", "nproc"])
        .success();
    assert_eq!(bound, "1\n");
}

#[test]
fn ranks_are_dealt_out_as_asked() {
    let env = env();
    let script = "echo $SLURM_NODEID $SLURM_DISTRIBUTION";
    let said = env.slurm(
        "srun",
        &["-N2", "-n2", "-l", "-m", "cyclic", "sh", "-c", script],
    );
    assert_eq!(sorted(&said.success()), ["0: 0 cyclic", "1: 1 cyclic"]);
    let plane = "echo $SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE";
    let said = env
        .slurm("srun", &["-n1", "-m", "plane=2", "sh", "-c", plane])
        .success();
    assert_eq!(said, "plane 2\n");
}

/// `srun -n1 --mem=50 python3 eat.py 200`, and the same in a batch script that goes on.
#[test]
fn a_step_over_its_memory_ends_out_of_memory() {
    let env = env();
    let hog = "BEGIN { held = sprintf(\"%150000000s\", \"x\"); system(\"sleep 60\"); print length(held) }";
    let said = env
        .slurm("srun", &["-n1", "--mem=50", "awk", hog])
        .code(1)
        .stderr;
    assert!(said.contains(": task 0: Out Of Memory\n"), "{said}");
    assert!(said.contains("--mem gave them 50 MiB\n"), "{said}");
    let wrap = format!("awk '{hog}' || true");
    let _ended = env
        .slurm(
            "sbatch",
            &["--wait", "-o", "out", "--mem=50", "--wrap", &wrap],
        )
        .code(1);
    let states = env
        .slurm("sacct", &["-nPo", "jobid,state,exitcode"])
        .success();
    let want = "1|OUT_OF_MEMORY|0:125\n1.0|OUT_OF_MEMORY|0:125\n\
                2|OUT_OF_MEMORY|0:125\n2.batch|OUT_OF_MEMORY|0:125\n";
    assert_eq!(states, want);
    let output = std::fs::read_to_string(env.work().join("out")).unwrap_or_default();
    assert!(output.contains("StepId=2.batch"), "{output}");
}

/// A program that holds so many MiB for three seconds.
fn holds(mebibytes: u32) -> String {
    format!("dd if=/dev/zero bs={mebibytes}M 2> /dev/null | sleep 3")
}

/// Neither holds more than it may, and both together do.
#[test]
fn the_steps_of_a_job_share_its_memory() {
    let env = env();
    let wrap = format!(
        "({holds}) & srun --overlap sh -c '{holds}'; wait; true",
        holds = holds(60)
    );
    let _ended = env.slurm(
        "sbatch",
        &["--wait", "-o", "out", "--mem=100", "--wrap", &wrap],
    );
    let output = std::fs::read_to_string(env.work().join("out")).unwrap_or_default();
    let said = "the job's processes held up to 1";
    assert!(output.contains(said), "{output}");
    assert!(output.contains("--mem gave them 100 MiB\n"), "{output}");
    let state = env.slurm("sacct", &["-nPXo", "jobid,state"]).success();
    assert_eq!(state, "1|OUT_OF_MEMORY\n", "{output}");
    // One after the other they may.
    let wrap = format!("{holds}; srun --overlap sh -c '{holds}'", holds = holds(60));
    let one_by_one = ["--wait", "-o", "out", "--mem=100", "--wrap", &wrap];
    env.slurm("sbatch", &one_by_one).success();
}

/// `DefMemPerCPU=100`, and a job that asks for no memory.
#[test]
fn a_cluster_s_default_memory_is_a_limit() {
    let cluster = "[nodes.n]\nnames = \"n1\"\ncpus = 2\nmemory = \"4000M\"\n\
                   [partition.all]\ndefault = true\nnodes = \"n1\"\ndefault_memory_per_cpu = \"100M\"\n";
    let lab = VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), cluster);
    let run = |asked: &[&str]| {
        let wrap = format!("echo $SLURM_MEM_PER_CPU; {}", holds(200));
        let all = [&["--wait", "-o", "out"], asked, &["--wrap", &wrap]].concat();
        let _ended = lab.slurm("sbatch", &all);
        std::fs::read_to_string(lab.work().join("out")).unwrap_or_default()
    };
    let output = run(&[]);
    assert!(output.starts_with("100\n"), "{output}");
    let given = "the default of its cluster gave them 100 MiB\n";
    assert!(output.ends_with(given), "{output}");
    run(&["--mem=0"]);
    let states = lab.slurm("sacct", &["-nPXo", "jobid,state"]).success();
    assert_eq!(states, "1|OUT_OF_MEMORY\n2|COMPLETED\n");
}

/// `ulimit -Sn 777; ulimit -Sc 0; sbatch --propagate=…`, and with `srun`: soft limits go along, no
/// variable is left of them. Recorded with a node whose own were 20000 and unlimited.
#[test]
fn limits_of_the_shell_go_along() {
    let env = env();
    env.write(
        "job.sh",
        "#!/bin/bash\necho at $(ulimit -Sn) $(ulimit -Sc) $(env | grep -c RLIMIT)\n",
    );
    // The engine has its own from the first call.
    let calls = [
        ("srun -n1 true", ""),
        ("srun bash job.sh", "at 777 0 0\n"),
        ("srun --propagate=NONE bash job.sh", "at 900 8 0\n"),
        ("srun --propagate=NOFILE bash job.sh", "at 777 8 0\n"),
        ("srun --propagate bash job.sh", "at 777 0 0\n"),
        ("sbatch -W -o out job.sh; cat out", "at 777 0 0\n"),
        (
            "sbatch -W -o out --propagate=NONE job.sh; cat out",
            "at 900 8 0\n",
        ),
        (
            "sbatch -W -o out --propagate=RLIMIT_CORE,NOFILE job.sh; cat out",
            "at 777 0 0\n",
        ),
    ];
    for (index, (call, want)) in calls.into_iter().enumerate() {
        let limits = if index == 0 {
            "ulimit -Sn 900; ulimit -Sc 8"
        } else {
            "ulimit -Sn 777; ulimit -Sc 0"
        };
        let yard = env!("CARGO_BIN_EXE_yard");
        let line = format!("{limits}; {yard} slurm {call}");
        let output = env.program("bash", &["-c", &line]).output();
        let output = output.expect("bash can be started");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.ends_with(want), "{call}: {output:?}");
    }
}

/// `ulimit -Su 60` at the submission bounds root's job too, and nothing of it stays.
#[test]
fn a_job_has_no_more_processes_than_were_passed_on() {
    const NAME: &str = "a_job_has_no_more_processes_than_were_passed_on";
    if let Err(error) = sys::process_cgroup::ProcessCgroup::probe() {
        return testkit::skip(NAME, &format!("no control group of processes: {error}"));
    }
    let env = env();
    // The engine has this machine's own limits.
    env.slurm("srun", &["-n1", "true"]).success();
    let many = "i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done; echo all";
    for mem in ["", "--mem=100 "] {
        let yard = env!("CARGO_BIN_EXE_yard");
        let line = format!("ulimit -Su 60; {yard} slurm srun -n1 {mem}dash -c '{many}'");
        let output = env.program("bash", &["-c", &line]).output();
        let output = output.expect("bash can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("Cannot fork"),
            "{output:?}"
        );
    }
    assert_eq!(env.slurm("squeue", &["-h"]).success(), "");
}

/// Its task went on and ended well, and so did the job.
#[test]
fn a_step_that_lost_a_process_for_memory_is_out_of_memory() {
    if let Err(error) = sys::memory_cgroup::MemoryCgroup::probe() {
        let test = "a_step_that_lost_a_process_for_memory_is_out_of_memory";
        return skip(test, &format!("memory is not kept by the kernel ({error})"));
    }
    let env = env();
    let command = ["sh", "-c", "tail /dev/zero; exit 0"];
    let said = env.slurm("srun", &[&["--mem=40M"], &command[..]].concat());
    let said = said.code(1).stderr;
    // As recorded of a real one.
    assert!(said.contains(": task 0: Out Of Memory\n"), "{said}");
    let rows = env.slurm("sacct", &["-n", "-P", "-o", "State,ExitCode"]);
    assert_eq!(rows.success(), "OUT_OF_MEMORY|0:125\n".repeat(2));

    // What still runs after another task is none of its tasks.
    let text = "#!/bin/sh\n: > ended$SLURM_PROCID\nuntil [ -e ended1 ]; do sleep 0.1; done\n";
    let epilog = env.write("epilog", text);
    fs::set_permissions(&epilog, fs::Permissions::from_mode(0o755)).expect("a file of this test");
    let epilog = format!("--task-epilog={}", epilog.display());
    let task = "[ $SLURM_PROCID = 0 ] || tail /dev/zero; until [ $SLURM_PROCID = 0 -o -e ended0 ]; do sleep 0.1; done";
    let args = ["-n2", "--mem=40M", &epilog, "sh", "-c", task];
    let said = env.slurm("srun", &args).code(1).stderr;
    assert!(said.contains(": task 1: Out Of Memory\n"), "{said}");
}
