//! How dear a step is: so many scripts of `true` through one fork server.

use crate::step::Step;
use engine::fork_server::{ForkServerEvent, fork};
use std::process::ExitCode;
use std::time::Instant;

/// Runs `count` steps, eight at a time, and prints the time for one. Under `time` it tells the CPU
/// time, too.
pub fn run(count: Option<&String>) -> ExitCode {
    let count: usize = count.and_then(|text| text.parse().ok()).unwrap_or(1000);
    let folder = tempfile::tempdir().unwrap();
    let (fork_server, events) = fork(folder.path()).unwrap();
    let steps: Vec<Step> = (0..count).map(|_| Step::script("")).collect();
    let begun = Instant::now();
    let mut waiting = steps.iter();
    for step in waiting.by_ref().take(8) {
        fork_server.start(&step.spec).unwrap();
    }
    let mut ended = 0;
    while ended < count {
        if let Some(ForkServerEvent::Ended { .. }) = events.next().unwrap() {
            ended += 1;
            if let Some(step) = waiting.next() {
                fork_server.start(&step.spec).unwrap();
            }
        }
    }
    let each = begun.elapsed() / u32::try_from(count).unwrap();
    eprintln!("{count} steps, {each:?} each");
    fork_server.shutdown();
    while events.next().unwrap().is_some() {}
    ExitCode::SUCCESS
}
