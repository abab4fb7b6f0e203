//! How dear a step is: so many scripts of `true` through one nursery.

use crate::step::Step;
use engine::nursery::{NurseryEvent, fork};
use std::process::ExitCode;
use std::time::Instant;

/// Runs `count` steps, eight at a time, and prints the time for one. Under `time` it tells the CPU
/// time, too.
pub fn run(count: Option<&String>) -> ExitCode {
    let count: usize = count.and_then(|text| text.parse().ok()).unwrap_or(1000);
    let folder = tempfile::tempdir().unwrap();
    let (nursery, events) = fork(folder.path()).unwrap();
    let steps: Vec<Step> = (0..count).map(|_| Step::script("")).collect();
    let begun = Instant::now();
    let mut waiting = steps.iter();
    for step in waiting.by_ref().take(8) {
        nursery.start(&step.spec).unwrap();
    }
    let mut ended = 0;
    while ended < count {
        if let Some(NurseryEvent::Ended { .. }) = events.next().unwrap() {
            ended += 1;
            if let Some(step) = waiting.next() {
                nursery.start(&step.spec).unwrap();
            }
        }
    }
    let each = begun.elapsed() / u32::try_from(count).unwrap();
    eprintln!("{count} steps, {each:?} each");
    nursery.farewell();
    while events.next().unwrap().is_some() {}
    ExitCode::SUCCESS
}
