//! The fork server: the test is the engine, in a process of its own.

use crate::Test;
use crate::step::{Step, lives, until};
use engine::fork_server::{ForkServerEvent, fork};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

pub const TESTS: &[Test] = &[
    (
        "supervisors_go_from_step_to_step_and_leave",
        supervisors_go_from_step_to_step_and_leave,
    ),
    (
        "a_killed_supervisor_leaves_nothing_behind",
        a_killed_supervisor_leaves_nothing_behind,
    ),
    (
        "supervisors_outlive_an_engine_that_is_killed",
        supervisors_outlive_an_engine_that_is_killed,
    ),
    (
        "an_engine_that_shuts_down_is_not_replaced",
        an_engine_that_shuts_down_is_not_replaced,
    ),
    (
        "supervisors_hold_nothing_of_the_engine",
        supervisors_hold_nothing_of_the_engine,
    ),
];

/// An engine of few words: each line of stdin is a file with a spec to start, or `shutdown`; each
/// event is a line of stdout.
pub fn engine(folder: &Path) -> ExitCode {
    let (fork_server, events) = fork(folder).unwrap();
    let secret = std::fs::File::create(folder.join("secret")).unwrap();
    std::thread::spawn(move || {
        while let Some(event) = events.next().unwrap() {
            let line = match event {
                ForkServerEvent::Failed { message, .. } => format!("failed {message}"),
                ForkServerEvent::Ended { key, exit } => match exit {
                    Some(exit) => format!("ended {} {}", key.job, exit.tasks[0].status.0),
                    None => format!("ended {}", key.job),
                },
            };
            let mut stdout = std::io::stdout();
            writeln!(stdout, "{line}").unwrap();
        }
    });
    for line in std::io::stdin().lines() {
        match line.unwrap().as_str() {
            "shutdown" => {
                fork_server.shutdown();
                return ExitCode::SUCCESS;
            }
            file => fork_server.start(&crate::spec(file)).unwrap(),
        }
    }
    drop(secret);
    ExitCode::SUCCESS
}

/// What the fork server starts in the dead engine's place: leaves a word and declines.
pub fn successor(folder: &Path) -> ExitCode {
    std::fs::write(folder.join("successor"), "").unwrap();
    ExitCode::FAILURE
}

struct Engine {
    folder: tempfile::TempDir,
    process: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Engine {
    fn new() -> Engine {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg("fork_server")
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Engine {
            folder,
            process,
            lines,
        }
    }

    fn say(&mut self, line: &str) {
        let stdin = self.process.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
    }

    fn start(&mut self, step: &Step) -> u32 {
        self.say(&step.write_spec().display().to_string());
        step.supervisor()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn successor(&self) -> PathBuf {
        self.folder.path().join("successor")
    }
}

/// The fork server is the supervisor's parent.
fn fork_server_of(supervisor: u32) -> u32 {
    sys::process::parent(supervisor).unwrap()
}

fn supervisors_go_from_step_to_step_and_leave() {
    let mut engine = Engine::new();
    // What a step changes about its supervisor does not reach the next one.
    let mut first = Step::script("kill -TERM $$");
    first.spec.umask = 0o777;
    let supervisor = engine.start(&first);
    assert_eq!(engine.line(), "ended 7 15");
    let second = Step::script("pwd; umask; cat /proc/$PPID/comm; exit 5");
    assert_eq!(engine.start(&second), supervisor);
    assert_eq!(engine.line(), "ended 7 1280");
    assert_eq!(second.exit_file().unwrap().tasks[0].status.code(), 5);
    let folder = second.path("").display().to_string();
    let folder = folder.trim_end_matches('/');
    assert_eq!(
        second.text("out"),
        format!("{folder}\n0022\nyard:7.batch\n")
    );
    until("a supervisor that rests leaves", || !lives(supervisor));
    let third = Step::script("true");
    assert_ne!(engine.start(&third), supervisor);
    assert_eq!(engine.line(), "ended 7 0");
    engine.say("shutdown");
    engine.process.wait().unwrap();
}

/// A process without an environment, in a session of its own, whose parent is gone.
const STRAY: &str = "(setsid env -i sh -c 'trap \"\" TERM HUP; echo $$ > pid; \
                     while :; do sleep 0.01; done' >/dev/null 2>&1 &)";

fn a_killed_supervisor_leaves_nothing_behind() {
    let mut engine = Engine::new();
    let other = Step::script("until test -e go; do sleep 0.01; done");
    let others = engine.start(&other);
    let step = Step::script(&format!("{STRAY}\nexec sleep 1000"));
    let supervisor = engine.start(&step);
    let orphan = step.pid_in("pid");
    sys::process::signal(supervisor, 9).unwrap();
    assert_eq!(engine.line(), "ended 7");
    assert!(!lives(orphan));
    assert_eq!(step.exit_file(), None);
    // And takes nothing of others along.
    assert!(lives(others));
    std::fs::write(other.path("go"), "").unwrap();
    assert_eq!(engine.line(), "ended 7 0");
    engine.say("shutdown");
    engine.process.wait().unwrap();
}

fn supervisors_outlive_an_engine_that_is_killed() {
    let mut engine = Engine::new();
    let step = Step::script("until test -e go; do sleep 0.01; done; exit 8");
    let supervisor = engine.start(&step);
    let fork_server = fork_server_of(supervisor);
    engine.process.kill().unwrap();
    engine.process.wait().unwrap();
    until("another engine was started", || engine.successor().exists());
    until("the fork server ended", || !lives(fork_server));
    assert!(lives(supervisor));
    std::fs::write(step.path("go"), "").unwrap();
    until("the step ended", || step.exit_file().is_some());
    assert_eq!(step.exit_file().unwrap().tasks[0].status.code(), 8);
    until("the supervisor is gone", || !lives(supervisor));
}

fn an_engine_that_shuts_down_is_not_replaced() {
    let mut engine = Engine::new();
    let step = Step::script("until test -e go; do sleep 0.01; done");
    let supervisor = engine.start(&step);
    let fork_server = fork_server_of(supervisor);
    engine.say("shutdown");
    engine.process.wait().unwrap();
    until("the fork server ended", || !lives(fork_server));
    assert!(!engine.successor().exists());
    // Without a store there is nothing that an engine could serve.
    std::fs::write(step.path("store.sqlite"), "").unwrap();
    std::fs::write(step.path("go"), "").unwrap();
    until("the step ended", || step.exit_file().is_some());
    // Its parent is another now: it looks for an engine, and starts one.
    until("another engine was started", || {
        step.path("successor").exists()
    });
}

fn supervisors_hold_nothing_of_the_engine() {
    let mut engine = Engine::new();
    let step = Step::script("echo begun; until test -e go; do sleep 0.01; done");
    let supervisor = engine.start(&step);
    until("the step runs", || !step.text("out").is_empty());
    let held = |pid: u32| -> Vec<String> {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        entries
            .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
            .map(|target| target.display().to_string())
            .collect()
    };
    for pid in [supervisor, fork_server_of(supervisor)] {
        // While it starts tasks it has their streams, too.
        until("it holds little", || held(pid).len() <= 8);
        let held = held(pid);
        assert!(held.iter().all(|name| !name.contains("secret")), "{held:?}");
    }
    std::fs::write(step.path("go"), "").unwrap();
    assert!(engine.line().starts_with("ended "));
    engine.say("shutdown");
    engine.process.wait().unwrap();
}
