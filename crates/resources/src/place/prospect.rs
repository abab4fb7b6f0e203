//! Whether it is worth to look for a place: a test that asks no more than what is free of each node.

use crate::cluster::{Cluster, NodeId};
use crate::compiled::{Compiled, Form};
use crate::demand::Sharing;
use crate::{Free, NodeSet};

impl Compiled {
    /// The nodes of which an idle one could serve it, in ascending order.
    #[must_use]
    pub fn servers(&self, cluster: &Cluster) -> Vec<NodeId> {
        if !self.of_types.is_empty() {
            let all = self
                .of_types
                .iter()
                .flat_map(|of_type| of_type.servers(cluster));
            return all.collect::<NodeSet>().iter().collect();
        }
        let nodes = self.candidates();
        let serves = |node: &NodeId| self.least(cluster.class_id(*node)).is_some();
        nodes.iter().filter(serves).collect()
    }

    /// Whether those of `servers` that are up may have what it needs; where they may not, [`place`](super::place)
    /// finds nothing. What is free in more places never makes it false.
    #[must_use]
    pub fn may_fit(&self, cluster: &Cluster, servers: &[NodeId], free: &Free) -> bool {
        if !self.of_types.is_empty() {
            let mut each = self.of_types.iter();
            return each.any(|of_type| of_type.may_fit(cluster, servers, free));
        }
        let demand = &self.demand;
        let is_summed = !demand.overcommit && !matches!(demand.sharing, Sharing::Over(_));
        let (mut nodes, mut cpus, mut gpus) = match self.form {
            Form::Alike { nodes, .. } => (nodes.max(1), 0, 0),
            Form::Spanning => {
                let tasks = demand.tasks.filter(|_| is_summed).unwrap_or(0);
                let cpus = u64::from(tasks).saturating_mul(demand.task.cpus.into());
                (1, cpus, demand.job.gpus())
            }
        };
        for node in servers
            .iter()
            .copied()
            .filter(|node| free.up().contains(*node))
        {
            if cluster.class(node).splits {
                return true;
            }
            let least = self.least(cluster.class_id(node));
            if !least.is_some_and(|least| free.fits(node, least, demand.sharing)) {
                continue;
            }
            let there = free.amounts(node);
            nodes = nodes.saturating_sub(1);
            cpus = cpus.saturating_sub(there.cpus.into());
            gpus = gpus.saturating_sub(there.lane(0).into());
            if (nodes, cpus, gpus) == (0, 0, 0) {
                return true;
            }
        }
        false
    }
}
