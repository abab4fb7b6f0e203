//! Running jobs that go on without some of their nodes.

use crate::State;
use model::{Allocation, JobId, JobState, NodeName, Timestamp};

impl State {
    /// Takes nodes from a running job that has others and isn't being ended. What it used there so far
    /// is settled now, since the job's end counts only what it holds then.
    pub(crate) fn shrink(&mut self, id: JobId, nodes: &[NodeName], at: Timestamp) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let JobState::Running {
            allocation,
            ending: None,
            ..
        } = &mut job.record.state
        else {
            return;
        };
        let held = allocation.nodes.iter().cloned();
        let (gone, left): (Vec<_>, Vec<_>) = held.partition(|share| nodes.contains(&share.node));
        if gone.is_empty() || left.is_empty() {
            return;
        }
        self.left_free.forget();
        if let (Some(holding), false) = (job.derived.holding.take(), self.held.is_overdrawn) {
            self.held.give(&self.cluster, &holding, allocation);
        }
        *allocation = Allocation { nodes: gone };
        job.hold_anew(&self.cluster);
        if self.cluster.priority().is_multifactor {
            self.priorities.settle(&self.cluster, &job.record, at);
        }
        self.keep_spent(id, false, at);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if let JobState::Running { allocation, .. } = &mut job.record.state {
            *allocation = Allocation { nodes: left };
        }
        job.record.rare.resized = Some(at);
        self.held.hold_anew(&self.cluster, job);
        if let Some(shares) = job.counted_shares(&self.cluster) {
            self.ledger.started(&self.cluster, &job.record, &shares);
        }
        self.touch(id);
        if self.held.is_overdrawn {
            self.recount();
        }
    }
}
