//! An environment that a job of its own makes before the run's first one.

use super::EnvironmentError;
use super::requirements;
use crate::Waiter;
use folder::{RunFolder, RunJson};
use std::fs;
use train::Python;

/// What a failed one begins its last words with.
pub(crate) const FAILED: &str = "error: ";

/// Makes what was left to this job; returns whether it was not there yet. `waiter` hears each line that
/// the makers print.
///
/// # Errors
/// It can't be made; see [`EnvironmentError`].
pub fn make_left(json: &RunJson, waiter: &mut dyn Waiter) -> Result<bool, EnvironmentError> {
    let plan = &json.plan.environment;
    match (&plan.python.value, &json.environment) {
        (Python::Requirements(file), Some(environment)) if environment.to_make.is_some() => {
            requirements::make_found(file, &plan.modules.value, environment, waiter)
        }
        _ => Ok(false),
    }
}

/// Why the environment or the image isn't there that such a job was to make; `None` where it is, or where
/// none was left to a job.
#[must_use]
pub fn why_not_made(run: &RunFolder, json: &RunJson) -> Option<String> {
    let what = json.left_to_make()?;
    let log = run.environment_log();
    let text = fs::read(&log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let said = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(FAILED));
    Some(match said {
        Some(said) => format!("the {what} could not be made: {said}"),
        None => format!(
            "the job that makes the {what} ended before it was made; its output is in {}",
            log.display()
        ),
    })
}
