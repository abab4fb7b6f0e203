//! `sbatch --wait`: until every element of the job has ended.

use super::connection::Trouble;
use api::{Client, JobFilter};
use model::{ArrayTask, JobId, JobRecord, JobState, Outcome, Timestamp};
use std::time::Duration;

/// Longest wait for one change; then it is asked again.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for the end of the job, or of all elements of the array. Its exit status is the highest
/// exit code of theirs; 1 stands for a death by signal.
pub fn wait(client: &mut Client, job: JobId) -> Result<u8, Trouble> {
    let filter = JobFilter {
        ids: Some(vec![job]),
        ended_since: Some(Timestamp(0)),
        ..JobFilter::default()
    };
    let mut version = 0;
    loop {
        // Looked at after every change: elements are split off while they start.
        let records = client.jobs(filter.clone())?;
        if let Some(status) = all_ended(&records) {
            return Ok(status);
        }
        version = client.watch(filter.clone(), version, PATIENCE)?.version;
    }
}

fn all_ended(records: &[JobRecord]) -> Option<u8> {
    let mut worst = 0;
    for record in records {
        match &record.state {
            JobState::Ended { outcome, .. } => worst = worst.max(status(outcome)),
            JobState::Pending { .. } | JobState::Running { .. } if !is_empty(record) => {
                return None;
            }
            JobState::Pending { .. } | JobState::Running { .. } => {}
        }
    }
    Some(worst)
}

/// A row of elements that wait, of which none is left.
fn is_empty(record: &JobRecord) -> bool {
    record.array.as_ref().is_some_and(
        |place| matches!(&place.task, ArrayTask::Waiting(spec) if spec.indices.is_empty()),
    )
}

fn status(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Completed | Outcome::NodeFail => 0,
        Outcome::Failed { status }
        | Outcome::Cancelled { status, .. }
        | Outcome::Timeout { status } => {
            if status.signal_number() == 0 {
                status.code()
            } else {
                1
            }
        }
        Outcome::OutOfMemory | Outcome::LaunchFailed { .. } => 1,
    }
}
