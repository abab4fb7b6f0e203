//! What `cluster` answers: an engine's cluster as it is now, from which `sinfo` and
//! `scontrol show node|partition` are printed.

use model::{
    BillingWeights, NodeGpus, NodeGres, NodeName, NodeState, Reservation, Seconds, Settings,
    Timestamp,
};
use serde::{Deserialize, Serialize};

/// A cluster as it is now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterReport {
    /// `ClusterName`
    pub name: String,
    /// Nodes in the cluster's own order. This machine is one node: its virtual ones share it and
    /// are not among them.
    pub nodes: Vec<NodeReport>,
    /// Partitions in the cluster's own order.
    pub partitions: Vec<PartitionReport>,
    /// Licences in the cluster file's order.
    pub licences: Vec<LicenceReport>,
    /// Switches, low ones first.
    pub switches: Vec<SwitchReport>,
    /// Reservations, by name.
    pub reservations: Vec<Reservation>,
    /// Since when its engine serves.
    pub since: Timestamp,
    /// Its nodes are pretended: they share this machine's CPUs, and their GPUs are numbers.
    pub is_pretended: bool,
}

/// Licences of one name, and their use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LicenceReport {
    /// Their name.
    pub name: String,
    /// How many there are.
    pub total: u32,
    /// How many running jobs hold.
    pub used: u32,
    /// How many reservations keep now.
    pub reserved: u32,
}

/// A switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SwitchReport {
    /// Its name.
    pub name: String,
    /// 0 has nodes at it.
    pub level: u32,
    /// `LinkSpeed`
    pub link_speed: u32,
    /// All nodes behind it.
    pub nodes: Vec<NodeName>,
    /// The switches right below it.
    pub below: Vec<String>,
}

/// A node and its use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReport {
    /// Its name.
    pub name: NodeName,
    /// Its state.
    pub state: NodeState,
    /// Why it is down or drained, by whom and since when.
    pub reason: Option<NodeReason>,
    /// CPUs that jobs can have.
    pub cpus: u32,
    /// CPUs that jobs hold.
    pub cpus_used: u32,
    /// MiB that jobs can have.
    pub memory: u64,
    /// MiB that jobs hold.
    pub memory_used: u64,
    /// Sockets, cores a socket and threads a core, where they are known.
    pub sockets: Option<[u32; 3]>,
    /// MiB of temporary disk, where it is known.
    pub tmp_disk: Option<u64>,
    /// `Weight`
    pub weight: u32,
    /// Features that it can have, in the cluster file's order.
    pub features: Vec<String>,
    /// Those of them that it has.
    pub active_features: Vec<String>,
    /// What was said of it: `comment`, `extra`, `cpubind`, `nodeaddr`, `nodehostname`; `gres` in place of
    /// what it has.
    pub said: Settings,
    /// GPUs by type.
    pub gpus: Vec<NodeGpus>,
    /// Other generic resources.
    pub gres: Vec<NodeGres>,
    /// How many jobs hold a part of it.
    pub jobs: u32,
    /// When a job last held a part of it, as far as this engine knows.
    pub last_busy: Timestamp,
}

/// Why a node is down or drained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReason {
    /// What was said.
    pub text: String,
    /// Who said it.
    pub user: String,
    /// When.
    pub at: Timestamp,
}

/// A partition. What is `None` is no limit, or not said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartitionReport {
    /// Its name.
    pub name: String,
    /// Where a job goes that names none.
    pub is_default: bool,
    /// `up`, `down`, `drain` or `inactive`.
    pub state: String,
    /// Its nodes, in the cluster's order.
    pub nodes: Vec<NodeName>,
    /// `MaxTime`
    pub max_time: Option<Seconds>,
    /// The limit of a job that asks for none.
    pub default_time: Option<Seconds>,
    /// `MinNodes`
    pub min_nodes: u32,
    /// `MaxNodes`
    pub max_nodes: Option<u32>,
    /// `PriorityTier`
    pub tier: u32,
    /// `PriorityJobFactor`
    pub factor: u32,
    /// `MaxCPUsPerNode`
    pub max_cpus_per_node: Option<u32>,
    /// `DefMemPerCPU`, MiB.
    pub default_memory_per_cpu: Option<u64>,
    /// `DefMemPerNode`, MiB.
    pub default_memory_per_node: Option<u64>,
    /// `MaxMemPerCPU`, MiB.
    pub max_memory_per_cpu: Option<u64>,
    /// `OverSubscribe=EXCLUSIVE`
    pub whole_nodes: bool,
    /// `ExclusiveUser`
    pub one_user: bool,
    /// Jobs on a CPU, where it is given more than once, and whether those get it too that don't ask
    /// (`OverSubscribe=YES:4`, `FORCE:4`).
    pub layers: Option<(u32, bool)>,
    /// The QOS whose limits hold for all jobs here.
    pub qos: Option<String>,
    /// `GraceTime`
    pub grace_time: Seconds,
    /// What is said of it under Slurm's names in small letters, such as `allowaccounts`.
    pub settings: Settings,
    /// It is shown to who asks only where that is asked: it is `Hidden`, or not for their groups.
    pub is_hidden: bool,
    /// `off`, `cancel`, `requeue` or `suspend`: what becomes of a job whose place is taken.
    pub preempt_mode: String,
    /// What jobs are billed for what they have.
    #[serde(default)]
    pub billing: BillingWeights,
}
