//! Programs that run before and after jobs, steps and tasks. What is expected was recorded from 22.05.8
//! with programs of the same names.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use testkit::TestEnv;

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
