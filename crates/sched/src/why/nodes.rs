//! What a job needs in nodes, and the nodes that take no jobs.

use super::Amount;
use crate::kinds::{Choice, find};
use crate::{Job, State};
use model::{NodeMark, NodeName};
use resources::{NodeId, NodeSet};

/// How many nodes a job needs, beside what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodesNeeded {
    /// It needs at least so many.
    pub least: u32,
    /// On so many nodes of its partitions its part of one node is free now; `None` where it is not known
    /// how large that is.
    pub with_room: Option<u32>,
    /// So many nodes its partitions have.
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
    /// The nodes that a job needs; `needs` is what it holds in all by the plan.
    pub(super) fn nodes_needed(&self, record: &Job, needs: Option<Amount>) -> Option<NodesNeeded> {
        let least = self.choices_of(record).first()?.least_nodes();
        let nodes = self.partition_nodes(record);
        let room = |needs: Amount| {
            let part = Amount {
                gpus: needs.gpus.div_ceil(least.into()),
                cpus: needs.cpus.div_ceil(least.into()),
            };
            let has_room = |node: &NodeId| {
                let free = self.free_on(*node);
                free.cpus >= part.cpus && free.gpus >= part.gpus
            };
            let up = nodes.iter().filter(|node| self.free().up().contains(*node));
            u32::try_from(up.filter(has_room).count()).unwrap_or(u32::MAX)
        };
        Some(NodesNeeded {
            least,
            with_room: needs.map(room),
            there: nodes.len(),
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
        let mut found: Vec<OutOfUse> = Vec::new();
        for (name, mark) in away {
            let same = |other: &&mut OutOfUse| {
                let other = &other.mark;
                (other.word(), &other.user, &other.reason)
                    == (mark.word(), &mark.user, &mark.reason)
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
        }
    }

    fn partition_nodes(&self, record: &Job) -> NodeSet {
        let mut nodes = NodeSet::default();
        for choice in self.choices_of(record) {
            nodes.add(&self.cluster().partition(choice.partition).nodes);
        }
        nodes
    }

    fn choices_of(&self, record: &Job) -> &[Choice] {
        let job = self.jobs.get(&record.id);
        job.map_or(&[], |job| &job.derived.choices)
    }
}

impl Choice {
    fn least_nodes(&self) -> u32 {
        self.need.compiled.demand.nodes.least.max(1)
    }
}
