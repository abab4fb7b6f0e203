//! How a job comes back whose run folder can't be used at all: nothing is written in it.

use super::{Allocation, ConductorError, in_words, steps};
use folder::{FOLDER_REFUSED, LOST_IN_A_ROW, RunFolder};
use model::Timestamp;
use std::io::{self, Write as _};
use std::path::Path;
use sys::disk_errors;
use train::ResumeBy;

/// Has the job come back where a disk that takes nothing for a while ended its conductor. A job that
/// waits to take over does so by itself.
pub fn or_come_back(
    folder: &Path,
    result: Result<u8, ConductorError>,
) -> Result<u8, ConductorError> {
    let error = match result {
        Err(error) if disk_errors::may_pass(&error) => error,
        result => return result,
    };
    let Ok((run, json)) = RunFolder::open(folder) else {
        return Err(error);
    };
    let resume = &json.plan.resume;
    if resume.on.value.is_empty() || resume.by.value != ResumeBy::Requeue {
        return Err(error);
    }
    let variable = |name: &str| std::env::var(name).ok();
    let (granularity, now) = (json.facts.time_granularity, Timestamp(sys::now()));
    let allocation = Allocation::read(&variable, &json.plan, granularity, now)?;
    let attempts = run.attempts().unwrap_or_default();
    let said = attempts
        .iter()
        .filter(|attempt| attempt.job == allocation.attempt.job);
    let silent = (u64::from(allocation.attempt.restart) + 1).saturating_sub(said.count() as u64);
    // The only place that is left for it, beside the exit code.
    if silent >= u64::from(LOST_IN_A_ROW) {
        let _ = writeln!(io::stderr(), "{}", in_words(&error));
        return Ok(FOLDER_REFUSED);
    }
    let _ = writeln!(io::stderr(), "{}; the job is requeued", in_words(&error));
    match steps::requeue(&allocation.requeue_name) {
        Ok(()) => Ok(0),
        Err(_) => Err(error),
    }
}
