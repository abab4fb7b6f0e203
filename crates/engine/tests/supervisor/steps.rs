//! Steps whose streams are files.

use crate::Test;
use crate::step::{Step, lives, until};
use engine::BootTime;
use engine::spec::{Because, EndedBy, Reach, Streams, SupervisorAnswer, SupervisorCall};
use model::{Seconds, SignalSpec, SignalTarget, Timestamp};
use std::os::unix::fs::PermissionsExt;

pub const TESTS: &[Test] = &[
    (
        "a_script_runs_with_its_environment",
        a_script_runs_with_its_environment,
    ),
    (
        "exit_codes_and_signals_are_told",
        exit_codes_and_signals_are_told,
    ),
    (
        "tasks_have_ranks_and_files_of_their_own",
        tasks_have_ranks_and_files_of_their_own,
    ),
    (
        "the_deadline_terminates_then_kills",
        the_deadline_terminates_then_kills,
    ),
    (
        "a_stop_lets_the_script_clean_up",
        a_stop_lets_the_script_clean_up,
    ),
    (
        "the_warning_goes_to_the_batch_shell_alone",
        the_warning_goes_to_the_batch_shell_alone,
    ),
    (
        "a_signal_reaches_grandchildren",
        a_signal_reaches_grandchildren,
    ),
    (
        "what_a_script_leaves_behind_is_killed",
        what_a_script_leaves_behind_is_killed,
    ),
    (
        "a_bad_exit_ends_the_other_tasks",
        a_bad_exit_ends_the_other_tasks,
    ),
    (
        "a_missing_command_is_said_as_slurm_does",
        a_missing_command_is_said_as_slurm_does,
    ),
    (
        "an_output_that_cant_be_opened",
        an_output_that_cant_be_opened,
    ),
    (
        "why_a_batch_script_was_not_launched_stands_in_its_output",
        why_a_batch_script_was_not_launched_stands_in_its_output,
    ),
    ("a_missing_working_directory", a_missing_working_directory),
    ("status_and_hello", status_and_hello),
    (
        "sigterm_to_the_supervisor_ends_the_step",
        sigterm_to_the_supervisor_ends_the_step,
    ),
    ("a_name_for_ps", a_name_for_ps),
];

fn stop() -> SupervisorCall {
    SupervisorCall::Deadline {
        at: Some(Timestamp(0)),
        because: Because::Stop,
        lost_node: None,
        preempted: false,
        job: None,
    }
}

/// The output with the moment of an end replaced.
fn output(step: &Step) -> String {
    let text = step.text("out");
    match text.find("CANCELLED AT ") {
        Some(place) => {
            let (before, after) = text.split_at(place + 13);
            format!("{before}<time>{}", &after[19..])
        }
        None => text,
    }
}

fn a_script_runs_with_its_environment() {
    let script = "echo $A $B $SLURM_PROCID; test $SLURM_TASK_PID = $$ && echo pid; pwd; umask; read x || echo eof; echo err >&2";
    let mut step = Step::script(script);
    step.spec.variables = vec![("B".to_owned(), "new".to_owned())];
    step.spec.umask = 0o27;
    let mut step = step.start();
    assert_eq!(step.statuses(), [0]);
    let folder = step.path("").display().to_string();
    let folder = folder.trim_end_matches('/');
    assert_eq!(
        step.text("out"),
        format!("b c new 0\npid\n{folder}\n0027\neof\nerr\n")
    );
    let mode = step.path("out").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

fn exit_codes_and_signals_are_told() {
    assert_eq!(Step::script("exit 3").start().statuses(), [3 << 8]);
    assert_eq!(Step::script("kill -9 $$").start().statuses(), [9]);
}

fn tasks_have_ranks_and_files_of_their_own() {
    let mut step = Step::command(&["sh", "-c", "echo $SLURM_PROCID $SLURM_LOCALID"], 2);
    step.spec.tasks[1].rank = 5;
    step.spec.tasks[1].gpus = vec![3];
    if let Streams::Files { output, .. } = &mut step.spec.streams {
        *output = "logs/%s.%2t".to_owned();
    }
    let mut step = step.start();
    assert_eq!(step.statuses(), [0, 0]);
    assert_eq!(step.text("logs/0.00"), "0 0\n");
    assert_eq!(step.text("logs/0.05"), "5 1\n");
}

fn the_deadline_terminates_then_kills() {
    // The script and what it started ignore SIGTERM; each says that it came.
    let script = "trap 'echo shell' TERM; sh -c 'trap \"echo child > child\" TERM; echo $$ > pid; while :; do sleep 0.01; done' & while :; do sleep 0.01; done";
    let mut step = Step::script(script);
    step.spec.deadline = Some(BootTime::now().plus(1000));
    step.spec.kill_wait_ms = 700;
    let mut step = step.start();
    let child = step.pid_in("pid");
    assert_eq!(step.statuses(), [9]);
    assert_eq!(step.exit().ended_by, Some(EndedBy::Limit));
    assert_eq!(step.text("child"), "child\n");
    assert!(!lives(child));
    let want = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT <time> DUE TO TIME LIMIT ***\n";
    assert!(output(&step).starts_with(want), "{}", output(&step));
    // Shells say of a child when SIGTERM ended it, before or after.
    assert!(output(&step).contains("shell\n"), "{}", output(&step));
}

fn a_stop_lets_the_script_clean_up() {
    let step =
        Step::script("trap 'echo clean; exit 4' TERM; echo $$ > pid; while :; do sleep 0.01; done");
    let mut step = step.start();
    step.pid_in("pid");
    assert_eq!(step.call(&stop()), SupervisorAnswer::Done);
    assert_eq!(step.statuses(), [4 << 8]);
    assert_eq!(step.exit().ended_by, Some(EndedBy::Stop));
    let text = output(&step);
    assert!(text.starts_with("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT <time> ***\n"));
    assert!(text.ends_with("clean\n"), "{text}");
}

fn the_warning_goes_to_the_batch_shell_alone() {
    let script = "trap 'echo warned; exit 0' USR1; sh -c 'trap \"echo child\" USR1; echo $$ > pid; while :; do sleep 0.01; done' & while :; do sleep 0.01; done";
    let mut step = Step::script(script);
    step.spec.deadline = Some(BootTime::now().plus(61_000));
    step.spec.warning = Some(SignalSpec {
        signal: 10,
        before: Seconds(60),
        target: SignalTarget::BatchShell,
        borrows: false,
    });
    let mut step = step.start();
    assert_eq!(step.statuses(), [0]);
    assert_eq!(step.text("out"), "warned\n");
    assert_eq!(step.exit().ended_by, None);
}

fn a_signal_reaches_grandchildren() {
    let inner = "trap \"echo got; exit 0\" USR1; echo $$ > pid; while :; do sleep 0.01; done";
    let script = format!("trap : USR1; sh -c '{inner}' & until wait $!; do :; done; echo end");
    let mut step = Step::script(&script).start();
    let inner = step.pid_in("pid");
    let signal = |reach| SupervisorCall::Signal { signal: 10, reach };
    step.call(&signal(Reach::Tasks));
    assert!(lives(inner));
    step.call(&signal(Reach::All));
    assert_eq!(step.statuses(), [0]);
    let text = step.text("out");
    assert!(text.contains("got\n") && text.ends_with("end\n"), "{text}");
}

fn what_a_script_leaves_behind_is_killed() {
    // Twice forked, in a session of its own, deaf to SIGTERM: a daemon.
    let daemon = "trap \"\" TERM HUP; echo $$ > pid; while :; do sleep 0.01; done";
    let script = format!(
        "(setsid sh -c '{daemon}' >/dev/null 2>&1 &)\nuntil test -s pid; do sleep 0.01; done; exit 6"
    );
    let mut step = Step::script(&script).start();
    assert_eq!(step.statuses(), [6 << 8]);
    assert!(!lives(step.pid_in("pid")));
}

fn a_bad_exit_ends_the_other_tasks() {
    let script = "test $SLURM_PROCID = 1 && exit 7; exec sleep 1000";
    let mut step = Step::command(&["sh", "-c", script], 3);
    step.spec.kill_on_bad_exit = true;
    assert_eq!(step.start().statuses(), [15, 7 << 8, 15]);
}

fn a_missing_command_is_said_as_slurm_does() {
    let mut step = Step::command(&["no-such-command"], 1).start();
    assert_eq!(step.statuses(), [2 << 8]);
    let want = "slurmstepd: error: execve(): no-such-command: No such file or directory\n";
    assert_eq!(step.text("out"), want);
}

fn an_output_that_cant_be_opened() {
    let mut step = Step::script("true");
    std::fs::write(step.path("file"), "").unwrap();
    if let Streams::Files { output, .. } = &mut step.spec.streams {
        *output = "file/out".to_owned();
    }
    let mut step = step.start();
    let exit = step.exit();
    assert_eq!(exit.tasks, []);
    let error = exit.launch_error.unwrap();
    assert!(error.starts_with("could not open "), "{error}");
    assert!(error.ends_with("/file/out: Not a directory"), "{error}");
}

/// It ended without a word that anyone found.
fn why_a_batch_script_was_not_launched_stands_in_its_output() {
    let mut step = Step::script("true");
    if let Streams::Files { input, .. } = &mut step.spec.streams {
        *input = Some("missing".to_owned());
    }
    let mut step = step.start();
    let error = step.exit().launch_error.unwrap();
    let want = format!("slurmstepd: error: could not launch the batch script: {error}\n");
    assert_eq!(step.text("out"), want);
}

fn a_missing_working_directory() {
    let mut step = Step::script("pwd");
    step.spec.chdir = step.path("missing");
    let out = step.path("out").display().to_string();
    if let Streams::Files { output, .. } = &mut step.spec.streams {
        *output = out;
    }
    let missing = step.spec.chdir.display().to_string();
    let mut step = step.start();
    assert_eq!(step.statuses(), [0]);
    let want = format!(
        "slurmstepd: error: couldn't chdir to `{missing}': No such file or directory: going to /tmp instead\n/tmp\n"
    );
    assert_eq!(step.text("out"), want);
}

fn status_and_hello() {
    let script = "test $SLURM_PROCID = 1 && exit 7; exec sleep 1000";
    let step = Step::command(&["sh", "-c", script], 2);
    let mut step = step.start();
    let hello = step.call(&SupervisorCall::Hello);
    assert!(matches!(hello, SupervisorAnswer::Hello { .. }));
    let mut status = None;
    until("task 1 ended", || {
        status = Some(step.call(&SupervisorCall::Status));
        matches!(&status, Some(SupervisorAnswer::Status { ended, .. }) if ended.len() == 1)
    });
    let Some(SupervisorAnswer::Status {
        running,
        ended,
        deadline,
    }) = status
    else {
        panic!("no status")
    };
    assert_eq!((running, ended[0].rank, deadline), (vec![0], 1, None));
    step.call(&stop());
    assert_eq!(step.statuses(), [15, 7 << 8]);
}

fn sigterm_to_the_supervisor_ends_the_step() {
    let mut step = Step::script("echo $PPID > pid; exec sleep 1000").start();
    let supervisor = step.pid_in("pid");
    sys::process::signal(supervisor, 15).unwrap();
    assert_eq!(step.statuses(), [15]);
}

fn a_name_for_ps() {
    let mut step = Step::script("cat /proc/$PPID/comm").start();
    assert_eq!(step.statuses(), [0]);
    assert_eq!(step.text("out"), "yard:7.batch\n");
}
