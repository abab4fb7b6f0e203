//! Why a job would wait that is not submitted yet.

use super::Why;
use crate::{Event, Finished, Job, State};
use model::{JobState, PendingReason, Timestamp};

/// All of the state is copied for it: with more jobs that takes too long to be done for whoever asks.
const MOST_JOBS: usize = 5_000;

impl State {
    /// Why a job would wait if it were submitted now, its dependencies settled by those that have ended; none where
    /// it would start, or where it takes too much work to say. Nothing changes.
    #[must_use]
    pub fn why_if_submitted(
        &self,
        record: Job,
        history: Vec<Finished>,
        now: Timestamp,
    ) -> Option<Why> {
        if !self.is_pass_short() || self.waiting_count() + self.running_count() > MOST_JOBS {
            return None;
        }
        let id = record.id;
        let mut with_it = self.clone();
        with_it.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history,
            at: now,
        });
        with_it.schedule(now);
        // The elements of an array that start leave its row: with one of them it starts.
        let starts = with_it.running().any(|job| {
            job.id == id
                || job
                    .array
                    .as_ref()
                    .is_some_and(|place| place.array_job == id)
        });
        if starts {
            return None;
        }
        // One that the pass did not come to is not known to wait for anything.
        let is_tried = |job: &Job| !matches!(&job.state, JobState::Pending { reason } if *reason == PendingReason::None);
        with_it.job(id).filter(|job| is_tried(job))?;
        with_it.why(id, now)
    }
}
