//! Jobs on a node that splits: its virtual nodes share all that it has.

use super::Attempt;
use crate::cluster::{NodeClass, NodeId, UNBOUNDED};
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
        let class = self.cluster.class(node);
        let need = self.needs_of_splits(class)?;
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

    /// Tasks and amounts of each virtual node, spread evenly, the first ones getting one more.
    fn needs_of_splits(&self, class: &NodeClass) -> Option<Vec<(u32, Amounts)>> {
        let demand = &self.compiled.demand;
        let named = u32::try_from(self.compiled.virtual_required.len()).ok()?;
        let excluded = u32::try_from(self.compiled.virtual_excluded.len()).ok()?;
        let count = demand.fewest_nodes().max(named);
        // Each virtual node has a CPU.
        if count > class.total.cpus.saturating_sub(excluded) {
            return None;
        }
        let tasks = even(demand.tasks_on(count).into(), count);
        let gres: Vec<Vec<u64>> = demand
            .job
            .gres
            .iter()
            .map(|gres| even(gres.count, count))
            .collect();
        if gres.iter().flatten().any(|given| *given == 0) {
            return None;
        }
        // The whole of a node is shared out, where the demand would give each all of it.
        let of_share = crate::Demand {
            sharing: match demand.sharing {
                Sharing::Whole => Sharing::Any,
                other => other,
            },
            all_memory: false,
            ..demand.clone()
        };
        let is_whole = demand.sharing == Sharing::Whole && class.total.cpus != UNBOUNDED;
        let cpus = even(class.total.cpus.into(), count);
        let each = (0..count as usize).map(|at| {
            let of_job: Vec<u64> = gres.iter().map(|counts| counts[at]).collect();
            let tasks = u32::try_from(tasks[at]).ok()?;
            let mut need = amounts(&of_share, class, tasks, &of_job)?;
            if is_whole {
                let own = need.cpus;
                need.cpus = u32::try_from(cpus[at]).ok()?;
                // Memory for each CPU is for all that it gets.
                let more = u64::from(need.cpus.checked_sub(own)?) * demand.mem_per_cpu;
                need.mem_mib = need.mem_mib.checked_add(u32::try_from(more).ok()?)?;
            }
            if demand.all_memory {
                need.mem_mib = class.total.mem_mib / count;
            }
            Some((tasks, need))
        });
        each.collect()
    }
}

/// So many over so many, the first ones getting one more.
fn even(all: u64, over: u32) -> Vec<u64> {
    let over = u64::from(over.max(1));
    let (each, more) = (all / over, all % over);
    (0..over).map(|at| each + u64::from(at < more)).collect()
}
