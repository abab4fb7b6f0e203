//! On which nodes a job would be, given what is free.

mod deal;
mod evaluate;
mod evaluate_switches;
mod gpus;
mod prospect;
mod split;
mod switches;

pub(crate) use spread::greatest;
mod spread;

use crate::cluster::{Cluster, NodeClass, NodeId};
use crate::compiled::{Compiled, Form, amounts};
use crate::demand::Sharing;
use crate::feature_choices::Choice;
use crate::{Amounts, Free, NodeSet, Share, SocketCpus};
use std::cmp::Reverse;

/// Which of the nodes that could serve are taken, and for whom.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pick<'a> {
    /// The order in which nodes are taken.
    pub order: Order,
    /// Whose job it is: nodes of other users' private jobs are closed.
    pub user: u32,
    /// Nodes that are not given, whatever is free: reserved or promised.
    pub without: Option<&'a NodeSet>,
    /// Nodes that are taken as if their weight were greater by one.
    pub later: Option<&'a NodeSet>,
    /// It is not given nodes behind more switches than it asks for.
    pub few_switches: bool,
}

/// The order in which nodes are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As Slurm takes them: low weight first, then the neighbours or the one node that fit best.
    #[default]
    Named,
    /// Fewest free GPUs first, then fewest free CPUs: large holes stay.
    Pack,
    /// Most free GPUs first where the job needs some, then most free CPUs: the fewest nodes.
    Largest,
    /// The greatest share of a node's CPUs that is free first (`LLN`; `_eval_nodes_lln` of 22.05's `job_test.c`).
    LeastLoaded,
}

/// Finds nodes for a job, and changes nothing.
///
/// The shares stand in the order that ranks follow. Tasks are dealt in blocks: one to each node,
/// then each node in turn is filled. On a node that splits they are spread evenly.
///
/// On an idle cluster (with [`Free::idle`]) `None` is "never". For jobs that need so many alike
/// nodes the answer is exact; of those that are spread over nodes with a greatest number of them
/// first the nodes in order are tried, then the richest.
#[must_use]
pub fn place(
    cluster: &Cluster,
    compiled: &Compiled,
    free: &Free,
    pick: Pick<'_>,
) -> Option<Vec<Share>> {
    if !compiled.of_types.is_empty() {
        let mut each = compiled.of_types.iter();
        return each.find_map(|of_type| place(cluster, of_type, free, pick));
    }
    let required = compiled.required.as_deref()?;
    let attempt = |apart, is_bound| {
        let attempt = Attempt {
            cluster,
            compiled,
            free,
            pick,
            apart,
            is_bound,
        };
        let mut choices = compiled.choices.iter();
        choices.find_map(|choice| attempt.within(choice, required))
    };
    let demand = &compiled.demand;
    match demand.sharing {
        // CPUs of its own go before those that it shares.
        Sharing::Over(_) => attempt(true, false).or_else(|| attempt(false, false)),
        Sharing::Whole => attempt(false, false),
        // As in Slurm, CPUs near the GPUs go before others, on whichever nodes.
        Sharing::Any | Sharing::Beside(_) | Sharing::Forced | Sharing::User
            if cluster.knows_gpu_sockets() && demand.gpus_on(1) > 0 =>
        {
            let bound = attempt(false, true);
            bound.or_else(|| attempt(false, false).filter(|_| !demand.enforce_binding))
        }
        Sharing::Any | Sharing::Beside(_) | Sharing::Forced | Sharing::User => {
            attempt(false, false)
        }
    }
}

/// One attempt to place a job.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    cluster: &'a Cluster,
    compiled: &'a Compiled,
    free: &'a Free,
    pick: Pick<'a>,
    /// On CPUs that no other job has, though it would share them.
    apart: bool,
    /// Its CPUs and GPUs come from the same sockets.
    is_bound: bool,
}

impl Attempt<'_> {
    fn sharing(&self) -> Sharing {
        self.compiled.demand.sharing
    }

    fn within(&self, choice: &Choice, required: &[NodeId]) -> Option<Vec<Share>> {
        let demand = &self.compiled.demand;
        let mut nodes = choice.nodes.clone();
        nodes.keep(self.free.up());
        if let Some(without) = self.pick.without {
            nodes.drop_all(without);
        }
        if demand.sharing == Sharing::Whole {
            nodes.keep(self.free.idle_nodes());
        }
        let gpus = demand.node.gpus().max(demand.gpus_on(1).min(1));
        self.free.keep_with_gpus(&mut nodes, gpus);
        if required.iter().any(|node| !nodes.contains(*node)) {
            return None;
        }
        if let Some(shares) = self.on_one_that_splits(&nodes) {
            return Some(shares);
        }
        let could = |node: &NodeId| !self.cluster.class(*node).splits && self.serves(*node);
        let nodes: Vec<NodeId> = nodes.iter().filter(could).collect();
        if !required.iter().all(|node| nodes.contains(node)) {
            return None;
        }
        if !demand.contiguous {
            if demand.spread || self.cluster.switches().is_empty() {
                return self.among(nodes, required, &choice.groups);
            }
            return self.behind_switches(nodes, required, &choice.groups);
        }
        let runs = nodes.chunk_by(|one, next| one.0 + 1 == next.0);
        let with_all = |run: &&[NodeId]| required.iter().all(|node| run.contains(node));
        let mut runs = runs.filter(with_all);
        runs.find_map(|run| self.among(run.to_vec(), required, &choice.groups))
    }

    /// Whether a node has the least that one must give.
    fn serves(&self, node: NodeId) -> bool {
        let least = self.compiled.least(self.cluster.class_id(node));
        least.is_some_and(|least| self.gives(node, least))
    }

    /// Whether a node has so much.
    fn gives(&self, node: NodeId, need: &Amounts) -> bool {
        let Some(need) = &self.with_cpus_of_sockets(node, *need) else {
            return false;
        };
        let sharing = self.sharing();
        let of_cpus = if self.apart { Sharing::Any } else { sharing };
        let cap = self.compiled.demand.cpu_cap;
        self.free.is_open(node, sharing, self.pick.user)
            && cap.is_none_or(|cap| need.cpus <= self.free.left_under(node, cap))
            && self.free.fits(node, need, of_cpus)
            && self.has_gpus(node, need)
            && self.sockets(node, need).is_some()
    }

    /// From which sockets of a node so many CPUs come; none where the job asks for more of its sockets
    /// than is free.
    fn sockets(&self, node: NodeId, need: &Amounts) -> Option<SocketCpus> {
        let cpus = need.cpus;
        let class = self.cluster.class(node);
        let is_shared = matches!(self.sharing(), Sharing::Over(_));
        let threads = class.sockets.map(|there| there.threads);
        let (Some(threads), false) = (
            threads.filter(|_| class.cpus_of_socket().is_some()),
            is_shared,
        ) else {
            return Some(SocketCpus::default());
        };
        let free = self.free.sockets(node);
        let sockets = self.sockets_of_gpus(node, need)?;
        if !sockets.is_empty() {
            let each = match sockets.len() {
                1 => 0,
                _ => class.core_cpus.max(1),
            };
            return free.deal_over(&sockets, each, cpus);
        }
        let demand = &self.compiled.demand;
        match demand.sockets.as_deref() {
            Some(need) if demand.sharing != Sharing::Whole => {
                // In whole cores, where those are given.
                let each = demand.task.cpus.max(class.core_cpus).max(1);
                self.cpus_by_socket(class, free.usable(need, threads, each)?, cpus)
            }
            // Jobs that share their CPUs with others may leave fewer of a socket than of the node.
            _ => {
                let mut near = self.near_gpus(node, class, *free);
                let near = near.find_map(|near| self.cpus_by_socket(class, near, cpus));
                let any = || self.cpus_by_socket(class, *free, cpus);
                Some(near.or_else(any).unwrap_or_default())
            }
        }
    }

    /// CPUs of free ones by socket. As in Slurm, where cores are given the tasks of one CPU each take
    /// them of one socket after the other.
    fn cpus_by_socket(&self, class: &NodeClass, free: SocketCpus, cpus: u32) -> Option<SocketCpus> {
        if class.core_cpus > 1 && self.compiled.demand.task.cpus <= 1 {
            free.deal_in_turn(cpus, class.core_cpus)
        } else {
            free.deal(cpus)
        }
    }

    /// Takes of nodes that all could serve as many as are needed.
    fn among(
        &self,
        nodes: Vec<NodeId>,
        required: &[NodeId],
        groups: &[(NodeSet, u32)],
    ) -> Option<Vec<Share>> {
        let shares = self.evaluated(&nodes, required, groups);
        shares.or_else(|| self.sorted(nodes, required, groups))
    }

    /// The same as Slurm does it, where its order is asked and nothing that it counts otherwise.
    fn evaluated(
        &self,
        nodes: &[NodeId],
        required: &[NodeId],
        groups: &[(NodeSet, u32)],
    ) -> Option<Vec<Share>> {
        let is_plain = groups.is_empty() && !self.compiled.demand.spread;
        if self.pick.order != Order::Named || !is_plain {
            return None;
        }
        self.of_chosen(&self.evaluate(nodes, required)?)
    }

    /// The same in the order of what is asked alone.
    fn sorted(
        &self,
        mut nodes: Vec<NodeId>,
        required: &[NodeId],
        groups: &[(NodeSet, u32)],
    ) -> Option<Vec<Share>> {
        self.sort(&mut nodes);
        self.in_order(nodes, required, groups)
    }

    /// The same of nodes that stand in the order in which they are taken.
    fn in_order(
        &self,
        mut nodes: Vec<NodeId>,
        required: &[NodeId],
        groups: &[(NodeSet, u32)],
    ) -> Option<Vec<Share>> {
        self.put_first(&mut nodes, required, groups)?;
        match self.compiled.form {
            Form::Alike {
                nodes: count,
                tasks,
            } => {
                let asked: usize = groups.iter().map(|(_, count)| *count as usize).sum();
                let count = (count as usize).max(required.len()).max(asked);
                if count > nodes.len() || count > self.compiled.most_nodes() as usize {
                    return None;
                }
                nodes.truncate(count);
                let gres = self.compiled.demand.job.gres.iter();
                let of_job: Vec<u64> = gres.map(|gres| gres.count).collect();
                nodes.sort_unstable();
                let shares = nodes
                    .into_iter()
                    .map(|node| self.share(node, tasks, &of_job));
                shares.collect()
            }
            Form::Spanning => self.spread(&nodes, required.len(), groups),
        }
    }

    fn weight(&self, node: NodeId) -> u32 {
        let is_later = self.pick.later.is_some_and(|later| later.contains(node));
        let own = self.cluster.class(node).weight;
        own.saturating_add(u32::from(is_later))
    }

    fn sort(&self, nodes: &mut [NodeId]) {
        let free = |node: &NodeId| self.free.amounts(*node);
        let weight = |node: &NodeId| self.weight(*node);
        match self.pick.order {
            Order::Named => nodes.sort_by_key(|node| (weight(node), *node)),
            Order::Pack => nodes.sort_by_key(|node| {
                let gpus = self.free.gpus(*node).count_ones();
                (weight(node), gpus, free(node).cpus, *node)
            }),
            Order::Largest => {
                let has_gpus = self.compiled.demand.gpus_on(1) > 0;
                nodes.sort_by_key(|node| {
                    let gpus = if has_gpus { free(node).lane(0) } else { 0 };
                    (weight(node), Reverse(gpus), Reverse(free(node).cpus), *node)
                });
            }
            Order::LeastLoaded => nodes.sort_by(|one, other| {
                let total = |node: &NodeId| u64::from(self.cluster.class(*node).total.cpus);
                let part = |node, of| u64::from(free(node).cpus) * total(of);
                let by_weight = weight(one).cmp(&weight(other));
                let by_part = part(other, one).cmp(&part(one, other));
                by_weight.then(by_part).then(one.cmp(other))
            }),
        }
    }

    /// Puts first the nodes that must be among the job's: named ones, then so many of each group.
    fn put_first(
        &self,
        nodes: &mut Vec<NodeId>,
        required: &[NodeId],
        groups: &[(NodeSet, u32)],
    ) -> Option<()> {
        if required.is_empty() && groups.is_empty() {
            return Some(());
        }
        let mut first: Vec<NodeId> = required.to_vec();
        for (group, count) in groups {
            let of_it = nodes.iter().filter(|node| group.contains(**node));
            let new = of_it.filter(|node| !first.contains(node)).copied();
            let new: Vec<NodeId> = new.take(*count as usize).collect();
            if new.len() < *count as usize {
                return None;
            }
            first.extend(new);
        }
        let is_first: NodeSet = first.iter().copied().collect();
        nodes.retain(|node| !is_first.contains(*node));
        first.append(nodes);
        *nodes = first;
        Some(())
    }

    /// A share of a node with the tasks and what of the whole job's resources it gives.
    fn share(&self, node: NodeId, tasks: u32, of_job: &[u64]) -> Option<Share> {
        let class = self.cluster.class(node);
        let need = amounts(&self.compiled.demand, class, tasks, of_job)?;
        let need = self.with_cpus_of_sockets(node, need)?;
        if !self.gives(node, &need) {
            return None;
        }
        let share = self.with_gpus(node, tasks, need, self.free.gpus(node))?;
        let sockets = self.sockets(node, &share.amounts)?;
        Some(Share { sockets, ..share })
    }
}

#[cfg(test)]
mod switches_tests;
#[cfg(test)]
mod tests;
