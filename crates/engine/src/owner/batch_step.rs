//! The step of a batch script, which follows from its job's row: it is written only where the job
//! had other steps, since then the row alone doesn't tell when it ended and what it used.

use crate::outcome;
use crate::store::StepRow;
use model::{JobRecord, JobState, NodeShare, StepId, StepRecord, StepState};

/// The batch step of a job that has one and was started.
pub(super) fn of(record: &JobRecord) -> Option<StepRow> {
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
        },
        holds: Vec::new(),
        token: String::new(),
    })
}
