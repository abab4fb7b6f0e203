//! What one task of the ranks' step is started with.

use model::{NodeName, RestartCount};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one task of the ranks' `srun` runs: a rank, or an agent that starts the node's ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankCommand {
    /// The task's number in the step (`SLURM_PROCID`).
    pub task: u32,
    /// The index of its node in the job (`SLURM_NODEID`).
    pub node: u32,
    /// What changes in its environment.
    pub env: BTreeMap<String, EnvChange>,
    /// Program and arguments, placeholders replaced. Empty for a task that does nothing: of nodes with
    /// different numbers of GPUs each GPU has a task, and of a launcher with an agent a node the others
    /// hold theirs for it.
    pub argv: Vec<String>,
    /// How the ranks that it is or starts are bound to CPUs near their GPUs; `None`: they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Binding>,
}

/// What is to be known of a node's ranks to bind each to CPUs near its GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The number of the rank on its node; `None`: of an agent, whose ranks have it in `LOCAL_RANK`.
    pub local: Option<u32>,
    /// How many ranks the node has, at least 1.
    pub ranks: u32,
    /// How many CPUs each is to have, at least 1.
    pub cpus: u32,
}

/// A change to one environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvChange {
    /// Set, whatever it was.
    Set(String),
    /// Set only where it is unset: the person's own value wins.
    Default(String),
    /// Removed.
    Remove,
}

/// The allocation as the conductor sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobShape {
    /// `SLURM_JOB_ID`
    pub job: u32,
    /// `SLURM_RESTART_COUNT`, 0 where unset.
    pub restart: RestartCount,
    /// The job's nodes in the order of `SLURM_NODEID`; never empty.
    pub nodes: Vec<NodeName>,
    /// GPUs that the job has on each of them, in the same order.
    pub gpus: Vec<u32>,
    /// An address of each of them that all others reach, in the same order, without brackets around
    /// IPv6.
    pub addresses: Vec<String>,
}

/// Where the ranks meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendezvous {
    /// An address of the first node that all others reach, without brackets around IPv6.
    pub address: String,
    /// A TCP port that is free there.
    pub port: u16,
}
