//! What an engine is and has: itself, its partitions, its nodes.

use crate::OutOfUse;
use model::{BillingWeights, MemoryRequest, NodeName, PartitionSharing, Seconds, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the engine is and has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Version of the engine.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Since when it runs.
    pub since: Timestamp,
    /// Its state folder.
    pub state: PathBuf,
    /// The engine's name, which its cluster has too: `local` is this machine.
    pub cluster: String,
    /// Its nodes are pretended: those of a cluster file, on this machine.
    #[serde(default)]
    pub is_pretended: bool,
    /// Each of them has a `/tmp` of its own, for jobs of who asks.
    #[serde(default)]
    pub nodes_have_disks: bool,
    /// Where a job goes that names no partition; empty where it must.
    #[serde(default)]
    pub partition: String,
    /// The machine's own node first, then virtual ones.
    pub nodes: Vec<NodeFacts>,
    /// CPUs of the machine in all; virtual nodes share them.
    pub cpus: u32,
    /// MiB of the machine in all.
    pub memory: u64,
    /// GPUs of the machine.
    pub gpus: Vec<String>,
    /// CPUs in use.
    pub cpus_used: u32,
    /// Jobs that run.
    pub running: u32,
    /// Jobs that wait.
    pub pending: u32,
    /// What this machine can't do, a sentence each (no cgroups, say).
    pub limits: Vec<String>,
    /// Nodes that are down or drained.
    #[serde(default)]
    pub out_of_use: Vec<OutOfUse>,
    /// CPUs that other engines of this machine held when a job last wanted some.
    #[serde(default)]
    pub cpus_held_elsewhere: Vec<u32>,
    /// When its scheduler last went through the jobs that wait.
    #[serde(default)]
    pub last_pass: Option<Timestamp>,
    /// Its configuration, as the names of `scontrol show config` call it, where it is not Slurm's default.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
    /// What its store lost, a sentence each, the oldest first.
    #[serde(default)]
    pub losses: Vec<String>,
    /// Its partitions.
    #[serde(default)]
    pub partitions: Vec<PartitionFacts>,
    /// What `srun` runs before a step.
    #[serde(default)]
    pub srun_prolog: Option<String>,
    /// What `srun` runs after a step.
    #[serde(default)]
    pub srun_epilog: Option<String>,
}

/// What stands for the type of a GPU that has none.
pub const UNTYPED_GPU: &str = "GPU";

/// A partition, as far as a job's record needs it to be printed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartitionFacts {
    /// Its name.
    pub name: String,
    /// Memory of jobs that ask for none.
    #[serde(default)]
    pub memory: Option<MemoryRequest>,
    /// The limit of jobs that ask for none.
    #[serde(default)]
    pub time: Option<Seconds>,
    /// After how long a job can lose its place to another; `None` where none can.
    #[serde(default)]
    pub preempted_after: Option<Seconds>,
    /// CPUs beside each GPU of jobs that ask for GPUs and no CPUs.
    #[serde(default)]
    pub cpus_per_gpu: Option<u32>,
    /// MiB beside each GPU of jobs that ask for GPUs.
    #[serde(default)]
    pub memory_per_gpu: Option<u64>,
    /// MiB beside each CPU at the most (`MaxMemPerCPU`).
    #[serde(default)]
    pub max_memory_per_cpu: Option<u64>,
    /// What jobs are billed for what they have.
    #[serde(default)]
    pub billing: BillingWeights,
    /// With whom jobs share their nodes that do not ask.
    #[serde(default)]
    pub sharing: PartitionSharing,
    /// It is shown to who asks only where that is asked: it is `Hidden`, or not for their groups.
    #[serde(default)]
    pub is_hidden: bool,
}

/// A node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Its name.
    pub name: NodeName,
    /// Shares the machine with others; used by jobs that ask for several nodes.
    pub is_virtual: bool,
    /// CPUs that one job can get on it.
    pub cpus: u32,
    /// MiB that one job can get on it.
    pub memory: u64,
    /// Type a GPU; [`UNTYPED_GPU`] where it has none.
    pub gpus: Vec<String>,
    /// CPUs in use.
    pub cpus_used: u32,
    /// MiB in use.
    pub memory_used: u64,
    /// GPUs in use.
    pub gpus_used: u32,
}
