//! What the tests of the example share: running it, and reading what its ranks wrote.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::TestEnv;

/// The example, where it stands.
pub const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits");

/// Between two looks for the run folder.
const LOOK: Duration = Duration::from_millis(20);

/// A run of the example that has ended well.
#[derive(Debug)]
pub struct Digits {
    /// Of each start of the program, in order: the step that it began from, and the last one that
    /// it printed.
    pub starts: Vec<(u32, u32)>,
    /// Test accuracy, from its last line.
    pub accuracy: f64,
    /// Hash of the final parameters.
    pub parameters: String,
}

/// Runs the example to its end and reads it from the logs of rank 0.
#[track_caller]
pub fn run_digits(env: &TestEnv, flags: &[&str]) -> Digits {
    run_digits_while(env, flags, |_folder| {})
}

/// The same, doing something `meanwhile` with the run's folder.
#[track_caller]
pub fn run_digits_while(env: &TestEnv, flags: &[&str], meanwhile: impl FnOnce(&Path)) -> Digits {
    let before = run_folders(env);
    let mut args = vec!["run", DIGITS];
    args.extend(flags);
    let new = || -> Vec<PathBuf> { run_folders(env).difference(&before).cloned().collect() };
    let printed = std::thread::scope(|scope| {
        let run = scope.spawn(|| env.yard(&args));
        // Making its environment takes minutes on a busy machine; the command ends in any case.
        while new().is_empty() && !run.is_finished() {
            std::thread::sleep(LOOK);
        }
        if let [folder] = new().as_slice() {
            meanwhile(folder);
        }
        run.join().expect("the command was waited for").success()
    });
    let new = new();
    let [folder] = new.as_slice() else {
        panic!("one run folder was made, not {new:?}\n{printed}");
    };
    let logs: Vec<String> = logs_of_rank_0(folder);
    let last = logs.last().expect("the program has started");
    Digits {
        starts: logs.iter().map(|log| first_and_last_step(log)).collect(),
        accuracy: after(last, "test accuracy ").parse().expect("an accuracy"),
        parameters: after(last, "parameters sha256 ").to_owned(),
    }
}

fn run_folders(env: &TestEnv) -> BTreeSet<PathBuf> {
    let projects = children(&env.trainyard_home().join("scratch"));
    projects
        .iter()
        .flat_map(|project| children(project))
        // Whatever else stands on scratch, such as the making of an environment, isn't a run.
        .filter(|folder| folder.join("run.json").is_file())
        .collect()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

/// Texts of `logs/<job>.<restart>.0`, in the order in which they were written.
fn logs_of_rank_0(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join("logs"))
        .expect("a folder of logs")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let numbers: Option<Vec<u32>> = name.split('.').map(|part| part.parse().ok()).collect();
        if let Some([job, restart, 0]) = numbers.as_deref() {
            let text = fs::read_to_string(entry.path()).expect("a log can be read");
            found.push((*job, *restart, text));
        }
    }
    found.sort();
    found.into_iter().map(|(_, _, text)| text).collect()
}

fn first_and_last_step(log: &str) -> (u32, u32) {
    let number = |text: &str| text.trim().parse().expect("a step's number");
    let first = number(after(log, "from step "));
    let last = log
        .lines()
        .filter_map(|line| line.strip_prefix("step ")?.split_once("loss"))
        .next_back();
    (first, last.map_or(first, |(step, _)| number(step)))
}

/// What follows the words in the line that has them.
fn after<'a>(log: &'a str, words: &str) -> &'a str {
    let found = log.lines().find_map(|line| Some(line.split_once(words)?.1));
    found.unwrap_or_else(|| panic!("{words:?} stands in the log:\n{log}"))
}
