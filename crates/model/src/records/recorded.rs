//! The counts that a controller records of a job before the job has nodes.

use crate::values::GpuCount;

/// What a controller counts of a job that waits. It prints these numbers and holds limits against
/// them; where the job will be, and with how much, is decided later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Nodes that it will need at least, as `NumNodes` has it.
    pub nodes: u32,
    /// `--nodes`: the least.
    pub least_nodes: u32,
    /// `--nodes`: the most.
    pub most_nodes: Option<u32>,
    /// CPUs in all.
    pub cpus: u32,
    /// CPUs of its `TRES`: those that were asked, where memory brings more (`MaxMemPerCPU`).
    pub tres_cpus: u32,
    /// Tasks in all.
    pub tasks: u32,
    /// CPUs that a node must have (`MinCPUsNode`).
    pub min_cpus_per_node: u32,
    /// Memory in all, in MiB.
    pub mem_mib: u64,
    /// GPUs in all, by type.
    pub gpus: Vec<GpuCount>,
}

impl Recorded {
    /// GPUs of all types.
    #[must_use]
    pub fn gpu_count(&self) -> u64 {
        self.gpus.iter().map(|gpu| u64::from(gpu.count)).sum()
    }
}
