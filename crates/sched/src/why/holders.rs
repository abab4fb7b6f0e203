//! Jobs that hold what another waits for, and what becomes of them.

use super::Amount;
use crate::State;
use model::{ArrayTask, Ending, JobId, JobState, Timestamp};

/// A job that holds what another waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Which.
    pub job: JobId,
    /// Its array and its place there, of an element.
    pub element: Option<(JobId, u32)>,
    /// Whose.
    pub user: String,
    /// What it holds.
    pub holds: Amount,
    /// When its limit is over; none has no limit, or is suspended.
    pub until: Option<Timestamp>,
    /// It is suspended, and its time stands still.
    pub is_suspended: bool,
    /// It loses its place to another job.
    pub preempted: Option<Preempted>,
}

/// What becomes of a job that is preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preempted {
    /// When its grace time is over; none: it is being ended.
    pub grace: Option<Timestamp>,
    /// It is queued again then.
    pub comes_back: bool,
}

/// An array that runs as many elements as it may at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// Which.
    pub array: JobId,
    /// So many at a time.
    pub most: u32,
    /// The element that starts next; none where that takes too much work to say.
    pub next: Option<u32>,
}

impl State {
    /// What a running job holds that others wait for.
    pub(super) fn holder(&self, job: JobId) -> Option<Holder> {
        let record = self.job(job)?;
        let JobState::Running {
            allocation, ending, ..
        } = &record.state
        else {
            return None;
        };
        let element = record.array.as_ref().and_then(|place| match place.task {
            ArrayTask::One(task) => Some((place.array_job, task)),
            ArrayTask::Waiting(_) => None,
        });
        let preempted = match ending {
            Some(Ending::Preempted { requeue, grace, .. }) => Some(Preempted {
                grace: *grace,
                comes_back: *requeue,
            }),
            Some(Ending::End(_) | Ending::Requeue { .. }) | None => None,
        };
        Some(Holder {
            job,
            element,
            user: record.submitter.user.clone(),
            holds: Amount::of(allocation),
            until: record.state.limit_ends(),
            is_suspended: record.state.is_suspended(),
            preempted,
        })
    }

    /// Running elements of a job's array, those that end first at first.
    pub(super) fn running_elements(&self, array_job: JobId) -> Vec<JobId> {
        let rows = self.rows_of_array(array_job);
        let running = rows.filter(|row| matches!(row.state, JobState::Running { .. }));
        let mut elements: Vec<JobId> = running.map(|row| row.id).collect();
        self.sort_by_end(&mut elements);
        elements
    }

    /// Puts running jobs in the order in which their limits are over.
    pub(super) fn sort_by_end(&self, jobs: &mut [JobId]) {
        jobs.sort_by_key(|id| {
            let end = self.job(*id).and_then(|job| job.state.limit_ends());
            (end.is_none(), end, *id)
        });
    }
}
