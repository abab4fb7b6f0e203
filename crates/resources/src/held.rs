//! What running jobs hold, as their rows tell.

use crate::compiled::lane_of;
use crate::demand::{Demand, Sharing};
use crate::{Amounts, Cluster, NodeClass, Share, SocketCpus, UNBOUNDED};
use model::NodeShare;

impl Share {
    /// What a job with those rows holds of a cluster. CPUs, memory and GPUs stand in the rows, other
    /// counted resources follow from what was asked; a job that has whole nodes has all of them as
    /// they are now. Nodes that the cluster doesn't have, any more or yet, are left out.
    #[must_use]
    pub fn of_rows(cluster: &Cluster, demand: &Demand, rows: &[NodeShare]) -> Vec<Share> {
        let known = rows
            .iter()
            .filter_map(|row| Some((cluster.node(&row.node)?, row)));
        let share = known.map(|(node, row)| {
            let class = cluster.class(node);
            let bits = row.gpus.iter().filter(|gpu| **gpu < 64);
            let gpus = bits.fold(0_u64, |all, gpu| all | 1 << gpu);
            Share {
                node,
                tasks: row.tasks,
                amounts: amounts(class, demand, row, gpus),
                sockets: SocketCpus::of_numbers(class, &row.cpus),
                gpus,
                capped_in: demand.cpu_cap.map(|cap| cap.partition),
            }
        });
        share.collect()
    }
}

fn amounts(class: &NodeClass, demand: &Demand, row: &NodeShare, gpus: u64) -> Amounts {
    let narrow = |amount: u64| u32::try_from(amount).unwrap_or(u32::MAX);
    let is_whole = demand.sharing == Sharing::Whole && !class.splits;
    let cpus = if is_whole && class.total.cpus != UNBOUNDED {
        class.total.cpus
    } else {
        narrow(row.cpus.len() as u64)
    };
    let mut amounts = Amounts::new(cpus, narrow(row.memory));
    amounts.set_lane(0, row.gpus.len() as u64);
    for group in class.gpus.iter().filter(|group| group.lane > 0) {
        let count = (gpus & group.indices).count_ones();
        amounts.set_lane(group.lane.into(), count.into());
    }
    if is_whole {
        let others = class.lanes.iter().enumerate().skip(1);
        for (lane, what) in others {
            if what.as_ref().is_some_and(|what| what.name != "gpu") {
                amounts.set_lane(lane, class.total.lane(lane).into());
            }
        }
        return amounts;
    }
    let of_node = demand.node.gres.iter().map(|gres| (gres, 1));
    let of_task = demand
        .task
        .gres
        .iter()
        .map(|gres| (gres, u64::from(row.tasks)));
    for (gres, times) in of_node.chain(of_task).filter(|(gres, _)| !gres.is_gpus()) {
        if let Some((lane, unit)) = lane_of(class, gres) {
            let more = unit.units_for(gres.count.saturating_mul(times));
            amounts.set_lane(lane, u64::from(amounts.lane(lane)).saturating_add(more));
        }
    }
    amounts
}
