//! The nursery: the test is the engine, in a process of its own.

use crate::Test;
use crate::step::{Step, lives, until};
use engine::nursery::{NurseryEvent, fork};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

pub const TESTS: &[Test] = &[
    (
        "supervisors_are_started_and_reaped",
        supervisors_are_started_and_reaped,
    ),
    (
        "supervisors_outlive_an_engine_that_is_killed",
        supervisors_outlive_an_engine_that_is_killed,
    ),
    (
        "an_engine_that_says_farewell_is_not_replaced",
        an_engine_that_says_farewell_is_not_replaced,
    ),
    (
        "supervisors_hold_nothing_of_the_engine",
        supervisors_hold_nothing_of_the_engine,
    ),
];

/// An engine of few words: each line of stdin is a folder to start, or `farewell`; each event is a
/// line of stdout.
pub fn engine(folder: &Path) -> ExitCode {
    let (nursery, events) = fork(folder).unwrap();
    let secret = std::fs::File::create(folder.join("secret")).unwrap();
    std::thread::spawn(move || {
        while let Some(event) = events.next().unwrap() {
            let line = match event {
                NurseryEvent::Started { folder, pid } => {
                    format!("started {pid} {}", folder.display())
                }
                NurseryEvent::Failed { message, .. } => format!("failed {message}"),
                NurseryEvent::Ended { folder } => format!("ended {}", folder.display()),
            };
            let mut stdout = std::io::stdout();
            writeln!(stdout, "{line}").unwrap();
        }
    });
    for line in std::io::stdin().lines() {
        match line.unwrap().as_str() {
            "farewell" => {
                nursery.farewell();
                return ExitCode::SUCCESS;
            }
            folder => nursery.start(Path::new(folder)).unwrap(),
        }
    }
    drop(secret);
    ExitCode::SUCCESS
}

/// What the nursery starts in the dead engine's place: leaves a word and declines.
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
            .arg("nursery")
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
        step.write_spec();
        self.say(&step.folder().display().to_string());
        let line = self.line();
        let pid = line.strip_prefix("started ").unwrap();
        pid.split(' ').next().unwrap().parse().unwrap()
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

/// The nursery is the supervisor's parent.
fn nursery_of(supervisor: u32) -> u32 {
    sys::process::parent(supervisor).unwrap()
}

fn supervisors_are_started_and_reaped() {
    let mut engine = Engine::new();
    let step = Step::script("exit 5");
    let pid = engine.start(&step);
    assert_eq!(engine.line(), format!("ended {}", step.folder().display()));
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(step.exit_file().unwrap().tasks[0].status.code(), 5);
    engine.say("farewell");
    engine.process.wait().unwrap();
}

fn supervisors_outlive_an_engine_that_is_killed() {
    let mut engine = Engine::new();
    let step = Step::script("until test -e go; do sleep 0.01; done; exit 8");
    let supervisor = engine.start(&step);
    let nursery = nursery_of(supervisor);
    engine.process.kill().unwrap();
    engine.process.wait().unwrap();
    until("another engine was started", || engine.successor().exists());
    until("the nursery ended", || !lives(nursery));
    assert!(lives(supervisor));
    std::fs::write(step.path("go"), "").unwrap();
    until("the step ended", || step.exit_file().is_some());
    assert_eq!(step.exit_file().unwrap().tasks[0].status.code(), 8);
    until("the supervisor is gone", || !lives(supervisor));
}

fn an_engine_that_says_farewell_is_not_replaced() {
    let mut engine = Engine::new();
    let step = Step::script("until test -e go; do sleep 0.01; done");
    let supervisor = engine.start(&step);
    let nursery = nursery_of(supervisor);
    engine.say("farewell");
    engine.process.wait().unwrap();
    until("the nursery ended", || !lives(nursery));
    assert!(!engine.successor().exists());
    std::fs::write(step.path("go"), "").unwrap();
    until("the step ended", || step.exit_file().is_some());
    // Its parent is another now: it looks for an engine, and starts one.
    until("another engine was started", || {
        step.path("successor").exists()
    });
}

fn supervisors_hold_nothing_of_the_engine() {
    let mut engine = Engine::new();
    let step = Step::script("until test -e go; do sleep 0.01; done");
    let supervisor = engine.start(&step);
    // `pid` comes after the socket: from then on its descriptors are all there.
    until("the step runs", || step.folder().join("pid").exists());
    let held = |pid: u32| -> Vec<String> {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        entries
            .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
            .map(|target| target.display().to_string())
            .collect()
    };
    for pid in [supervisor, nursery_of(supervisor)] {
        let held = held(pid);
        assert!(held.iter().all(|name| !name.contains("secret")), "{held:?}");
        assert!(held.len() <= 7, "{held:?}");
    }
    std::fs::write(step.path("go"), "").unwrap();
    assert!(engine.line().starts_with("ended "));
    engine.say("farewell");
    engine.process.wait().unwrap();
}
