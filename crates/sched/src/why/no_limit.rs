//! Jobs without a time limit, of which it is not known when they end.

use super::Planned;
use crate::State;
use crate::expected_ends::UNLIMITED;
use model::{JobId, JobState, Timestamp};

impl State {
    /// A job without a time limit that has to end before a planned start: one that runs, else one of those
    /// ahead where the start lies behind all that such a job is taken to last.
    pub(super) fn without_limit(
        &self,
        planned: &Planned,
        ahead: &[JobId],
        now: Timestamp,
    ) -> Option<JobId> {
        let running = planned.ended.iter().rev().copied().find(|job| {
            let record = self.job(*job);
            record.is_some_and(|record| runs_without_limit(&record.state))
        });
        let comes_late = planned.start.at >= now + UNLIMITED;
        let waiting = ahead.iter().copied().filter(|_| comes_late).find(|job| {
            let job = self.jobs.get(job);
            job.and_then(|job| Some((job, job.derived.choices.first()?)))
                .is_some_and(|(job, choice)| self.limit_of(job, choice).is_none())
        });
        running.or(waiting)
    }
}

/// Whether a job runs and has no time limit.
pub(crate) fn runs_without_limit(state: &JobState) -> bool {
    matches!(state, JobState::Running { limit: None, .. })
}
