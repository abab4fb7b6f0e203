//! `cluster`: nodes, partitions and their use.

use super::Owner;
use super::launch::CLUSTER;
use super::submit::PARTITION;
use api::{ClusterReport, GpuReport, NodeReport, PartitionReport};
use model::{GpuIndex, JobState, NodeShare, NodeState, NodeUse};

impl Owner {
    pub(super) fn cluster_report(&self) -> ClusterReport {
        let machine = self.state.machine();
        let held = self
            .state
            .running()
            .filter_map(|record| match &record.state {
                JobState::Running { allocation, .. } => Some(&allocation.nodes),
                JobState::Pending { .. } | JobState::Ended { .. } => None,
            });
        let held: Vec<&NodeShare> = held.flatten().collect();
        let used: Vec<GpuIndex> = held
            .iter()
            .flat_map(|share| share.gpus.iter().copied())
            .collect();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let cpus_used = count(held.iter().map(|share| share.cpus.len()).sum());
        let mut gpus: Vec<GpuReport> = Vec::new();
        for gpu in &machine.gpus {
            let known = gpus
                .iter_mut()
                .find(|known| known.kind.as_ref() == Some(&gpu.name));
            let is_used = used.contains(&gpu.index).then_some(gpu.index);
            match known {
                Some(known) => {
                    known.count += 1;
                    known.used.extend(is_used);
                }
                None => gpus.push(GpuReport {
                    kind: Some(gpu.name.clone()),
                    count: 1,
                    used: is_used.into_iter().collect(),
                }),
            }
        }
        let node = NodeReport {
            name: machine.host.clone(),
            state: NodeState {
                usage: match cpus_used {
                    0 => NodeUse::Idle,
                    used if used >= machine.most_nodes() => NodeUse::Allocated,
                    _ => NodeUse::Mixed,
                },
                ..NodeState::default()
            },
            cpus: machine.most_nodes(),
            cpus_used,
            memory: machine.memory,
            memory_used: held.iter().map(|share| share.memory).sum(),
            weight: 1,
            gpus,
            jobs: count(self.state.running_count()),
            ..NodeReport::default()
        };
        let partition = PartitionReport {
            name: PARTITION.to_owned(),
            is_default: true,
            state: "up".to_owned(),
            nodes: vec![machine.host.clone()],
            tier: 1,
            factor: 1,
            ..PartitionReport::default()
        };
        ClusterReport {
            name: CLUSTER.to_owned(),
            nodes: vec![node],
            partitions: vec![partition],
            is_pretended: false,
        }
    }
}
