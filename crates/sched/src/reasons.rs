//! Why jobs that a pass did not start wait.

use crate::State;
use crate::fault::{self, Fault};
use crate::kinds::{Choice, find};
use crate::pass::Pass;
use model::{JobId, NodeName, PendingReason, Timestamp};
use resources::{NodeId, NodeSet};
use std::collections::{BTreeMap, BTreeSet};

impl State {
    /// Whether the nodes of its partition that are up, and not kept for others, are too few for a job,
    /// or not those that it names.
    pub(crate) fn too_few_nodes(&self, choice: &Choice, kept: &NodeSet) -> bool {
        let mut nodes = self.cluster.partition(choice.partition).nodes.clone();
        nodes.keep(self.held.free.up());
        nodes.drop_all(kept);
        let demand = &choice.need.compiled.demand;
        let named = demand.required.iter();
        let mut named = named.filter_map(|name| self.cluster.node(name));
        nodes.iter().count() < demand.nodes.least as usize
            || named.any(|node| !nodes.contains(node))
    }

    /// Why a job waits that is the first to find no place, where that isn't for others to end.
    pub(crate) fn why_first(&self, choice: &Choice, pass: &Pass) -> Option<PendingReason> {
        let named = choice.need.compiled.demand.required.iter();
        let named = named.filter_map(|name| self.cluster.node(name));
        let kept = named.filter(|node| pass.named.contains(*node));
        let kept: Vec<&NodeName> = kept.map(|node| self.cluster.node_name(node)).collect();
        if !kept.is_empty() {
            return Some(PendingReason::NodesUnavailable(model::node_list::fold(
                kept,
            )));
        }
        if self.too_few_nodes(choice, &pass.withdrawn) {
            return Some(self.unavailable(choice, PendingReason::NodesDownOrReserved));
        }
        let all = &self.cluster.partition(choice.partition).nodes;
        let lacks = self.lacks_nodes(choice);
        lacks.then(|| self.nodes_that_are_down(all.iter()))
    }

    /// Whether the nodes of its partition that are up would not do for a job, were they idle, though
    /// with those that are down they would.
    pub(crate) fn lacks_nodes(&self, choice: &Choice) -> bool {
        let mut down = self.cluster.partition(choice.partition).nodes.clone();
        down.drop_all(self.held.free.up());
        if down.is_empty() || !choice.need.is_possible {
            return false;
        }
        let compiled = &choice.need.compiled;
        let (cluster, idle) = (&self.cluster, self.kinds.idle());
        find(cluster, choice.partition, compiled, idle, 0, Some(&down)).is_none()
    }

    /// Why a job waits for nodes: those that it names, where they are down, else `other`.
    pub(crate) fn unavailable(&self, choice: &Choice, other: PendingReason) -> PendingReason {
        let named = choice.need.compiled.demand.required.iter();
        let named = named.filter_map(|name| self.cluster.node(name));
        match self.nodes_that_are_down(named) {
            PendingReason::NodesUnavailable(nodes) if nodes.is_empty() => other,
            reason => reason,
        }
    }

    pub(crate) fn nodes_that_are_down(&self, nodes: impl Iterator<Item = NodeId>) -> PendingReason {
        let down = nodes.filter(|node| !self.held.free.up().contains(*node));
        let down = down.map(|node| self.cluster.node_name(node));
        PendingReason::NodesUnavailable(model::node_list::fold(down))
    }

    /// Says of each job why it did not start, where that is not what was said before; what was said of
    /// one that a pass did not look at stays, unless it looked at `all`.
    pub(crate) fn note_reasons(&mut self, mut pass: Pass, all: bool, now: Timestamp) {
        let promises = pass.promises.take();
        if all {
            self.keep_left_free(&pass, promises.as_ref(), now);
        }
        if promises.is_some() || !fault::is(Fault::StalePlan) {
            self.plan = promises.map(|promises| promises.plan).unwrap_or_default();
        }
        // One that waited in one of its partitions may have started in another.
        let waits = |job: &JobId| self.is_queued(*job);
        let mut tried: BTreeMap<JobId, JobId> = BTreeMap::new();
        for job in pass.blocked.values().copied().filter(waits) {
            tried.insert(job, job);
            for element in self.elements_beside(job) {
                tried.entry(element).or_insert(job);
            }
        }
        tried.retain(|job, tried| job == tried || !pass.limited.contains_key(job));
        let first: BTreeSet<JobId> = tried.keys().copied().collect();
        let limited: BTreeSet<JobId> = pass.limited.keys().copied().filter(waits).collect();
        let former = std::mem::replace(&mut self.first, first.clone());
        let mut formerly_limited = std::mem::replace(&mut self.limited, limited);
        if !all {
            self.limited.append(&mut formerly_limited);
        }
        for (job, tried) in tried {
            let reason = pass.unavailable.get(&tried).cloned();
            self.set_reason_of_all(job, &reason.unwrap_or(PendingReason::Resources));
        }
        // Another job comes first now.
        let unseen = std::mem::take(&mut self.unseen);
        for job in former.iter().chain(&formerly_limited).chain(&unseen) {
            let is_said = pass.limited.contains_key(job) || (!all && self.limited.contains(job));
            if self.is_queued(*job) && !first.contains(job) && !is_said {
                self.set_reason_of_all(*job, &PendingReason::Priority);
            }
        }
        for (job, reason) in pass.limited {
            if !first.contains(&job) {
                self.set_reason_of_all(job, &reason);
            }
        }
    }

    /// Other rows of a job's array that are queued: Slurm tries one element of an array, and says the same of
    /// all.
    fn elements_beside(&self, job: JobId) -> Vec<JobId> {
        let array = self.jobs[&job].array_job().map(|id| &self.arrays[&id]);
        // Mostly one row waits.
        let array = array.filter(|array| array.rows.len() > array.running as usize + 1);
        let rows = array.into_iter().flat_map(|array| &array.rows).copied();
        rows.filter(|row| *row != job && self.is_queued(*row))
            .collect()
    }
}
