//! What one job holds on one node.

use crate::{Amounts, NodeId, PartId, SocketCpus};

/// What a job holds on a node.
///
/// A node that splits ([`crate::NodeClass::splits`]) may carry several shares of one job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The node.
    pub node: NodeId,
    /// How many of the job's tasks belong here.
    pub tasks: u32,
    /// CPUs, memory and counted resources. CPUs are a count: which ones of a socket is decided where
    /// the job is started.
    pub amounts: Amounts,
    /// The CPUs by socket, where sockets are distinguished.
    pub sockets: SocketCpus,
    /// GPUs, a bit an index; empty where the node has more of them than bits.
    pub gpus: u64,
    /// The partition of its job, where that gives its jobs together no more than so many CPUs of a node
    /// (`MaxCPUsPerNode`).
    pub capped_in: Option<PartId>,
}

impl Share {
    /// CPUs.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.amounts.cpus
    }

    /// MiB.
    #[must_use]
    pub fn mem_mib(&self) -> u32 {
        self.amounts.mem_mib
    }

    /// How many GPUs.
    #[must_use]
    pub fn gpu_count(&self) -> u32 {
        self.amounts.lane(0).into()
    }
}
