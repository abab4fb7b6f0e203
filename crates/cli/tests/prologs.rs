//! Programs that run before and after jobs, steps and tasks. What is expected was recorded from 22.05.8
//! with programs of the same names.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use testkit::{Outcome, TestEnv, wait_until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// A program of this text, with its lines noted in the file `notes`, where `note WORD` is.
fn program(env: &TestEnv, name: &str, text: &str) -> String {
    let notes = env.work().join("notes");
    let text = format!(
        "#!/bin/sh\nnote() {{ echo \"$*\" >> {}; }}\n{text}\n",
        notes.display()
    );
    let path: PathBuf = env.write(name, &text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("it can be made executable");
    path.display().to_string()
}

fn notes(env: &TestEnv) -> String {
    std::fs::read_to_string(env.work().join("notes")).unwrap_or_default()
}

#[test]
fn srun_runs_programs_around_a_step_and_its_tasks() {
    let env = env();
    let context = "note $SLURM_SCRIPT_CONTEXT $SLURM_STEP_ID $SLURM_PROCID $1";
    let prolog = program(&env, "prolog", &format!("{context}\necho prolog says"));
    let epilog = program(&env, "epilog", &format!("{context}\necho epilog says"));
    let task_prolog = program(
        &env,
        "task_prolog",
        &format!(
            "{context}\necho export FROM_PROLOG=yes there\necho print hello\necho unset GONE\n\
             echo other\necho error >&2"
        ),
    );
    let task_epilog = program(
        &env,
        "task_epilog",
        &format!("{context}\necho out\necho err >&2"),
    );
    let mut srun = env.command(&[
        "slurm",
        "srun",
        &format!("--prolog={prolog}"),
        &format!("--epilog={epilog}"),
        &format!("--task-prolog={task_prolog}"),
        &format!("--task-epilog={task_epilog}"),
        "sh",
        "-c",
        "echo [$FROM_PROLOG] [$GONE] [$SLURM_SCRIPT_CONTEXT] $(( $SLURM_TASK_PID == $$ ))",
    ]);
    let output = srun.env("GONE", "here").output().expect("srun runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        (text(&output.stdout).as_str(), text(&output.stderr).as_str()),
        (
            "prolog says\nhello\n[yes there] [] [] 1\nepilog says\n",
            "err\n"
        )
    );
    assert_eq!(
        notes(&env),
        "prolog_srun 0 sh\nprolog_task 0 0\nepilog_task 0 0\nepilog_srun 0 sh\n"
    );
}

#[test]
fn what_fails_is_said_and_ends_what_it_is_there_for() {
    let env = env();
    let fails = program(&env, "fails", "exit 3");
    let check = |option: &str, program: &str, code: i32, out: &str, want: &[&str]| {
        let option = format!("{option}={program}");
        let outcome = env.slurm("srun", &[&option, "echo", "ran"]).code(code);
        assert_eq!(outcome.stdout, out, "{option}");
        for part in want {
            assert!(
                outcome.stderr.contains(part),
                "{option}: {}",
                outcome.stderr
            );
        }
    };
    check(
        "--task-prolog",
        &fails,
        3,
        "",
        &["slurmstepd: error: --task-prolog failed status=3\n"],
    );
    check(
        "--task-epilog",
        &fails,
        0,
        "ran\n",
        &["slurmstepd: error: TaskEpilog failed status=768\n"],
    );
    check(
        "--prolog",
        &fails,
        1,
        "",
        &[
            "srun: error: srun prolog failed rc = 3. Aborting step.\n",
            "StepId=3.0 aborted before step completely launched.\n",
        ],
    );
    check(
        "--epilog",
        &fails,
        0,
        "ran\n",
        &["srun: error: srun epilog failed status=3\n"],
    );
    check(
        "--task-prolog",
        "/nosuch",
        1,
        "",
        &[
            "run_command: user task_prolog can not be executed (/nosuch) No such file or directory\n",
            "user task_prolog did not exit normally. reason: Run command failed - configuration error\n",
            "--task-prolog failed status=1\n",
        ],
    );
    check(
        "--task-prolog",
        "here",
        1,
        "",
        &["run_command: user task_prolog is not fully qualified pathname (here)\n"],
    );
    check(
        "--task-epilog",
        "/nosuch",
        0,
        "ran\n",
        &["Could not run user task_epilog [/nosuch]: access denied\n"],
    );
    check(
        "--prolog",
        "/nosuch",
        0,
        "ran\n",
        &["srun: Access denied for /nosuch: No such file or directory\n"],
    );
    check("--prolog", "none", 0, "ran\n", &[]);
    // What can't be started says so as without a prolog.
    let fine = program(&env, "fine", "true");
    let outcome = env.slurm("srun", &[&format!("--task-prolog={fine}"), "nosuchprog"]);
    let outcome = outcome.code(2);
    assert!(
        outcome
            .stderr
            .contains("execve(): nosuchprog: No such file or directory\n"),
        "{}",
        outcome.stderr
    );
}

/// An engine with nodes `n1` and `n2` whose cluster has these programs.
struct Cluster {
    env: TestEnv,
}

impl Cluster {
    fn start(programs: &[(&str, &str)]) -> Cluster {
        let mut env = env();
        let mut text = "[nodes.n]\ncount = 2\ncpus = 2\n[partition.p]\nnodes = \"ALL\"\n\
                        default = true\n[programs]\n"
            .to_owned();
        for (key, body) in programs {
            let value = match *key {
                "prolog_at_start" | "timeout" => (*body).to_owned(),
                _ => format!("{:?}", program(&env, key, body)),
            };
            text.push_str(&format!("{key} = {value}\n"));
        }
        let file = env.write("../lab.toml", &text).display().to_string();
        env.yard(&["engine", "start", "lab", "--cluster", &file])
            .success();
        env.set_var("TRAINYARD_ENGINE", "lab");
        Cluster { env }
    }

    fn slurm(&self, name: &str, args: &[&str]) -> Outcome {
        self.env.slurm(name, args)
    }

    /// Until all jobs that wait for nothing have ended.
    fn idle(&self) {
        wait_until("no job runs", || {
            self.slurm("squeue", &["-h", "-t", "R,CG,CF"])
                .success()
                .is_empty()
        });
    }

    fn notes(&self) -> Vec<String> {
        let mut lines: Vec<String> = notes(&self.env).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

const NOTE: &str =
    "note $SLURM_SCRIPT_CONTEXT $SLURM_JOB_ID $SLURMD_NODENAME $SLURM_JOB_EXIT_CODE2";

#[test]
fn a_cluster_s_programs_run_around_its_jobs() {
    let all = [
        "prolog",
        "epilog",
        "controller_prolog",
        "controller_epilog",
        "srun_prolog",
        "srun_epilog",
        "task_prolog",
        "task_epilog",
    ];
    let cluster = Cluster::start(&all.map(|key| (key, NOTE)));
    let script = "srun -N1 -n1 -w n1 true; srun -N2 -n2 true; exit 3";
    let line = ["-N2", "-n2", "-W", "--wrap", script];
    let _ended = cluster.slurm("sbatch", &line).code(3);
    assert_eq!(
        cluster.notes(),
        [
            "epilog_slurmctld 1 3:0",
            "epilog_slurmd 1 n1 3:0",
            "epilog_slurmd 1 n2 3:0",
            "epilog_srun 1 n1",
            "epilog_srun 1 n1",
            "epilog_task 1 n1",
            "epilog_task 1 n1",
            "epilog_task 1 n1",
            "epilog_task 1 n2",
            "prolog_slurmctld 1",
            "prolog_slurmd 1 n1",
            "prolog_slurmd 1 n2",
            "prolog_srun 1 n1",
            "prolog_srun 1 n1",
            "prolog_task 1 n1",
            "prolog_task 1 n1",
            "prolog_task 1 n1",
            "prolog_task 1 n2",
        ]
    );
    // An allocation without a step has no prolog on its nodes, and epilogs all the same.
    std::fs::remove_file(cluster.env.work().join("notes")).expect("there are notes");
    cluster.slurm("salloc", &["-N2", "true"]).success();
    cluster.idle();
    assert_eq!(
        cluster.notes(),
        [
            "epilog_slurmctld 2 0:0",
            "epilog_slurmd 2 n1 0:0",
            "epilog_slurmd 2 n2 0:0",
            "prolog_slurmctld 2",
        ]
    );
}

#[test]
fn a_prolog_that_fails_drains_its_node_and_holds_the_job() {
    let cluster = Cluster::start(&[("prolog", "exit 3"), ("epilog", NOTE)]);
    cluster.slurm("sbatch", &["--wrap", "echo ran"]).success();
    let state = || cluster.slurm("squeue", &["-h", "-o", "%t %r"]).success();
    wait_until("it is held", || {
        state() == "PD launch failed requeued held\n"
    });
    let shown = cluster
        .slurm("sinfo", &["-R", "-h", "-o", "%E %N"])
        .success();
    assert_eq!(shown, "Prolog error n1\n");
    let nodes = cluster
        .slurm("sinfo", &["-h", "-N", "-o", "%N %t"])
        .success();
    assert_eq!(nodes, "n1 drain\nn2 idle\n");
    assert_eq!(cluster.notes(), ["epilog_slurmd 1 n1 0:0"]);
    let again = cluster.slurm(
        "sacct",
        &["-n", "-D", "-X", "-P", "-j1", "-o", "jobid,state"],
    );
    assert_eq!(again.success(), "1|REQUEUED\n1|PENDING\n");
    // The node that is left: `srun` is told.
    let told = cluster.slurm("srun", &["true"]).code(182).stderr;
    assert_eq!(
        told,
        "srun: error: Task launch for StepId=2.0 failed on node n2: Job prolog failed\n\
         srun: error: Application launch failed: Job prolog failed\n\
         srun: Job step aborted\n\
         srun: Prolog failure on node n2\n"
    );
    cluster.idle();
    let state = cluster.slurm("squeue", &["-h", "-t", "all", "-j", "2", "-o", "%T %r"]);
    assert_eq!(state.success(), "FAILED JobLaunchFailure\n");
    let shown = cluster
        .slurm("sinfo", &["-R", "-h", "-o", "%E %N"])
        .success();
    assert_eq!(shown, "Prolog error n[1-2]\n");
}

#[test]
fn an_epilog_that_fails_drains_its_node_and_the_job_is_as_it_was() {
    let cluster = Cluster::start(&[("epilog", "sleep 0.2; exit 3")]);
    cluster.slurm("sbatch", &["-W", "--wrap", "true"]).success();
    let shown = cluster
        .slurm("sinfo", &["-R", "-h", "-o", "%E %N"])
        .success();
    assert_eq!(shown, "Epilog error n1\n");
    let state = cluster.slurm("sacct", &["-n", "-X", "-P", "-o", "jobid,state"]);
    assert_eq!(state.success(), "1|COMPLETED\n");
}

#[test]
fn the_epilog_runs_on_nodes_that_a_running_job_gives_back() {
    let cluster = Cluster::start(&[("epilog", NOTE)]);
    let script = "srun -N1 -n1 -w n2 sh -c 'touch there; sleep 1000' &\n\
                  while [ ! -e go ]; do sleep 0.05; done";
    let line = ["-N2", "-n2", "-o", "/dev/null", "--wrap", script];
    cluster.slurm("sbatch", &line).success();
    let there = cluster.env.work().join("there");
    wait_until("its step runs", || there.exists());
    let change = ["update", "JobId=1", "NumNodes=1"];
    cluster.slurm("scontrol", &change).success();
    wait_until("the epilog ran there", || !cluster.notes().is_empty());
    assert_eq!(cluster.notes(), ["epilog_slurmd 1 n2 0:0"]);
    let state = cluster.slurm("squeue", &["-h", "-o", "%T %N"]).success();
    assert_eq!(state, "RUNNING n1\n");
    cluster.env.write("go", "");
    cluster.idle();
    let both = ["epilog_slurmd 1 n1 0:0", "epilog_slurmd 1 n2 0:0"];
    assert_eq!(cluster.notes(), both);
}

#[test]
fn a_controller_s_prolog_that_fails_queues_a_script_again_and_ends_what_has_none() {
    let cluster = Cluster::start(&[("controller_prolog", "test -e $SLURM_JOB_WORK_DIR/fine")]);
    let _lost = cluster.slurm("srun", &["true"]).code(1);
    let state = cluster
        .slurm("sacct", &["-n", "-X", "-P", "-o", "jobid,state"])
        .success();
    assert!(state.starts_with("1|CANCELLED by "), "{state}");
    cluster.slurm("sbatch", &["--wrap", "true"]).success();
    wait_until("it was started again", || {
        let shown = cluster.slurm("scontrol", &["show", "job", "2"]).success();
        shown.contains("JobState=PENDING") && shown.contains("Restarts=1")
    });
    cluster.env.write("fine", "");
    let _may_start_by_itself = cluster.slurm("scontrol", &["update", "jobid=2", "starttime=now"]);
    wait_until("it ends", || {
        let state = cluster.slurm("squeue", &["-h", "-t", "all", "-j", "2", "-o", "%t"]);
        state.success() == "CD\n"
    });
}

#[test]
fn a_prolog_that_takes_too_long_is_killed() {
    let cluster = Cluster::start(&[
        ("prolog", "sleep 600"),
        ("timeout", "\"00:00:01\""),
        ("prolog_at_start", "true"),
    ]);
    cluster
        .slurm("sbatch", &["-N2", "--wrap", "echo ran >> notes"])
        .success();
    wait_until("its nodes are drained", || {
        let shown = cluster.slurm("sinfo", &["-R", "-h", "-o", "%E %N"]);
        shown.success() == "Prolog error n[1-2]\n"
    });
    cluster.slurm("scancel", &["1"]).success();
    cluster.idle();
    assert_eq!(cluster.notes(), [""; 0]);
}

#[test]
fn a_job_that_is_cancelled_during_its_prolog_never_starts() {
    let waits = format!("note waits; {WAITS}");
    let cluster = Cluster::start(&[("prolog", &waits), ("prolog_at_start", "true")]);
    cluster
        .slurm("sbatch", &["-N2", "--wrap", "echo ran >> notes"])
        .success();
    wait_until("it runs", || notes(&cluster.env).lines().count() == 2);
    cluster.slurm("scancel", &["1"]).success();
    cluster.env.write("go", "");
    cluster.idle();
    assert_eq!(cluster.notes(), ["waits"; 2]);
    let shown = cluster.slurm("sinfo", &["-R", "-h", "-o", "%E %N"]);
    assert_eq!(shown.success(), "");
    let state = cluster
        .slurm("sacct", &["-n", "-X", "-P", "-o", "jobid,state"])
        .success();
    assert!(state.starts_with("1|CANCELLED by "), "{state}");
}

/// A program that waits until the file `go` is there, for jobs in the folder of that file.
const WAITS: &str = "until [ -e $SLURM_JOB_WORK_DIR/go ]; do sleep 0.02; done";

#[test]
fn a_job_that_waits_for_the_controller_s_prolog_is_configuring() {
    let cluster = Cluster::start(&[("controller_prolog", WAITS)]);
    waits_for_prolog(&cluster, "CONFIGURING CF None\n");
}

#[test]
fn a_job_that_waits_for_the_prolog_of_its_nodes_says_so() {
    let cluster = Cluster::start(&[("prolog", WAITS), ("prolog_at_start", "true")]);
    waits_for_prolog(&cluster, "RUNNING R Prolog\n");
}

/// As it was recorded with a `PrologSlurmctld`, and with a `Prolog` and `PrologFlags=Alloc`.
#[track_caller]
fn waits_for_prolog(cluster: &Cluster, stands: &str) {
    let state = |job: &str| {
        let list = cluster.slurm("squeue", &["-h", "-t", "all", "-j", job, "-o", "%T %t %r"]);
        list.success()
    };
    cluster.slurm("sbatch", &["--wrap", "true"]).success();
    let salloc = cluster.env.command(&["slurm", "salloc", "echo", "ran"]);
    let salloc = piped(salloc);
    for job in ["1", "2"] {
        wait_until("it waits for it", || state(job) == stands);
    }
    assert!(cluster.slurm("squeue", &["-h"]).success().lines().count() == 2);
    cluster.env.write("go", "");
    let ended = salloc.wait_with_output();
    let ended = Outcome::of(&ended.expect("salloc ends"));
    assert_eq!(ended.stdout, "ran\n");
    assert_eq!(
        ended.code(0).stderr,
        "salloc: Granted job allocation 2\nsalloc: Waiting for resource configuration\n\
         salloc: Nodes n1 are ready for job\nsalloc: Relinquishing job allocation 2\n"
    );
    wait_until("it ran", || state("1") == "COMPLETED CD None\n");
}

#[test]
fn an_allocation_whose_prolog_fails_is_revoked() {
    for (programs, why) in [
        (
            &[("prolog", "exit 1"), ("prolog_at_start", "true")][..],
            "Prolog failure on node n1",
        ),
        (
            &[("controller_prolog", "exit 1")],
            "PrologSlurmctld failed, job killed",
        ),
    ] {
        let cluster = Cluster::start(programs);
        let said = cluster.slurm("salloc", &["true"]).code(1).stderr;
        let want = format!(
            "salloc: Granted job allocation 1\nsalloc: Waiting for resource configuration\n\
             salloc: {why}\nsalloc: Job allocation 1 has been revoked.\n\
             salloc: error: Job allocation 1 has been revoked\n"
        );
        assert_eq!(said, want);
        let said = cluster.slurm("srun", &["true"]).code(1).stderr;
        let node = if why.contains("n1") { "n2" } else { "n1" };
        let want = format!(
            "srun: {}\nsrun: error: Nodes {node} are still not ready\n\
             srun: error: Something is wrong with the boot of the nodes.\n",
            why.replace("n1", node)
        );
        assert_eq!(said, want);
        let state = cluster.slurm("sacct", &["-n", "-X", "-P", "-o", "state"]);
        let state = state.success();
        assert!(
            state.lines().all(|one| one.starts_with("CANCELLED")),
            "{state}"
        );
    }
}

/// Started, with its output kept.
fn piped(mut command: std::process::Command) -> std::process::Child {
    use std::process::Stdio;
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it can be started")
}
