//! CPUs or GPUs of this machine that engines of other users, or other processes, hold: what the locks on
//! both have alike.

use super::Owner;
use model::{JobState, NodeShare, Timestamp};
use std::collections::BTreeSet;

/// Those that others held when a job last wanted some.
#[derive(Debug, Default)]
pub(crate) struct Barred {
    all: BTreeSet<u32>,
    next_look: Option<Timestamp>,
}

impl Barred {
    /// Those that others hold now; where there are any, they are looked at again after a while.
    pub(super) fn set(&mut self, all: BTreeSet<u32>, now: Timestamp, look_after_ms: i64) {
        let again = Timestamp(now.0 + look_after_ms);
        self.next_look = (!all.is_empty()).then_some(again);
        self.all = all;
    }

    pub(super) fn all(&self) -> &BTreeSet<u32> {
        &self.all
    }

    /// When to look whether they are free again.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        self.next_look
    }

    /// The clock was set.
    pub(super) fn shift(&mut self, by_ms: i64) {
        if let Some(moment) = &mut self.next_look {
            super::clock::shift(moment, by_ms);
        }
    }
}

impl Owner {
    /// What running jobs have of a machine: its CPUs or its GPUs, by number.
    pub(super) fn in_use(&self, of: impl Fn(&NodeShare) -> &[u32]) -> BTreeSet<u32> {
        let shares = self.state.running().flat_map(|job| match &job.state {
            JobState::Running { allocation, .. } => &allocation.nodes[..],
            JobState::Pending { .. } | JobState::Ended { .. } => &[],
        });
        shares.flat_map(|share| of(share).iter().copied()).collect()
    }
}
