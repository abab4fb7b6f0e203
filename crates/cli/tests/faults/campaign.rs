//! Many runs, a few at a time.

use crate::run::{Became, run};
use crate::scenario::Scenario;
use crate::table::{Entry, table};
use std::collections::VecDeque;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Most of a run's time is waiting: so many go on at once.
const AT_ONCE: usize = 3;

/// Runs them all and says how it went; the last is a table. Returns the seeds that failed.
pub fn campaign(scenarios: Vec<Scenario>, python: &Path) -> Vec<u64> {
    let all = scenarios.len();
    let waiting = Mutex::new(scenarios.into_iter().collect::<VecDeque<_>>());
    let results = Mutex::new(Results::default());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(all) {
            scope.spawn(|| {
                loop {
                    let next = waiting
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .pop_front();
                    let Some(scenario) = next else { return };
                    // On a thread of its own: a mount namespace belongs to it.
                    let one = std::thread::scope(|own| own.spawn(|| run(&scenario, python)).join());
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.take(&scenario, one.ok(), all);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&format!("\n{}", table(&results.entries)));
    results.failed
}

#[derive(Default)]
struct Results {
    entries: Vec<Entry>,
    failed: Vec<u64>,
    over: usize,
}

impl Results {
    fn take(&mut self, scenario: &Scenario, became: Option<Became>, all: usize) {
        self.over += 1;
        let seed = scenario.seed;
        let begin = format!("{}/{all} seed {seed}", self.over);
        match became {
            None => {
                self.failed.push(seed);
                say(&format!(
                    "{begin}: the harness failed; ./test --faults 1 --from {seed}"
                ));
            }
            Some(Became::Skipped(why)) => say(&format!("{begin}: skipped: {why}")),
            Some(Became::Ran {
                verdict,
                kills,
                left,
                kept,
            }) => {
                self.entries.push(Entry {
                    targets: scenario.targets(),
                    kills,
                    survived: verdict.findings.is_empty(),
                    steps_lost: verdict.steps_lost,
                    left,
                });
                let Some(kept) = kept else {
                    let lost = verdict.steps_lost;
                    say(&format!(
                        "{begin}: survived, {kills} killed, {lost} steps lost: {scenario}"
                    ));
                    return;
                };
                self.failed.push(seed);
                say(&format!("{begin}: FAILED: {scenario}"));
                for finding in &verdict.findings {
                    say(&format!("    {finding}"));
                }
                say(&format!(
                    "    kept in {}; again: ./test --faults 1 --from {seed}",
                    kept.display()
                ));
            }
        }
    }
}

/// Past the test runner's capture: a campaign takes long, and is followed.
fn say(line: &str) {
    let _heard = writeln!(std::io::stderr(), "{line}");
}
