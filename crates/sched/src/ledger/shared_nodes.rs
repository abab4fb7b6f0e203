//! Nodes as limits on several jobs count them (`node=` of `GrpTRES`, `MaxTRESPerUser`, `MaxTRESPerAccount`): one
//! that several of the jobs have counts once (`_get_unique_job_node_cnt` of 22.05's `acct_policy.c`).

use super::chain::Counter;
use super::{Chain, Ledger};
use resources::{Cluster, Limits, NodeId, NodeSet, Share};
use std::collections::{BTreeMap, BTreeSet};

/// How many jobs have each node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JobsOfNodes(BTreeMap<NodeId, u32>);

impl JobsOfNodes {
    /// A job comes to these nodes.
    pub(super) fn add(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            *self.0.entry(*node).or_default() += 1;
        }
    }

    /// A job leaves these nodes.
    pub(super) fn take(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            if let Some(jobs) = self.0.get_mut(node) {
                *jobs -= 1;
                if *jobs == 0 {
                    self.0.remove(node);
                }
            }
        }
    }
}

/// The nodes of a job, each once, where limits of the cluster count them.
pub(super) fn nodes_of(cluster: &Cluster, shares: &[Share]) -> Vec<NodeId> {
    if !cluster.limits_shared_nodes() {
        return Vec::new();
    }
    let nodes: BTreeSet<NodeId> = shares.iter().map(|share| share.node).collect();
    nodes.into_iter().collect()
}

impl Ledger {
    fn shared(&self, counter: &Counter) -> Option<&BTreeMap<NodeId, u32>> {
        self.held.get(counter).map(|held| &held.nodes.0)
    }

    /// On how many nodes jobs under a counter are, and how many more a job with these shares would add.
    pub(super) fn shared_nodes(&self, counter: &Counter, shares: &[Share]) -> (u64, u64) {
        let held = self.shared(counter);
        let nodes: BTreeSet<NodeId> = shares.iter().map(|share| share.node).collect();
        let is_new = |node: &&NodeId| held.is_none_or(|held| !held.contains_key(*node));
        let new = nodes.iter().filter(is_new).count();
        (held.map_or(0, BTreeMap::len) as u64, new as u64)
    }

    /// Nodes that a job takes after others of their weight: those on which it counts anew under a limit on
    /// nodes of a group, where others of their kind have jobs that count there already (`_find_grp_node_bitmap` of 22.05's
    /// `node_scheduler.c`).
    pub(crate) fn later_nodes(&self, chain: &Chain<'_>) -> Option<NodeSet> {
        let cluster = chain.cluster;
        if !cluster.limits_shared_nodes() {
            return None;
        }
        let held = self.shared(&chain.counter_of_nodes()?)?;
        let preferred: NodeSet = held.keys().copied().collect();
        let classes = preferred.iter().map(|node| cluster.class_id(node));
        let classes: BTreeSet<_> = classes.collect();
        let all = cluster.nodes_of(None);
        let others = all.iter().filter(|node| !preferred.contains(*node));
        let later = others.filter(|node| classes.contains(&cluster.class_id(*node)));
        let later: NodeSet = later.collect();
        (!later.is_empty()).then_some(later)
    }
}

impl Chain<'_> {
    /// Where nodes of groups are counted and limited: of the first QOS that says so, else of the first level of
    /// accounts.
    fn counter_of_nodes(&self) -> Option<Counter> {
        let says = |limits: &Limits| limits.group.tres.0.iter().any(|(name, _)| name == "node");
        let mut qos = self.qos_limits();
        let of_qos = qos.find(|(_, limits)| says(limits));
        let of_level = || self.association_limits().find(|(_, limits)| says(limits));
        let of_qos = of_qos.map(|(qos, _)| Counter::Qos(qos));
        of_qos.or_else(|| of_level().map(|(counter, _)| counter))
    }
}
