//! What a job would be given of an idle cluster.

use super::idle::Idle;
use super::nodes::Place;
use crate::{Sharing, Trust};
use cluster_file::{ClusterFile, Named, Partition};
use model::Request;

/// What a job would be given of an idle cluster: the fewest nodes that hold it, and of each as much
/// as an even share of the job needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Nodes.
    pub nodes: u32,
    /// Tasks in all.
    pub tasks: u32,
    /// CPUs of each node.
    pub cpus_per_node: u64,
    /// GPUs of each node.
    pub gpus_per_node: u64,
    /// MiB of each node: 0 is all of it; none is left to the cluster.
    pub mem_mib: Option<u64>,
    /// The type of its GPUs, where it names one.
    pub gpu_kind: Option<String>,
    /// No other job on its nodes.
    pub is_whole: bool,
}

/// What a job would be given in a partition, or in the whole cluster; where there are too few nodes,
/// as if there were more, and where none of them would do what it asks for.
#[must_use]
pub fn given(file: &ClusterFile, partition: Option<&Named<Partition>>, request: &Request) -> Given {
    let idle = Idle::new(file);
    let place = Place::of(&idle, partition.and_then(|one| file.partition(&one.name)));
    let name = partition.map(|partition| partition.name.as_str());
    let demand = idle.demand(name, request);
    let most = demand.nodes.most.unwrap_or(u32::MAX);
    let fewest = place
        .fewest(request)
        .or_else(|| place.fewest_of_more(request, &demand));
    let fewest = fewest.unwrap_or_else(|| demand.fewest_nodes());
    // More than it allows it never gets, whatever it would need.
    let nodes = fewest.min(most).max(1);
    let tasks = demand.tasks_on(nodes);
    let gpus = demand.gpus_on(nodes).div_ceil(nodes.into());
    let is_whole = demand.sharing == Sharing::Whole;
    let own = demand.cpus_for(tasks.div_ceil(nodes), gpus);
    let cpus = place
        .cpus_of_first(request)
        .filter(|_| is_whole)
        .unwrap_or(own);
    let of_node = demand.mem_for(cpus, gpus);
    Given {
        nodes,
        tasks,
        cpus_per_node: cpus,
        gpus_per_node: gpus,
        mem_mib: if demand.all_memory {
            request.memory.map(|_| 0)
        } else {
            (of_node > 0).then_some(of_node)
        },
        gpu_kind: demand.gpu_kind().map(str::to_owned),
        is_whole,
    }
}

impl Place<'_> {
    /// CPUs of the first of the nodes that a job would have.
    fn cpus_of_first(&self, request: &Request) -> Option<u64> {
        let shares = self.shares(request)?;
        let cluster = self.idle.cluster(Trust::All);
        let cpus = cluster.class(shares.first()?.node).total.cpus;
        (cpus != crate::UNBOUNDED).then_some(cpus.into())
    }
}
