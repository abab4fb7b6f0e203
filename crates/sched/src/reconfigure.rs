//! The cluster changes under its jobs.

use crate::held::Held;
use crate::kinds::Kinds;
use crate::ledger::{InQueue, Ledger};
use crate::live_job::{LiveJob, Place};
use crate::{ClusterRef, Job, State};
use model::{JobId, JobState, NodeMark, NodeName, PendingReason, Timestamp};
use resources::{Cluster, Share};
use std::borrow::Cow;
use std::sync::Arc;

impl State {
    /// Goes on with another cluster: nothing that runs or waits is lost. A job that runs on a node
    /// which is no longer there holds nothing of the new cluster.
    pub(crate) fn reconfigure(&mut self, cluster: Arc<Cluster>, at: Timestamp) {
        let ids: Vec<JobId> = self.jobs.keys().copied().collect();
        let waiting: Vec<JobId> = ids
            .iter()
            .copied()
            .filter(|id| self.jobs[id].is_pending())
            .collect();
        for id in &waiting {
            // Of the cluster before: a pass gives the reason where it fits now.
            if self.jobs[id].derived.place == Place::Impossible {
                self.set_reason(*id, PendingReason::None);
            }
            self.unfile(*id);
        }
        // Their partitions may let jobs run longer, or less long.
        let running: Vec<JobId> = self.running.iter().copied().collect();
        running.iter().for_each(|id| self.forget_expiry(*id));
        self.cluster = ClusterRef(cluster);
        running.iter().for_each(|id| self.expect_end(*id));
        self.kinds = Kinds::new(&self.cluster);
        self.reservations.on_cluster(&self.cluster);
        for id in ids {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.on_cluster(&self.cluster, &mut self.kinds);
            }
        }
        self.recount();
        self.in_queue = InQueue::count(&self.cluster, self.jobs.values());
        self.count_accruals_anew();
        self.priorities.forget();
        self.plan_usage_reset(at);
        for id in waiting {
            self.refile(id, at);
        }
        // What the former cluster gave does not count.
        self.work_out_first_priorities(at);
    }

    /// Counts anew what is free, from what running jobs hold.
    pub(crate) fn recount(&mut self) {
        self.held = Held::new(&self.cluster, self.held.numbers());
        for (node, mark) in &self.marks {
            if let Some(node) = self.cluster.node(node) {
                self.held.set_up(&self.cluster, node, mark.takes_jobs());
            }
        }
        self.bar_gpus();
        self.bar_cpus();
        let running = self
            .jobs
            .values()
            .filter(|job: &&LiveJob| !job.is_pending());
        for job in running {
            if let (JobState::Running { allocation, .. }, Some(holding)) =
                (&job.record.state, &job.derived.holding)
            {
                self.held.hold(&self.cluster, holding, allocation);
            }
        }
        let running = self.running_shares();
        self.ledger = Ledger::count(&self.cluster, running);
    }

    /// Running jobs with what they hold.
    pub(crate) fn running_shares(&self) -> impl Iterator<Item = (&Job, Cow<'_, [Share]>)> {
        let running = self.jobs.values().filter(|job| !job.is_pending());
        running.filter_map(|job| Some((&job.record, job.counted_shares(&self.cluster)?)))
    }

    /// GPUs of this machine that others use are not given.
    pub(crate) fn bar_gpus(&mut self) {
        if let Some(node) = self.one_node() {
            let bits = self.barred.iter().filter(|gpu| **gpu < 64);
            let bits = bits.fold(0, |all, gpu| all | 1 << gpu);
            self.held.free.bar_gpus(&self.cluster, node, bits);
        }
    }

    /// CPUs of this machine that jobs of others have are not given.
    pub(crate) fn bar_cpus(&mut self) {
        if let Some(node) = self.one_node() {
            self.held.bar_cpus(&self.cluster, node, &self.barred_cpus);
        }
    }

    pub(crate) fn mark_node(&mut self, node: NodeName, mark: NodeMark) {
        let Some(id) = self.cluster.node(&node) else {
            return;
        };
        let node = self.cluster.node_name(id).clone();
        self.held.set_up(&self.cluster, id, mark.takes_jobs());
        self.marked.insert(node.clone());
        // One that takes jobs may still have a reason.
        if mark == NodeMark::default() {
            self.marks.remove(&node);
        } else {
            self.marks.insert(node, mark);
        }
    }
}

#[cfg(test)]
#[path = "changed_cluster_tests.rs"]
mod tests;
