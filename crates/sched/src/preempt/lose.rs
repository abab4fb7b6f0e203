//! What a job does that loses its place: it ends, is queued again, or stops for a while.

use super::rules;
use crate::{Action, State};
use cluster_file::PreemptMode;
use model::{Ending, JobId, JobState, Seconds, Timestamp};

impl State {
    /// What becomes of a running job whose place is taken: what its QOS or partition says, else the
    /// cluster.
    #[must_use]
    pub fn preempt_mode(&self, job: JobId) -> Option<PreemptMode> {
        let record = &self.jobs.get(&job)?.record;
        Some(self.or_cancel(job, rules::mode_of(&self.cluster, record)))
    }

    /// One that can't be queued again ends.
    fn or_cancel(&self, job: JobId, mode: PreemptMode) -> PreemptMode {
        match mode {
            PreemptMode::Requeue if !self.may_requeue(job) => PreemptMode::Cancel,
            mode => mode,
        }
    }

    /// Takes a running job's place: what is to be done about it.
    pub fn lose_place(&mut self, id: JobId, mode: PreemptMode, now: Timestamp) -> Option<Action> {
        self.lose_place_within(id, mode, None, now)
    }

    /// The same; how long it may end by itself is up to its partition or QOS where that is not said.
    pub(crate) fn lose_place_within(
        &mut self,
        id: JobId,
        mode: PreemptMode,
        grace: Option<Seconds>,
        now: Timestamp,
    ) -> Option<Action> {
        let record = &self.jobs.get(&id)?.record;
        if !matches!(record.state, JobState::Running { ending: None, .. }) {
            return None;
        }
        let requeue = match self.or_cancel(id, mode) {
            PreemptMode::Off => return None,
            PreemptMode::Suspend if record.state.is_suspended() => return None,
            PreemptMode::Suspend => {
                self.suspend(id, true, true, now);
                return Some(Action::Suspend(id));
            }
            PreemptMode::Cancel => false,
            PreemptMode::Requeue => true,
        };
        let until = now + grace.unwrap_or_else(|| rules::grace_of(&self.cluster, record));
        // No job runs longer for it.
        let until = record
            .state
            .limit_ends()
            .map_or(until, |end| end.min(until));
        let grace = (until > now).then_some(until);
        self.ending(
            id,
            Ending::Preempted {
                requeue,
                grace,
                at: now,
            },
        );
        if let Some(until) = grace {
            self.expiries.insert((until, id));
        }
        Some(Action::Preempt(id))
    }

    /// The time of a job is over: its grace time, or its limit.
    pub(crate) fn time_is_over(&mut self, id: JobId) -> Action {
        let job = self.jobs.get_mut(&id);
        if let Some(JobState::Running {
            ending: Some(Ending::Preempted { grace, .. }),
            ..
        }) = job.map(|job| &mut job.record.state)
        {
            *grace = None;
            self.touch(id);
            return Action::Preempt(id);
        }
        Action::Expire(id)
    }

    /// Ends the wait for a running job's time to be over.
    pub(crate) fn forget_expiry(&mut self, id: JobId) {
        let Some(record) = self.jobs.get(&id).map(|job| &job.record) else {
            return;
        };
        let ends = [self.ends_at_the_latest(record), grace_of(&record.state)];
        for end in ends.into_iter().flatten() {
            self.expiries.remove(&(end, id));
        }
    }

    /// Waits for a running job's time to be over.
    pub(crate) fn expect_end(&mut self, id: JobId) {
        let Some(record) = self.jobs.get(&id).map(|job| &job.record) else {
            return;
        };
        let ends = [self.expiry(record), grace_of(&record.state)];
        for end in ends.into_iter().flatten() {
            self.expiries.insert((end, id));
        }
    }
}

/// The end of a job's grace time.
pub(crate) fn grace_of(state: &JobState) -> Option<Timestamp> {
    match state {
        JobState::Running {
            ending: Some(Ending::Preempted { grace, .. }),
            ..
        } => *grace,
        _ => None,
    }
}
