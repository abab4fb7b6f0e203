//! The order in which Slurm takes nodes: the neighbours that fit best, and of those the one node that
//! does, where one is enough (`_eval_nodes` of its `select/cons_tres`).

use super::Attempt;
use crate::cluster::NodeId;
use crate::compiled::Form;
use std::ops::Range;

/// Neighbours of one weight that all could serve.
#[derive(Clone, Debug)]
struct Run {
    /// Among the sorted nodes.
    nodes: Range<usize>,
    weight: u32,
    cpus: u64,
}

/// What a job still needs.
#[derive(Clone, Copy, Debug)]
struct Rest {
    nodes: usize,
    cpus: u64,
}

impl Rest {
    fn is_met_by(self, run: &Run) -> bool {
        run.nodes.len() >= self.nodes && run.cpus >= self.cpus
    }

    fn is_met(self) -> bool {
        self.nodes == 0 && self.cpus == 0
    }

    fn less(self, cpus: u64) -> Rest {
        Rest {
            nodes: self.nodes.saturating_sub(1),
            cpus: self.cpus.saturating_sub(cpus),
        }
    }
}

impl Attempt<'_> {
    /// Nodes sorted by weight and name, in the order in which they are taken.
    pub(super) fn by_neighbours(&self, nodes: Vec<NodeId>) -> Vec<NodeId> {
        let mut rest = self.needed();
        let mut runs = self.runs(&nodes);
        let mut taken: Vec<NodeId> = Vec::with_capacity(nodes.len());
        while !rest.is_met() && !runs.is_empty() {
            let run = runs.swap_remove(best(&runs, rest));
            let of_run = &nodes[run.nodes];
            if rest.nodes <= 1
                && let Some(one) = self.tightest(of_run, rest.cpus)
            {
                taken.push(one);
                rest = rest.less(u64::MAX);
                taken.extend(of_run.iter().filter(|node| **node != one));
                continue;
            }
            for node in of_run {
                rest = rest.less(self.free_cpus(*node));
                taken.push(*node);
            }
        }
        // Those come into question where CPUs were not all that was needed.
        runs.sort_by_key(|run| run.nodes.start);
        taken.extend(runs.into_iter().flat_map(|run| &nodes[run.nodes]));
        taken
    }

    /// Nodes sorted by weight and name, those first that stand beside one that the job names: behind it,
    /// then before it from there down.
    pub(super) fn beside(&self, nodes: Vec<NodeId>, named: NodeId) -> Vec<NodeId> {
        let runs = self.runs(&nodes);
        let is_its = |run: &&Run| nodes[run.nodes.clone()].contains(&named);
        let Some(own) = runs.iter().find(is_its).map(|run| run.nodes.clone()) else {
            return nodes;
        };
        let (before, behind): (Vec<NodeId>, Vec<NodeId>) =
            nodes[own.clone()].iter().partition(|node| **node < named);
        let mut taken = behind;
        taken.extend(before.into_iter().rev());
        taken.extend(&nodes[..own.start]);
        taken.extend(&nodes[own.end..]);
        taken
    }

    /// CPUs of a node that the job could use: where its tasks need GPUs no more than those have tasks.
    fn free_cpus(&self, node: NodeId) -> u64 {
        let cpus = u64::from(self.free.amounts(node).cpus);
        let task = &self.compiled.demand.task;
        let free = self.free.gpus(node);
        let class = self.cluster.class(node);
        let gpus = task.gres.iter().filter(|gres| gres.is_gpus());
        let tasks = gpus.map(|gres| {
            let groups = class.gpus_called(gres.kind.as_deref());
            let there = groups.fold(0, |all, group| all | group.indices) & free;
            u64::from(there.count_ones()) / gres.count.max(1)
        });
        let of_tasks = tasks.min().map(|tasks| tasks * u64::from(task.cpus.max(1)));
        of_tasks.map_or(cpus, |most| most.min(cpus))
    }

    /// Nodes, and CPUs in all.
    fn needed(&self) -> Rest {
        let demand = &self.compiled.demand;
        let (nodes, tasks) = match self.compiled.form {
            Form::Alike { nodes, tasks } => (nodes, nodes.saturating_mul(tasks)),
            Form::Spanning => (demand.nodes.least, demand.tasks_on(demand.nodes.least)),
        };
        let of_tasks = u64::from(tasks) * u64::from(demand.task.cpus);
        let of_nodes = u64::from(nodes) * u64::from(demand.node.cpus);
        Rest {
            nodes: nodes as usize,
            cpus: of_tasks.max(of_nodes),
        }
    }

    fn runs(&self, nodes: &[NodeId]) -> Vec<Run> {
        let weight = |node: NodeId| self.cluster.class(node).weight;
        let together =
            |one: &NodeId, next: &NodeId| one.0 + 1 == next.0 && weight(*one) == weight(*next);
        let mut start = 0;
        let runs = nodes.chunk_by(together).map(|run| {
            let nodes = start..start + run.len();
            start = nodes.end;
            Run {
                nodes,
                weight: weight(run[0]),
                cpus: run.iter().map(|node| self.free_cpus(*node)).sum(),
            }
        });
        runs.collect()
    }

    /// The one node that has enough CPUs and the fewest of them free.
    fn tightest(&self, run: &[NodeId], cpus: u64) -> Option<NodeId> {
        let enough = run.iter().filter(|node| self.free_cpus(**node) >= cpus);
        enough.min_by_key(|node| self.free_cpus(**node)).copied()
    }
}

/// Of the lowest weight the run that is enough with the fewest CPUs, else the one with the most.
fn best(runs: &[Run], rest: Rest) -> usize {
    let key = |run: &Run| {
        let is_enough = rest.is_met_by(run);
        let cpus = if is_enough {
            run.cpus
        } else {
            u64::MAX - run.cpus
        };
        (run.weight, !is_enough, cpus, run.nodes.start)
    };
    let best = (0..runs.len()).min_by_key(|index| key(&runs[*index]));
    best.unwrap_or_default()
}
