//! One job, written as tests of the store write it.

use super::{Batch, NewStart, NewSubmission, Store};
use crate::owner::Clock;
use model::{JobId, PendingReason, StartedBy};
use sched::Job;
use std::collections::BTreeMap;

/// Writes a job, with what was submitted the first time; it may have just started then.
pub(super) fn write_one(store: &mut Store, submission: Option<&NewSubmission>, job: &Job) {
    let clock = Clock::of(store).expect("a store has a clock");
    let start = NewStart {
        reason: PendingReason::None,
        by: StartedBy::Main,
    };
    let started = submission.map(|_| (job.id, start));
    let started: BTreeMap<JobId, NewStart> = started.into_iter().collect();
    let batch = Batch {
        durable: false,
        next_id: 9,
        clock: &clock,
        jobs: vec![job],
        steps: Vec::new(),
        submissions: submission.into_iter().collect(),
        started: &started,
        ended_starts: &[],
        former_sizes: &[],
        clock_set_by_ms: 0,
        nodes: Vec::new(),
        events: Vec::new(),
        reservations: Vec::new(),
        updated: &[],
        usage: &[],
        spent: &[],
    };
    store.write(&batch).expect("a store can be written");
}
