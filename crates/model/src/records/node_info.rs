//! Partitions and nodes as `sinfo` tells of them.

use crate::records::NodeState;
use crate::values::{NodeName, Seconds};

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinfoPartition {
    /// Its name.
    pub name: String,
    /// Jobs that name none go there.
    pub default: bool,
    /// `up`, `down`, `drain` or `inactive`.
    pub state: String,
    /// The longest limit; `None` is none.
    pub time: Option<Seconds>,
    /// `DefaultTime`, where one is set.
    pub default_time: Option<Seconds>,
    /// `MinNodes`
    pub min_nodes: u32,
    /// `MaxNodes`
    pub max_nodes: Option<u32>,
    /// `MaxCPUsPerNode`
    pub max_cpus_per_node: Option<u32>,
    /// `OverSubscribe`, as `sinfo` prints it: `NO`, `EXCLUSIVE`, `YES:4`.
    pub over_subscribe: String,
    /// `PriorityTier`
    pub priority_tier: u32,
    /// `PriorityJobFactor`
    pub priority_factor: u32,
    /// `AllocNodes`; none is all.
    pub alloc_nodes: Option<String>,
    /// `AllowGroups`; none is all.
    pub allow_groups: Option<String>,
    /// `RootOnly`
    pub is_root_only: bool,
    /// It is shown only where it is named, or all are asked for.
    pub is_hidden: bool,
    /// `PreemptMode`, in capitals.
    pub preempt_mode: String,
    /// Its nodes.
    pub nodes: Vec<NodeName>,
}

/// Why a node is not to be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinfoReason {
    /// What was said.
    pub text: String,
    /// Who said it.
    pub user: String,
    /// The number of that user, where it is known.
    pub uid: Option<u32>,
    /// When, as it is printed.
    pub at: String,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinfoNode {
    /// Its name in Slurm.
    pub name: NodeName,
    /// Its host's name.
    pub host: String,
    /// Its address.
    pub address: String,
    /// Its state.
    pub state: NodeState,
    /// CPUs.
    pub cpus: u32,
    /// Of these, those of jobs.
    pub used_cpus: u32,
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// Memory, in MiB.
    pub memory_mib: u64,
    /// Memory of jobs, in MiB.
    pub used_memory_mib: u64,
    /// Memory that no process uses, in MiB.
    pub free_memory_mib: u64,
    /// Temporary disk, in MiB.
    pub disk_mib: u64,
    /// `Weight`
    pub weight: u64,
    /// Features that it can have, with commas.
    pub features: String,
    /// Those that it has.
    pub active_features: String,
    /// Generic resources, such as `gpu:v100:4`.
    pub gres: String,
    /// Of these, those of jobs.
    pub gres_used: String,
    /// Its Slurm.
    pub version: String,
    /// Why it is not to be used.
    pub reason: Option<SinfoReason>,
    /// The names of its partitions.
    pub partitions: Vec<String>,
    /// How many processes were ready to run, in hundredths; none before the node said so.
    pub load: Option<u32>,
    /// What an administrator wrote of it.
    pub comment: Option<String>,
    /// What a program wrote of it.
    pub extra: Option<String>,
}

/// `OverSubscribe` as Slurm prints it, of a partition of whole nodes, or by how many jobs a CPU is given to and
/// whether those get it too that don't ask.
#[must_use]
pub fn over_subscribe_text(whole_nodes: bool, layers: Option<(u32, bool)>) -> String {
    match (whole_nodes, layers) {
        (true, _) => "EXCLUSIVE".to_owned(),
        (false, None) => "NO".to_owned(),
        (false, Some((jobs, true))) => format!("FORCE:{jobs}"),
        (false, Some((jobs, false))) => format!("YES:{jobs}"),
    }
}
