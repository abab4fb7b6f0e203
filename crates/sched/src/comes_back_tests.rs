//! Who lost its place comes back as its mode has it: what is queued again waits, what is cancelled has ended,
//! and what was stopped goes on once the others are gone.

use crate::{Event, State};
use model::{Ending, JobId, JobState, Outcome, Timestamp};

/// Looks at all that lost their places and are still there.
pub(super) fn check_comes_back(state: &State, now: Timestamp) {
    let running: Vec<JobId> = state.running().map(|job| job.id).collect();
    for id in running {
        check_queued_again(state, id, now);
    }
    check_goes_on(state, now);
}

/// Its grace time is over, and it ends.
fn check_queued_again(state: &State, id: JobId, now: Timestamp) {
    let record = state.job(id).unwrap();
    let JobState::Running {
        ending: Some(Ending::Preempted { requeue, grace, .. }),
        ..
    } = &record.state
    else {
        return;
    };
    let (requeue, restarts) = (*requeue, record.restarts);
    let at = grace.map_or(now, |grace| grace.max(now));
    let mut later = state.clone();
    later.schedule(at);
    let outcome = Outcome::Completed;
    later.apply(Event::Gone {
        job: id,
        outcome,
        at,
    });
    let after = later.job(id);
    let waits = after.is_some_and(|job| matches!(job.state, JobState::Pending { .. }));
    let again = after.is_some_and(|job| job.restarts == restarts + 1);
    assert!(
        waits == requeue && again == requeue,
        "comes back: {id} lost its place, queued again: {requeue}, and is {after:?}"
    );
}

/// All that wait are cancelled and all that run end: those that were stopped go on, one after the other where
/// they were stopped for each other.
fn check_goes_on(state: &State, now: Timestamp) {
    let mut later = state.clone();
    let mut stopped = later.stopped();
    if stopped.is_empty() {
        return;
    }
    let waits: Vec<JobId> = later
        .live()
        .filter(|job| matches!(job.state, JobState::Pending { .. }))
        .map(|job| job.id)
        .collect();
    for job in waits {
        let (by, at) = (0, now);
        later.apply(Event::CancelledWaiting { job, by, at });
    }
    while !stopped.is_empty() {
        let others = later.running().map(|job| job.id);
        let others: Vec<JobId> = others.filter(|id| !stopped.contains(id)).collect();
        for job in others {
            let (outcome, at) = (Outcome::Completed, now);
            later.apply(Event::Gone { job, outcome, at });
        }
        // Those that were queued again are not what the stopped wait for.
        let again: Vec<JobId> = later
            .live()
            .filter(|job| matches!(job.state, JobState::Pending { .. }))
            .map(|job| job.id)
            .collect();
        for job in again {
            let (by, at) = (0, now);
            later.apply(Event::CancelledWaiting { job, by, at });
        }
        later.schedule(now);
        let left = later.stopped();
        assert!(
            left.len() < stopped.len(),
            "comes back: {left:?} are stopped for good"
        );
        stopped = left;
    }
}
