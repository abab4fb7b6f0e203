//! Jobs on a node that splits: its virtual nodes share all that it has.

use super::Attempt;
use crate::cluster::NodeId;
use crate::compiled::amounts;
use crate::demand::Sharing;
use crate::{Amounts, NodeSet, Share};

impl Attempt<'_> {
    /// A place on the first of the nodes that split and has enough for all of the job.
    pub(super) fn on_one_that_splits(&self, nodes: &NodeSet) -> Option<Vec<Share>> {
        let splits = |node: &NodeId| self.cluster.class(*node).splits;
        nodes
            .iter()
            .filter(splits)
            .find_map(|node| self.split(node))
    }

    fn split(&self, node: NodeId) -> Option<Vec<Share>> {
        let need = self.needs_of_splits(node)?;
        let sharing = self.sharing();
        if !self.free.is_open(node, sharing, self.pick.user) {
            return None;
        }
        let mut all = Amounts::default();
        need.iter().for_each(|(_, need)| all.give(need));
        let summed = need
            .iter()
            .map(|(_, need)| u64::from(need.mem_mib))
            .sum::<u64>();
        if summed > u64::from(u32::MAX) || !self.free.fits(node, &all, sharing) {
            return None;
        }
        let mut free = self.free.gpus(node);
        let shares = need.into_iter().map(|(tasks, need)| {
            let share = self.with_gpus(node, tasks, need, free)?;
            free &= !share.gpus;
            Some(share)
        });
        shares.collect()
    }

    /// Tasks and amounts of each virtual node.
    fn needs_of_splits(&self, node: NodeId) -> Option<Vec<(u32, Amounts)>> {
        let class = self.cluster.class(node);
        let demand = &self.compiled.demand;
        let names = self
            .cluster
            .split_names(node, demand, demand.fewest_nodes())?;
        let count = u32::try_from(names.len()).ok()?;
        let needs = demand.on_virtual_nodes(count, class.total.cpus, class.total.mem_mib.into());
        // The whole of a node is shared out, where the demand would give each all of it.
        let lanes_of = crate::Demand {
            sharing: Sharing::Any,
            ..demand.clone()
        };
        let each = needs.into_iter().map(|need| {
            if !demand.job.gres.is_empty() && need.of_job.contains(&0) {
                return None;
            }
            let lanes = amounts(&lanes_of, class, need.tasks, &need.of_job)?;
            let cpus = u32::try_from(need.cpus).ok()?;
            let amounts = lanes
                .with_cpus(cpus)
                .with_mem(u32::try_from(need.mem_mib).ok()?);
            Some((need.tasks, amounts))
        });
        each.collect()
    }
}
