//! A cluster of one node: this machine, or the machine of a trace.

use super::{Cluster, GpuKind, NodeClass, Partition};
use crate::NodeSet;
use crate::demand::Defaults;
use cluster_file::PartitionState;
use model::{BillingWeights, GpuIndex, MemoryRequest, NodeName, Seconds};

/// A node that is a cluster of its own, and may carry several shares of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleNode<'a> {
    /// The node's name; its virtual nodes are called after it.
    pub host: &'a NodeName,
    /// The only partition.
    pub partition: &'a str,
    /// CPUs.
    pub cpus: u32,
    /// MiB; none where memory is not given out.
    pub mem_mib: Option<u64>,
    /// GPUs: index and product name.
    pub gpus: Vec<(GpuIndex, &'a str)>,
}

impl Cluster {
    /// A cluster of one node. Who asks for no memory gets an even share for each CPU.
    #[must_use]
    pub fn single(machine: &SingleNode<'_>) -> Cluster {
        let mib = |mib: u64| u32::try_from(mib).unwrap_or(u32::MAX);
        let mut class = NodeClass {
            splits: true,
            ..NodeClass::plain(machine.cpus, machine.mem_mib.map_or(super::UNBOUNDED, mib))
        };
        // GPUs of one product are one group, whatever stands between them.
        let mut products: Vec<(&str, Vec<GpuIndex>)> = Vec::new();
        for (index, product) in &machine.gpus {
            match products.iter_mut().find(|(known, _)| known == product) {
                Some((_, indices)) => indices.push(*index),
                None => products.push((product, vec![*index])),
            }
        }
        let has_bits = machine.gpus.iter().all(|(index, _)| *index < 64);
        for (product, indices) in products {
            let bits = indices.iter().filter(|index| **index < 64);
            let bits = bits.fold(0, |all, index| all | 1 << index);
            let count = u16::try_from(indices.len()).unwrap_or(u16::MAX);
            let kind = GpuKind::Product(product.to_owned());
            class.add_gpus(kind, count, Some(if has_bits { bits } else { 0 }), None);
        }
        let mut cluster = Cluster {
            name: machine.partition.to_owned(),
            defaults: Defaults {
                memory: machine
                    .mem_mib
                    .map(|mib| MemoryRequest::PerCpu(mib / u64::from(machine.cpus.max(1)))),
                ..Defaults::default()
            },
            ..Cluster::default()
        };
        let class = cluster.intern(class);
        cluster.add_node(machine.host.clone(), class);
        cluster.partitions.push(Partition {
            name: machine.partition.to_owned(),
            is_default: true,
            access: super::PartitionAccess::default(),
            alternate: None,
            over_time: None,
            nodes: NodeSet::first(1),
            state: PartitionState::Up,
            max_time: None,
            cuts_at_max_time: false,
            default_time: None,
            min_nodes: 0,
            least_loaded: false,
            max_nodes: None,
            tier: 1,
            factor: 1,
            defaults: cluster.defaults.clone(),
            qos: None,
            preempt_mode: None,
            grace_time: Seconds(0),
            billing: BillingWeights::default(),
        });
        cluster
    }
}
