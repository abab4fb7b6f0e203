//! How the steps of jobs ended, which only a few columns show.

use super::connection::CommandError;
use api::{Client, JobFilter};
use model::{JobId, JobInfo, JobRecord, JobState, Timestamp, WaitStatus};
use std::collections::HashMap;

/// The worst end of the steps of each job's last start.
#[derive(Default)]
pub struct StepEnds(HashMap<u32, WaitStatus>);

impl StepEnds {
    /// Enters that of a job.
    pub fn note(&self, job: &mut JobInfo) {
        job.derived_exit_code = self.0.get(&job.id).copied().unwrap_or_default();
    }
}

/// Those of jobs that have started; the others have no steps.
pub fn step_ends(jobs: &[JobRecord], client: &mut Client) -> Result<StepEnds, CommandError> {
    let has_started = |job: &&JobRecord| {
        !matches!(
            job.state,
            JobState::Pending { .. } | JobState::Ended { ran: None, .. }
        )
    };
    let ids: Vec<JobId> = jobs.iter().filter(has_started).map(|job| job.id).collect();
    if ids.is_empty() {
        return Ok(StepEnds::default());
    }
    let histories = client.histories(JobFilter {
        ids: Some(ids),
        ended_since: Some(Timestamp(0)),
        components: true,
        ..JobFilter::default()
    })?;
    let ends = histories.iter().map(|history| {
        let status = history.derived_status(history.job.restarts);
        (history.job.id.0, status)
    });
    Ok(StepEnds(ends.collect()))
}
