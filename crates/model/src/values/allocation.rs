//! What a job was given.

use crate::values::NodeName;
use serde::{Deserialize, Serialize};

/// A GPU's index on its machine, as NVML and `CUDA_VISIBLE_DEVICES` count.
pub type GpuIndex = u32;

/// What one job holds while it runs, node by node, in the order that ranks follow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// One share a node; never empty for a running job.
    pub nodes: Vec<NodeShare>,
}

/// What a job holds on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeShare {
    /// The node.
    pub node: NodeName,
    /// The machine's CPU numbers that the job holds there; their count is the job's CPUs.
    pub cpus: Vec<u32>,
    /// MiB.
    pub memory: u64,
    /// Which GPUs.
    pub gpus: Vec<GpuIndex>,
    /// How many tasks of the job belong here.
    pub tasks: u32,
}

impl Allocation {
    /// CPUs over all nodes.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.nodes.iter().map(|share| share.cpus.len()).sum()
    }

    /// Tasks over all nodes.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.nodes.iter().map(|share| share.tasks).sum()
    }

    /// GPUs over all nodes.
    #[must_use]
    pub fn gpus(&self) -> usize {
        self.nodes.iter().map(|share| share.gpus.len()).sum()
    }
}
