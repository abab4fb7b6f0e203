//! What jobs of a partition get that do not ask for it.

use model::MemoryRequest;

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
    /// `MaxCPUsPerNode`
    pub max_cpus_per_node: Option<u32>,
    /// `OverSubscribe=EXCLUSIVE`: every job gets whole nodes.
    pub whole_nodes: bool,
    /// `ExclusiveUser`: a node has jobs of one user at a time.
    pub one_user: bool,
    /// `OverSubscribe=YES` or `FORCE`: several jobs on a CPU.
    pub layers: Option<Layers>,
    /// Memory is given out (`CR_…_Memory`): who asks for none and has no default gets all of it.
    pub counts_memory: bool,
}

/// Several jobs on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    /// So many jobs on each; more than 1.
    pub jobs: u32,
    /// Whether those too that do not ask for it.
    pub is_forced: bool,
}
