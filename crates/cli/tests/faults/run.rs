//! One run of the harness: a sealed environment, the training, the faults, what was found.

use crate::disks::Disks;
use crate::faults::Faults;
use crate::judgement::{Evidence, Verdict, judge};
use crate::progress::Progress;
use crate::scenario::{Fault, Scenario};
use crate::stranger::Stranger;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::TestEnv;

/// Longer than any run takes on a busy machine; only one that hangs takes that long.
const LONGEST: Duration = Duration::from_secs(180);
/// The same for what has only to end.
const LONGEST_END: Duration = Duration::from_secs(60);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(3);
/// Time limit of a job and how much of it is for bringing out what was written, in seconds.
const LIMIT: (u32, u32) = (7, 3);

const PROGRAM: &str = include_str!("train.py");

/// What became of one.
pub enum Became {
    /// It can't be done here: why.
    Skipped(String),
    /// It was done.
    Ran {
        verdict: Verdict,
        kills: u32,
        left: usize,
        /// Where everything is kept that tells of a failure.
        kept: Option<PathBuf>,
    },
}

/// Runs a scenario. Call it on a thread of its own: it may enter a mount namespace.
pub fn run(scenario: &Scenario, python: &Path) -> Became {
    let mut environment = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let disks = match &scenario.fault {
        Fault::Disk { disk, trouble, .. } => match Disks::new(&environment, *disk, *trouble) {
            Ok(disks) => Some(disks),
            Err(why) => return Became::Skipped(why),
        },
        _ => None,
    };
    let stranger = match &scenario.fault {
        Fault::Stranger => match Stranger::new(python, environment.root()) {
            Ok(stranger) => Some(stranger),
            Err(why) => return Became::Skipped(why),
        },
        _ => None,
    };
    write_run(&environment, scenario, python);
    let mut log = vec![format!("seed {}: {scenario}", scenario.seed)];
    let (evidence, kills) = {
        let root = environment.root().to_owned();
        let faults = Faults::new(&scenario.fault, &root, disks.as_ref(), stranger);
        disturb(&environment, scenario, faults, &mut log)
    };
    let verdict = judge(&scenario.training, scenario.promise(), &evidence);
    let kept = (!verdict.findings.is_empty()).then(|| {
        log.extend(
            verdict
                .findings
                .iter()
                .map(|finding| format!("FOUND {finding}")),
        );
        let _written = fs::write(environment.root().join("harness.log"), log.join("\n"));
        keep_disk(&environment, disks.is_some());
        environment.keep();
        environment.root().to_owned()
    });
    Became::Ran {
        left: evidence.left.len(),
        verdict,
        kills,
        kept,
    }
}

/// What stands on a small disk goes with its mount: a copy stays.
fn keep_disk(environment: &TestEnv, mounted: bool) {
    if mounted {
        let from = environment.trainyard_home().join("scratch/work");
        let copied = Command::new("cp")
            .arg("-a")
            .arg(from)
            .arg(environment.root().join("run-folders"))
            .status();
        let _there = copied;
    }
}

fn write_run(environment: &TestEnv, scenario: &Scenario, python: &Path) {
    let training = scenario.training;
    environment.write("train.py", PROGRAM);
    let work = environment.work();
    let text = format!(
        r#"name = "trial"
command = [{python:?}, "-S", "train.py", {work:?}, "{}", "{}", "{}", "{{checkpoints}}", "{{resume}}"]
checkpoints = {{ complete = "rename" }}
resume = {{ grace = "{}s" }}
[resources]
ranks_per_node = {}
cpus_per_rank = 1
time = "{}s"
"#,
        training.steps, training.hold, training.pace_ms, LIMIT.1, training.ranks, LIMIT.0,
    );
    environment.write("yard.toml", &text);
}

/// Starts the run, does to it what the scenario says, and sees it to its end.
fn disturb(
    environment: &TestEnv,
    scenario: &Scenario,
    mut faults: Faults<'_>,
    log: &mut Vec<String>,
) -> (Evidence, u32) {
    let mut found = Vec::new();
    let begun = Instant::now();
    let mut quiet = Quiet::default();
    let mut by_itself = true;
    let mut run = None;
    let mut limit_came = false;
    let mut what = if scenario.follows {
        "run --on local"
    } else {
        "run --on local --detach"
    };
    let mut client = Some(start(environment, what));
    loop {
        run = run.or_else(|| run_folder(environment));
        let progress = look(environment, scenario, run.as_deref());
        if let Some(attempt) = progress.first_at_limit()
            && !limit_came
        {
            fs::write(environment.work().join("limit-came"), attempt).unwrap();
            limit_came = true;
        }
        let ended = client
            .as_mut()
            .and_then(|client| client.try_wait().unwrap());
        if let Some(status) = ended {
            client = None;
            if !status.success() {
                found.push(format!("yard {what} ended with {status}"));
            }
            if what.starts_with("wait") {
                break;
            }
        }
        // Where a terminal gave the run up, or none follows it, the run may still go on.
        if client.is_none() && (progress.is_over() || quiet.lasts(environment.root())) {
            by_itself = progress.is_over();
            what = "wait @";
            client = Some(start(environment, what));
        }
        faults.go_on(&progress);
        if begun.elapsed() > LONGEST {
            found.push(format!("it is not over after {LONGEST:?}"));
            log.push(format!("{:#?}", testkit::that_mention(environment.root())));
            if let Some(mut client) = client {
                let _ended = client.kill();
                let _reaped = client.wait();
            }
            break;
        }
        std::thread::sleep(LOOK);
    }
    log.extend(std::mem::take(&mut faults.log));
    log.push(format!("{} over", sys::now()));
    let (kills, stands) = (faults.kills, faults.stands);
    // Disks are well again from here on, and no other user is there.
    faults.end();
    let state = state(environment);
    if state == "done" && !by_itself && !stands {
        found.push("no process took the run on until a command looked at it".to_owned());
    }
    if ended_within(environment, "engine stop").is_none() {
        found.push("yard engine stop does not end".to_owned());
    }
    let run = run.as_deref();
    let ranks = scenario.training.ranks;
    let evidence = Evidence {
        left: leftovers(environment, run),
        progress: look(environment, scenario, run),
        state,
        all_ended_well: run
            .map(|run| all_ended_well(run, ranks))
            .unwrap_or_default(),
        newest: run.and_then(newest),
        on_the_way: found,
    };
    (evidence, kills)
}

/// Since when none of a run's processes is there, where no terminal follows it.
#[derive(Default)]
struct Quiet {
    looked: Option<Instant>,
    since: Option<Instant>,
}

impl Quiet {
    /// Whether that lasts so long that nothing will happen any more.
    fn lasts(&mut self, environment: &Path) -> bool {
        const PAUSE: Duration = Duration::from_secs(1);
        const LONG: Duration = Duration::from_secs(20);
        if self.looked.is_some_and(|looked| looked.elapsed() < PAUSE) {
            return false;
        }
        self.looked = Some(Instant::now());
        let inside = testkit::that_mention(environment);
        if inside.iter().any(|(_, command)| command.contains(" job ")) {
            self.since = None;
            return false;
        }
        self.since.get_or_insert_with(Instant::now).elapsed() > LONG
    }
}

fn look(environment: &TestEnv, scenario: &Scenario, run: Option<&Path>) -> Progress {
    Progress::read(&environment.work(), scenario.training.ranks, run)
}

/// Starts a command of `yard`, whose outputs go to a file of its name.
fn start(environment: &TestEnv, command: &str) -> Child {
    let words: Vec<&str> = command.split(' ').collect();
    let output = environment.root().join(format!("{}.out", words[0]));
    let file = fs::File::create(output).unwrap();
    let errors = file.try_clone().unwrap();
    let mut command = environment.command(&words);
    command
        .stdout(Stdio::from(file))
        .stderr(Stdio::from(errors));
    command.spawn().unwrap()
}

/// What the command printed; `None` where it did not end.
fn ended_within(environment: &TestEnv, command: &str) -> Option<String> {
    let mut child = start(environment, command);
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > LONGEST {
            let _ended = child.kill();
            let _reaped = child.wait();
            return None;
        }
        std::thread::sleep(LOOK);
    }
    let word = command.split(' ').next()?;
    fs::read_to_string(environment.root().join(format!("{word}.out"))).ok()
}

fn state(environment: &TestEnv) -> String {
    let shown = ended_within(environment, "show @ --json");
    let shown: Value = serde_json::from_str(&shown.unwrap_or_default()).unwrap_or_default();
    let words = shown["state"]["state"].as_str().unwrap_or("unknown");
    match shown["state"]["cause"].as_str() {
        Some(cause) => format!("{words}: {cause}"),
        None => words.to_owned(),
    }
}

/// The folder of the only run.
fn run_folder(environment: &TestEnv) -> Option<PathBuf> {
    let runs = environment.trainyard_home().join("scratch/work");
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let mut folders = entries.map(|entry| entry.path());
    folders.find(|folder| folder.join("links").is_dir())
}

fn leftovers(environment: &TestEnv, run: Option<&Path>) -> Vec<String> {
    let begun = Instant::now();
    let mut processes = testkit::that_mention(environment.root());
    while !processes.is_empty() && begun.elapsed() < LONGEST_END {
        std::thread::sleep(Duration::from_millis(20));
        processes = testkit::that_mention(environment.root());
    }
    let mut left: Vec<String> = processes
        .iter()
        .map(|(pid, command)| format!("process {pid} {command}"))
        .collect();
    testkit::end_all_that_mention(environment.root());
    let mut all_of = |folder: &Path, is: fn(&str) -> bool| {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = entry
                .metadata()
                .is_ok_and(|facts| facts.uid() == sys::process::user());
            if ours && is(&name) {
                left.push(entry.path().display().to_string());
            }
        }
    };
    all_of(&environment.root().join("tmp"), |name| {
        name.starts_with("trainyard-")
    });
    if let Some(run) = run {
        all_of(run, |name| name.starts_with('.'));
        all_of(&run.join("checkpoints/.incoming"), |_| true);
    }
    left
}

/// Starts of which every rank's end is written down and is 0. One that had SIGTERM by then, or ended
/// once its end was decided, is no evidence: it may have ended well because it was told to.
fn all_ended_well(run: &Path, ranks: u32) -> Vec<String> {
    let links = run.join("links");
    let names = fs::read_dir(&links).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let attempts = names.filter_map(|name| Some(name.strip_suffix(".events")?.to_owned()));
    let ended_well = |attempt: &String| {
        let events = fs::read_to_string(links.join(format!("{attempt}.events")));
        let events = events.unwrap_or_default();
        let mut events = events
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let told =
            events.find(|event| event["event"] == "stopping" || event["event"] == "terminated");
        let told = told.and_then(|event| event["at"].as_i64());
        (0..ranks).all(|rank| {
            let text = fs::read(links.join(format!("{attempt}.exit.{rank}")));
            let exit: Value = serde_json::from_slice(&text.unwrap_or_default()).unwrap_or_default();
            let before = told.is_none_or(|told| exit["at"].as_i64().is_some_and(|at| at < told));
            exit["status"] == 0 && exit["told_to_end"] != true && before
        })
    };
    attempts.filter(ended_well).collect()
}

/// The newest complete checkpoint.
fn newest(run: &Path) -> Option<u32> {
    let there = folder::RunFolder::at(run).look_at_checkpoints().ok()?;
    u32::try_from(there.whole.first()?.step?).ok()
}
