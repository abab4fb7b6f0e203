//! `sbatch --wait`: until every element of the job has ended.

use super::connection::CommandError;
use api::{Client, JobFilter};
use model::{JobId, JobState, Outcome};
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest wait for one change; then it is asked again.
const PATIENCE: Duration = Duration::from_secs(30);

/// An array's elements end in crowds: what comes within this time is taken together.
const CROWD: Duration = Duration::from_millis(10);

/// Waits for the end of the job, or of all elements of the array. Its exit status is the highest
/// exit code of theirs; 1 stands for a death by signal. `None`: there is no such job.
pub fn wait(client: &mut Client, job: JobId) -> Result<Option<u8>, CommandError> {
    let filter = JobFilter::of(&[job]);
    // Each row's exit status once it ended. Elements are split off while they start, in the same
    // change as the row that they leave, so that no moment shows fewer than there are.
    let mut rows: BTreeMap<JobId, Option<u8>> = BTreeMap::new();
    let mut version = 0;
    let mut patience = Duration::ZERO;
    loop {
        let watched = client.watch(filter.clone(), version, patience)?;
        version = watched.version;
        for record in &watched.jobs {
            rows.insert(record.id, status(&record.state));
        }
        if rows.is_empty() {
            return Ok(None);
        }
        if let Some(worst) = rows
            .values()
            .copied()
            .try_fold(0, |worst, row| Some(row?.max(worst)))
        {
            return Ok(Some(worst));
        }
        if rows.len() > 1 {
            std::thread::sleep(CROWD);
        }
        patience = PATIENCE;
    }
}

/// The exit status of a row that ended.
fn status(state: &JobState) -> Option<u8> {
    let JobState::Ended { outcome, .. } = state else {
        return None;
    };
    Some(match outcome {
        Outcome::Completed => 0,
        Outcome::Failed { status }
        | Outcome::Cancelled { status, .. }
        | Outcome::Timeout { status }
        | Outcome::Preempted { status } => match status.signal_number() {
            0 => status.code(),
            _ => 1,
        },
        Outcome::NodeFail
        | Outcome::ScriptLost
        | Outcome::OutOfMemory
        | Outcome::Deadline
        | Outcome::LaunchFailed { .. } => 1,
    })
}
