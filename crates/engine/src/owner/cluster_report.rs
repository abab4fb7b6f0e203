//! `cluster`: nodes, partitions and their use.

use super::Owner;
use api::{ClusterReport, GpuReport, GresReport, NodeReason, NodeReport, PartitionReport};
use model::{GpuIndex, JobState, MemoryRequest, NodeShare, NodeState, NodeUse};
use resources::{Cluster, Lane, NodeClass, NodeId, Partition, UNBOUNDED};
use std::collections::BTreeSet;

/// What jobs hold of a node.
#[derive(Clone, Debug, Default)]
struct Held {
    cpus: u32,
    memory: u64,
    gpus: BTreeSet<GpuIndex>,
    jobs: u32,
}

impl Owner {
    pub(super) fn cluster_report(&self) -> ClusterReport {
        let cluster = self.state.cluster();
        let held = self.held_by_node();
        let nodes = cluster.nodes().zip(&held);
        ClusterReport {
            name: self.cluster.name.clone(),
            nodes: nodes
                .map(|(node, held)| self.node_report(node, held))
                .collect(),
            partitions: cluster
                .partitions()
                .iter()
                .map(|partition| partition_report(cluster, partition))
                .collect(),
            is_pretended: self.cluster.is_pretended(),
        }
    }

    /// What jobs hold of each node, by its number.
    fn held_by_node(&self) -> Vec<Held> {
        let cluster = self.state.cluster();
        let mut held = vec![Held::default(); cluster.node_count() as usize];
        for record in self.state.running() {
            let JobState::Running { allocation, .. } = &record.state else {
                continue;
            };
            let mut former = None;
            for share in &allocation.nodes {
                let Some(node) = cluster.node(&share.node) else {
                    continue;
                };
                let of_node = &mut held[node.0 as usize];
                add(of_node, share);
                // Several virtual nodes are one.
                of_node.jobs += u32::from(former != Some(node));
                former = Some(node);
            }
        }
        held
    }

    fn node_report(&self, node: NodeId, held: &Held) -> NodeReport {
        let cluster = self.state.cluster();
        let (class, name) = (cluster.class(node), cluster.node_name(node));
        let mark = self.state.mark(name);
        let cpus = class.total.cpus;
        let features = cluster.features().filter(|feature| {
            let nodes = cluster.with_feature(feature);
            nodes.is_some_and(|nodes| nodes.contains(node))
        });
        NodeReport {
            name: name.clone(),
            state: NodeState {
                usage: match held.cpus {
                    0 => NodeUse::Idle,
                    used if used >= cpus => NodeUse::Allocated,
                    _ => NodeUse::Mixed,
                },
                is_down: mark.is_some_and(|mark| mark.is_down),
                is_drained: mark.is_some_and(|mark| mark.is_drained),
                ..NodeState::default()
            },
            reason: mark.map(|mark| NodeReason {
                text: mark.reason.clone(),
                user: mark.user.clone(),
                at: mark.at,
            }),
            cpus,
            cpus_used: held.cpus,
            memory: match class.total.mem_mib {
                UNBOUNDED => 1,
                there => there.into(),
            },
            memory_used: held.memory,
            sockets: class
                .sockets
                .map(|there| [there.sockets, there.cores, there.threads]),
            tmp_disk: class.tmp_mib,
            weight: class.weight,
            features: features.map(str::to_owned).collect(),
            gpus: gpus(class, held),
            gres: self.gres(node, class),
            jobs: held.jobs,
        }
    }

    fn gres(&self, node: NodeId, class: &NodeClass) -> Vec<GresReport> {
        let free = self.state.free().amounts(node);
        let lanes = class.lanes.iter().enumerate();
        let lanes = lanes.filter_map(|(lane, what)| Some((lane, what.as_ref()?)));
        let others = lanes.filter(|(_, what): &(usize, &Lane)| what.name != "gpu");
        let gres = others.map(|(lane, what)| {
            let total = class.total.lane(lane);
            let used = total.saturating_sub(free.lane(lane));
            GresReport {
                name: what.name.clone(),
                kind: what.kind.clone(),
                count: u64::from(total) << what.shift,
                used: u64::from(used) << what.shift,
            }
        });
        gres.collect()
    }
}

fn add(held: &mut Held, share: &NodeShare) {
    held.cpus += u32::try_from(share.cpus.len()).unwrap_or(u32::MAX);
    held.memory += share.memory;
    held.gpus.extend(share.gpus.iter().copied());
}

fn gpus(class: &NodeClass, held: &Held) -> Vec<GpuReport> {
    let group = class.gpus.iter().map(|group| {
        let is_in = |gpu: &GpuIndex| *gpu < 64 && group.indices & (1 << gpu) != 0;
        GpuReport {
            kind: group.kind.name().map(str::to_owned),
            count: group.count.into(),
            used: held.gpus.iter().copied().filter(is_in).collect(),
        }
    });
    group.collect()
}

fn partition_report(cluster: &Cluster, partition: &Partition) -> PartitionReport {
    let defaults = &partition.defaults;
    let nodes = partition.nodes.iter();
    let (per_cpu, per_node) = match defaults.memory {
        Some(MemoryRequest::PerCpu(mib)) => (Some(mib), None),
        Some(MemoryRequest::PerNode(mib)) => (None, Some(mib)),
        Some(MemoryRequest::PerGpu(_)) | None => (None, None),
    };
    PartitionReport {
        name: partition.name.clone(),
        is_default: partition.is_default,
        state: partition.state.word().to_owned(),
        nodes: nodes.map(|node| cluster.node_name(node).clone()).collect(),
        max_time: partition.max_time,
        default_time: partition.default_time,
        min_nodes: partition.min_nodes,
        max_nodes: partition.max_nodes,
        tier: partition.tier,
        factor: partition.factor,
        max_cpus_per_node: defaults.max_cpus_per_node,
        default_memory_per_cpu: per_cpu,
        default_memory_per_node: per_node,
        max_memory_per_cpu: defaults.max_memory_per_cpu,
        whole_nodes: defaults.whole_nodes,
        one_user: defaults.one_user,
        layers: defaults
            .layers
            .map(|layers| (layers.jobs, layers.is_forced)),
        qos: partition
            .qos
            .map(|qos| cluster.qos()[usize::from(qos.0)].name.clone()),
        grace_time: partition.grace_time,
    }
}
