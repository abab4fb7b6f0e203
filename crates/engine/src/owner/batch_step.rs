//! The step of a batch script, which follows from its job's row: it is written only where the job
//! had other steps, since then the row alone doesn't tell when it ended and what it used.

use crate::outcome;
use crate::store::StepRow;
use model::{JobId, JobStart, JobState, JobStateName, NodeShare, StepId, StepRecord, StepState};
use sched::Job;

/// The batch step of a job that has one and was started.
pub(super) fn of(record: &Job) -> Option<StepRow> {
    let (since, allocation, state) = match &record.state {
        JobState::Running {
            since, allocation, ..
        } => (*since, allocation, StepState::Running),
        JobState::Ended { outcome, at, ran } => {
            let ran = ran.as_ref()?;
            let status = outcome::batch_status(outcome);
            let state = StepState::Ended {
                at: *at,
                status,
                timed_out: matches!(outcome, model::Outcome::Timeout { .. }),
            };
            (ran.since, &ran.allocation, state)
        }
        JobState::Pending { .. } => return None,
    };
    let first = allocation.nodes.first().filter(|_share| record.batch)?;
    let share = NodeShare {
        tasks: 1,
        ..first.clone()
    };
    Some(StepRow {
        record: StepRecord {
            job: record.id,
            restart: record.restarts,
            step: StepId::Batch,
            name: "batch".to_owned(),
            nodes: vec![share],
            since,
            state,
            usage: None,
            tasks_usage: None,
            cancelled_by: None,
            submit_line: None,
            srun: None,
        },
        holds: Vec::new(),
        token: String::new(),
    })
}

/// Starts without regard to sizes that they had one after the other: each with its first nodes and its end.
pub(super) fn whole_starts(parts: &[JobStart]) -> Vec<JobStart> {
    let of_start = parts.chunk_by(|a, b| a.restart == b.restart);
    let whole = of_start.filter_map(|parts| {
        let (first, last) = (parts.first()?, parts.last()?);
        Some(JobStart {
            since: first.since,
            nodes: first.nodes.clone(),
            ..last.clone()
        })
    });
    whole.collect()
}

/// The batch step of a start, where `steps` of the job have no row of it: then it had no other step.
pub(super) fn of_start(job: JobId, start: &JobStart, steps: &[StepRecord]) -> Option<StepRecord> {
    let mut of_start = steps.iter().filter(|step| step.restart == start.restart);
    if of_start.any(|step| step.step == StepId::Batch) {
        return None;
    }
    let first = start.nodes.first()?;
    Some(StepRecord {
        job,
        restart: start.restart,
        step: StepId::Batch,
        name: "batch".to_owned(),
        nodes: vec![NodeShare {
            tasks: 1,
            ..first.clone()
        }],
        since: start.since,
        state: match start.ended {
            None => StepState::Running,
            Some(at) => StepState::Ended {
                at,
                status: start.status,
                timed_out: start.state == JobStateName::Timeout,
            },
        },
        usage: start.usage,
        tasks_usage: None,
        cancelled_by: None,
        submit_line: None,
        srun: None,
    })
}
