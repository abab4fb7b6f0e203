//! What a job needs in nodes, and the nodes that take no jobs.

use super::Amount;
use crate::kinds::{Choice, find};
use crate::{Job, State};
use model::{JobId, JobState, NodeMark, NodeName};
use resources::{NodeId, NodeSet};

/// How many nodes a job needs, beside what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodesNeeded {
    /// It needs at least so many.
    pub least: u32,
    /// On so many nodes that it could have its part of one node is free now; `None` where it is not known
    /// how large that is.
    pub with_room: Option<u32>,
    /// So many nodes it could have.
    pub there: u32,
}

/// Nodes that take no jobs, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfUse {
    /// Which.
    pub nodes: Vec<NodeName>,
    /// What was said of them.
    pub mark: NodeMark,
}

impl State {
    /// The nodes that a job needs, of those that it could have; `needs` is what it holds in all by the plan.
    pub(super) fn nodes_needed(
        &self,
        record: &Job,
        needs: Option<Amount>,
        could_have: &NodeSet,
    ) -> Option<NodesNeeded> {
        let choice = self.choices_of(record).first()?;
        let least = choice.least_nodes();
        let room = |needs: Amount| {
            let part = |all: u64| all.div_ceil(least.into());
            let has_room = |node: &NodeId| {
                let free = self.free_on(*node);
                let least = choice.need.compiled.least(self.cluster().class_id(*node));
                free.cpus >= part(needs.cpus)
                    && free.gpus >= part(needs.gpus)
                    && free.memory >= part(needs.memory)
                    && least.is_some_and(|least| self.free().amounts(*node).fits(least))
            };
            let up = self.free().up();
            let up = could_have.iter().filter(|node| up.contains(*node));
            u32::try_from(up.filter(has_room).count()).unwrap_or(u32::MAX)
        };
        // A machine that is split has as many nodes as are asked of it.
        let splits = |node: NodeId| self.cluster().class(node).splits;
        let there = if could_have.iter().any(splits) {
            could_have.len().max(least)
        } else {
            could_have.len()
        };
        Some(NodesNeeded {
            least,
            with_room: needs.map(room),
            there,
        })
    }

    /// The nodes that a job could have: of its partitions, with the names and features that it asks for, of classes
    /// with what it needs; all of its partitions' where there are none such.
    pub(super) fn could_have(&self, record: &Job) -> NodeSet {
        let mut all = NodeSet::default();
        for choice in self.choices_of(record) {
            let need = &choice.need.compiled;
            let serves = |node: &NodeId| need.least(self.cluster().class_id(*node)).is_some();
            let candidates = need.candidates();
            let demand = &need.demand;
            let named = demand
                .required
                .iter()
                .filter_map(|name| self.cluster().node(name));
            let named: Vec<NodeId> = named.collect();
            if named.len() as u64 >= u64::from(choice.least_nodes()) && !named.is_empty() {
                // It is on these.
                named.into_iter().for_each(|node| all.insert(node));
            } else {
                let served = candidates.iter().filter(serves);
                served.for_each(|node| all.insert(node));
            }
        }
        if all.is_empty() {
            return self.partition_nodes(record);
        }
        all
    }

    /// Whether a running job is on any of these nodes.
    pub(super) fn is_on(&self, job: JobId, nodes: &NodeSet) -> bool {
        let running = self.job(job).map(|job| &job.state);
        let Some(JobState::Running { allocation, .. }) = running else {
            return false;
        };
        let mut shares = allocation.nodes.iter();
        shares.any(|share| {
            let node = self.cluster().node(&share.node);
            node.is_some_and(|node| nodes.contains(node))
        })
    }

    /// Nodes of a job's partitions that take no jobs, those alone that it names where some of these do not;
    /// what was said of several at once stands once.
    pub(super) fn out_of_use(&self, record: &Job) -> Vec<OutOfUse> {
        let nodes = self.partition_nodes(record);
        let mut away: Vec<(&NodeName, &NodeMark)> = self
            .marks()
            .filter(|(_, mark)| !mark.takes_jobs())
            .filter(|(name, _)| {
                let node = self.cluster().node(name);
                node.is_some_and(|node| nodes.contains(node))
            })
            .collect();
        let named = self.choices_of(record).first();
        let named = named.map(|choice| choice.need.compiled.demand.required.clone());
        let is_named = |name: &NodeName| named.as_ref().is_some_and(|named| named.contains(name));
        if away.iter().any(|(name, _)| is_named(name)) {
            away.retain(|(name, _)| is_named(name));
        }
        together(away)
    }

    /// All nodes that take no jobs; what was said of several at once stands once.
    #[must_use]
    pub fn nodes_out_of_use(&self) -> Vec<OutOfUse> {
        together(
            self.marks()
                .filter(|(_, mark)| !mark.takes_jobs())
                .collect(),
        )
    }
    /// What a job would hold on an idle cluster.
    pub(super) fn needs_if_idle(&self, record: &Job) -> Option<Amount> {
        let choice = self.choices_of(record).first()?;
        let (need, idle) = (&choice.need.compiled, self.kinds.idle());
        let user = record.submitter.uid;
        let shares = find(&self.cluster, choice.partition, need, idle, user, None)?;
        Some(Amount::of_shares(&shares))
    }

    /// What is free on a node.
    pub(super) fn free_on(&self, node: NodeId) -> Amount {
        Amount {
            cpus: self.free().amounts(node).cpus.into(),
            gpus: self.free().gpus(node).count_ones().into(),
            memory: self.free().amounts(node).mem_mib.into(),
        }
    }

    fn partition_nodes(&self, record: &Job) -> NodeSet {
        let mut nodes = NodeSet::default();
        for choice in self.choices_of(record) {
            nodes.add(&self.cluster().partition(choice.partition).nodes);
        }
        nodes
    }

    pub(super) fn choices_of(&self, record: &Job) -> &[Choice] {
        let job = self.jobs.get(&record.id);
        job.map_or(&[], |job| &job.derived.choices)
    }
}

impl Choice {
    fn least_nodes(&self) -> u32 {
        self.need.compiled.demand.nodes.least.max(1)
    }
}

/// What was said of several nodes at once stands once.
fn together(away: Vec<(&NodeName, &NodeMark)>) -> Vec<OutOfUse> {
    let mut found: Vec<OutOfUse> = Vec::new();
    for (name, mark) in away {
        let same = |other: &&mut OutOfUse| {
            let other = &other.mark;
            (other.word(), &other.user, &other.reason) == (mark.word(), &mark.user, &mark.reason)
        };
        match found.iter_mut().find(same) {
            Some(other) => other.nodes.push(name.clone()),
            None => found.push(OutOfUse {
                nodes: vec![name.clone()],
                mark: mark.clone(),
            }),
        }
    }
    found
}
