//! Running jobs whose processes are stopped for a while.

use crate::State;
use model::{JobId, JobState, Suspension, Timestamp};

impl State {
    /// Notes that the steps of a running job that isn't being ended were sent SIGSTOP, or SIGCONT after it. It is as it
    /// was but for its name; a suspended one stays that, and as in Slurm neither outlasts a suspension.
    pub(crate) fn note_stop(&mut self, id: JobId, is_stopped: bool, at: Timestamp) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let is_as_said =
            job.record.state.is_stopped() == is_stopped || job.record.state.is_suspended();
        let JobState::Running {
            ending: None,
            suspension,
            ..
        } = &mut job.record.state
        else {
            return;
        };
        if is_as_said {
            return;
        }
        match suspension {
            Some(suspension) => suspension.is_stopped = is_stopped,
            None => {
                *suspension = Some(Box::new(Suspension {
                    is_now: false,
                    at,
                    before_ms: 0,
                    is_preempted: false,
                    is_stopped,
                }));
            }
        }
        self.touch(id);
    }

    /// Suspends a running job that isn't being ended, or resumes it.
    /// `is_preempted`: for another job, until its CPUs are free again.
    pub(crate) fn suspend(&mut self, id: JobId, is_now: bool, is_preempted: bool, at: Timestamp) {
        let record = self.jobs.get(&id).map(|job| &job.record);
        let former_end = record.and_then(|record| self.ends_at_the_latest(record));
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let was = job.record.state.is_suspended();
        let JobState::Running {
            allocation,
            ending: None,
            suspension,
            end_moved_ms,
            ..
        } = &mut job.record.state
        else {
            return;
        };
        if was == is_now {
            return;
        }
        let before_ms = suspension.as_ref().map_or(0, |it| it.until(at));
        *suspension = Some(Box::new(Suspension {
            is_now,
            at,
            before_ms,
            is_preempted,
            is_stopped: false,
        }));
        if !is_now {
            // Slurm works its end out anew from its limit.
            *end_moved_ms = 0;
        }
        self.left_free.forget();
        let former = job.derived.holding.take();
        if let (Some(holding), false) = (former, self.held.is_overdrawn) {
            self.held.give(&self.cluster, &holding, allocation);
        }
        self.held.hold_anew(&self.cluster, job);
        if let Some(end) = former_end {
            self.expiries.remove(&(end, id));
        }
        self.expect_end(id);
        // Under limits it counts with all that it had, to another end.
        let job = &self.jobs[&id];
        if let Some(shares) = job.counted_shares(&self.cluster) {
            self.ledger.started(&self.cluster, &job.record, &shares);
        }
        self.touch(id);
        // Others may have its CPUs by now.
        if self.held.is_overdrawn {
            self.recount();
        }
    }
}
