//! A job for tests.

use super::{ArrayPlace, ArrayTask, JobRecord, JobStanding, JobState, PendingReason, Submitter};
use crate::requests::Request;
use crate::values::{JobId, Timestamp};
use std::sync::Arc;

/// Job 45 of Dave, which waits; of array 42 where it is one of an array.
pub(crate) fn job(request: Request, task: Option<ArrayTask>) -> JobRecord {
    let standing = JobStanding {
        id: JobId(45),
        array: task.map(|task| ArrayPlace {
            array_job: JobId(42),
            task,
            throttle: None,
        }),
        restarts: 0,
        prolog: None,
        partition: None,
        not_before: None,
        dependency: None,
        state: JobState::Pending {
            reason: PendingReason::None,
        },
        submitted: Timestamp(0),
        eligible: None,
        accrues: None,
        is_age_limited: false,
        limit_by_rules: None,
        resized: None,
        planned: None,
        priority: 0,
        reservation: request.rare.reservation.clone(),
        batch: true,
    };
    JobRecord {
        submitter: Arc::new(Submitter {
            uid: 1000,
            gid: 100,
            user: "dave".to_owned(),
            group: "users".to_owned(),
            host: "login".to_owned(),
            command: None,
        }),
        request: Arc::new(request),
        standing,
    }
}
