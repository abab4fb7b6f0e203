//! Waiting for a condition, and saying that a test was skipped.

use std::io::Write;
use std::time::{Duration, Instant};

/// Longer than anything waited for takes on a busy machine; only a failure takes that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until the condition holds. In a test that has failed, whose places are being removed, it gives
/// up without a word: a second panic would end all tests of the program.
///
/// # Panics
/// When it doesn't within two minutes, with `what` was waited for.
#[track_caller]
pub fn wait_until(what: &str, holds: impl FnMut() -> bool) {
    assert!(
        holds_within(PATIENCE, holds) || std::thread::panicking(),
        "waited {PATIENCE:?} until {what}"
    );
}

/// Whether the condition holds before that time is over.
pub(crate) fn holds_within(longest: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    // Short at first, because most conditions hold within milliseconds.
    let mut pause = Duration::from_millis(1);
    while !holds() {
        if began.elapsed() >= longest {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
    true
}

/// Says on standard error that a test was skipped and why, past the test runner's capture.
pub fn skip(test: &str, reason: &str) {
    // The print macros would be captured and dropped with a passing test's output.
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
}
