//! Jobs that were stopped for others go on once their CPUs are free: before those that wait, but for
//! those that may take their places.

use super::rules::{self, Claimant};
use crate::fault::{self, Fault};
use crate::{Action, State};
use model::{JobId, JobState, Timestamp};
use resources::NodeSet;
use std::cmp::Reverse;

impl State {
    /// Jobs that others stopped, those that are worth most first.
    pub(crate) fn stopped(&self) -> Vec<JobId> {
        if !rules::is_on(&self.cluster) {
            return Vec::new();
        }
        let running = self.running.iter().copied();
        let mut stopped: Vec<JobId> = running.filter(|id| self.is_stopped(*id)).collect();
        stopped.sort_by_key(|id| {
            let job = &self.jobs[id];
            (Reverse(rules::worth(&self.cluster, job)), *id)
        });
        stopped
    }

    fn is_stopped(&self, id: JobId) -> bool {
        let JobState::Running {
            ending: None,
            suspension: Some(suspension),
            ..
        } = &self.jobs[&id].record.state
        else {
            return false;
        };
        suspension.is_now && suspension.is_preempted
    }

    /// Whether a job that waits may take the place of one that is stopped.
    pub(crate) fn goes_before(&self, claimant: Option<Claimant>, stopped: JobId) -> bool {
        let holder = rules::holder(&self.cluster, &self.jobs[&stopped].record);
        claimant.is_some_and(|one| rules::takes_from(&self.cluster, one, holder))
    }

    /// Lets a stopped job go on if its CPUs are free.
    pub(crate) fn go_on(&mut self, id: JobId, now: Timestamp) -> Option<Action> {
        if !self.is_stopped(id) || fault::is(Fault::StoppedForGood) {
            return None;
        }
        let job = &self.jobs[&id];
        let kept = job.derived.holding.as_ref()?;
        let mut free = self.held.free.clone();
        kept.give_to(&self.cluster, &mut free);
        let shares = job.counted_shares(&self.cluster)?;
        // Those who came meanwhile may want their nodes for themselves.
        let may_go_on = shares.iter().all(|share| {
            free.has(share, kept.sharing) && free.is_open(share.node, kept.sharing, kept.user)
        });
        if !may_go_on {
            return None;
        }
        self.suspend(id, false, false, now);
        Some(Action::Resume(id))
    }

    /// The nodes of stopped jobs that a job may not take before those go on.
    pub(crate) fn kept_for_stopped(&self, stopped: &[JobId], claimant: Claimant) -> NodeSet {
        let mut kept = NodeSet::default();
        for id in stopped {
            if !self.goes_before(Some(claimant), *id) && self.is_stopped(*id) {
                let holding = self.jobs[id].derived.holding.iter();
                for share in holding.flat_map(|holding| &holding.shares) {
                    kept.insert(share.node);
                }
            }
        }
        kept
    }
}
