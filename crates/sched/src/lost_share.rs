//! Running jobs that go on without one of their nodes.

use crate::State;
use model::{Allocation, JobId, JobState, NodeName, Timestamp};

impl State {
    /// Takes a node from a running job that has others and isn't being ended. What it used there so far
    /// is settled now, since the job's end counts only what it holds then.
    pub(crate) fn lose_share(&mut self, id: JobId, node: &NodeName, at: Timestamp) {
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
        let is_lost = |share: &&model::NodeShare| share.node == *node;
        let Some(lost) = allocation.nodes.iter().find(is_lost).cloned() else {
            return;
        };
        if allocation.nodes.len() == 1 {
            return;
        }
        self.left_free.forget();
        if let (Some(holding), false) = (job.derived.holding.take(), self.held.is_overdrawn) {
            self.held.give(&self.cluster, &holding, allocation);
        }
        let only_lost = Allocation { nodes: vec![lost] };
        let mut kept = std::mem::replace(allocation, only_lost);
        kept.nodes.retain(|share| share.node != *node);
        job.hold_anew(&self.cluster);
        if self.cluster.priority().is_multifactor {
            self.priorities.settle(&self.cluster, &job.record, at);
        }
        self.keep_spent(id, false, at);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if let JobState::Running { allocation, .. } = &mut job.record.state {
            *allocation = kept;
        }
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
