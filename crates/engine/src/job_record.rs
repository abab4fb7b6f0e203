//! The record of a job, from which clients print and environments are made.

use model::{JobRecord, JobStanding, JobState, PlannedStart};
use sched::Job;
use std::sync::Arc;

/// The record of a job, whose start may be planned.
pub(crate) fn record_of(job: &Job, planned: Option<PlannedStart>) -> JobRecord {
    // One that runs keeps its own, to have it again once it is released.
    let is_held = matches!(&job.state, JobState::Running { held: Some(_), .. });
    let standing = JobStanding {
        id: job.id,
        array: job.array.as_deref().cloned(),
        partition: job.partition.as_deref().map(str::to_owned),
        not_before: job.rare.not_before,
        dependency: job.dependency.as_ref().map(|it| it.conditions_text()),
        state: job.state.clone(),
        submitted: job.submitted,
        eligible: job.eligible,
        accrues: job.rare.accrues,
        is_age_limited: false,
        limit_by_rules: None,
        resized: job.rare.resized,
        planned,
        priority: if is_held { 0 } else { job.priority },
        reservation: job.rare.reservation.as_deref().map(str::to_owned),
        restarts: job.restarts,
        batch: job.batch,
        prolog: None,
    };
    JobRecord {
        submitter: Arc::clone(&job.submitter),
        request: Arc::clone(&job.request),
        standing,
    }
}
