//! What jobs of a partition get that do not ask for it.

use crate::PartId;
use model::{MemoryRequest, PartitionSharing};

/// What jobs of a partition, or of a cluster, get that do not ask for it, and what they must share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// `DefMemPerCPU` or `DefMemPerNode`: of the partition, else of the cluster.
    pub memory: Option<MemoryRequest>,
    /// `DefMemPerGPU`, MiB.
    pub memory_per_gpu: Option<u64>,
    /// `DefCpuPerGPU`
    pub cpus_per_gpu: Option<u32>,
    /// `MaxMemPerCPU`, MiB: who asks for more gets more CPUs.
    pub max_memory_per_cpu: Option<u64>,
    /// `MaxMemPerNode`, MiB; where it is set there is no `max_memory_per_cpu`.
    pub max_memory_per_node: Option<u64>,
    /// CPUs and MiB of the partition's first node, for which Slurm takes all of them where it reckons with
    /// limits on memory; none where they are not known.
    pub first_node: Option<(u32, u32)>,
    /// `MaxCPUsPerNode`
    pub cpu_cap: Option<CpuCap>,
    /// `OverSubscribe=EXCLUSIVE`: every job gets whole nodes.
    pub whole_nodes: bool,
    /// `ExclusiveUser`: a node has jobs of one user at a time.
    pub one_user: bool,
    /// `OverSubscribe=YES` or `FORCE`: several jobs on a CPU.
    pub layers: Option<Layers>,
    /// Memory is given out (`CR_…_Memory`): who asks for none and has no default gets all of it.
    pub counts_memory: bool,
}

impl Defaults {
    /// With whom jobs share their nodes that do not ask.
    #[must_use]
    pub fn partition_sharing(&self) -> PartitionSharing {
        if self.one_user {
            PartitionSharing::User
        } else if self
            .layers
            .is_some_and(|layers| layers.is_forced && layers.jobs > 1)
        {
            PartitionSharing::Cpus
        } else if self.whole_nodes {
            PartitionSharing::None
        } else {
            PartitionSharing::Nodes
        }
    }
}

/// The most CPUs of a node that all jobs of a partition have together (`MaxCPUsPerNode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpuCap {
    /// The partition.
    pub partition: PartId,
    /// So many CPUs.
    pub most: u32,
}

/// Several jobs on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    /// So many jobs on each; more than 1, unless it is forced.
    pub jobs: u32,
    /// Whether those too that do not ask for it.
    pub is_forced: bool,
}
