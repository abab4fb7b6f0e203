//! What there is to give.

use model::{GpuIndex, MemoryRequest, NodeName};
use resources::Defaults;

/// The machine: node 0, and what its virtual nodes share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Short host name: the name of node 0.
    pub host: NodeName,
    /// CPU numbers, ascending.
    pub cpus: Vec<u32>,
    /// MiB.
    pub memory: u64,
    /// GPUs, in ascending index.
    pub gpus: Vec<Gpu>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its index.
    pub index: GpuIndex,
    /// Its product name, such as `NVIDIA H200`.
    pub name: String,
}

impl Gpu {
    /// Whether a GRES type (`v100`, `h200`) means this GPU.
    #[must_use]
    pub fn is_kind(&self, kind: &str) -> bool {
        model::is_gpu_kind(&self.name, kind)
    }
}

impl Machine {
    /// Greatest number of virtual nodes: each needs a CPU.
    #[must_use]
    pub fn most_nodes(&self) -> u32 {
        u32::try_from(self.cpus.len()).unwrap_or(u32::MAX)
    }

    /// The name of the n-th virtual node, counted from 1.
    #[must_use]
    pub fn virtual_node(&self, number: u32) -> NodeName {
        NodeName::from(format!("{}-v{number}", self.host))
    }

    /// Whether a node of that name can be had, and the number of the virtual node (0: node 0).
    #[must_use]
    pub fn node_number(&self, name: &NodeName) -> Option<u32> {
        if *name == self.host {
            return Some(0);
        }
        let rest = name.as_str().strip_prefix(self.host.as_str())?;
        let number: u32 = rest.strip_prefix("-v")?.parse().ok()?;
        (1..=self.most_nodes()).contains(&number).then_some(number)
    }

    /// What a job gets that does not ask for it: an even share of the memory for each CPU.
    #[must_use]
    pub fn defaults(&self) -> Defaults {
        let each = self.memory / u64::from(self.most_nodes().max(1));
        Defaults {
            memory: Some(MemoryRequest::PerCpu(each)),
            ..Defaults::default()
        }
    }
}
