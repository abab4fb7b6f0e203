//! What planning must know of a cluster.

use super::container_runtime::ContainerFacts;
use crate::values::{Seconds, TimeLimitRequest};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What planning must know of the place where a job would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterFacts {
    /// The cluster's name: `local` for the embedded engine, else the `ClusterName` of the Slurm
    /// that is there.
    pub name: String,
    /// The embedded engine: one machine, whose virtual nodes share what [`NodeGroup`] says.
    pub embedded: bool,
    /// Kinds of nodes, the largest group first. The embedded engine has one group of one node.
    pub nodes: Vec<NodeGroup>,
    /// A folder on each node's own disk, below which a job may make its own.
    pub node_local: PathBuf,
    /// Whether that is one folder for all nodes: those of an engine that can't isolate them.
    #[serde(default)]
    pub nodes_share_disk: bool,
    /// From where the outside world can be reached.
    pub internet: Internet,
    /// The limit of a job that asks for none.
    pub default_time: Option<TimeLimitRequest>,
    /// Limits are rounded up to multiples of this: 1 s on the embedded engine, 60 s on Slurm.
    pub time_granularity: Seconds,
    /// What ends jobs there before their time, and how they come back.
    #[serde(default)]
    pub comeback: Comeback,
    /// What runs containers there.
    #[serde(default)]
    pub containers: ContainerFacts,
}

/// From SIGTERM to SIGKILL where nothing says otherwise: Slurm's default of `KillWait`.
pub const KILL_WAIT: Seconds = Seconds(30);

/// What ends jobs of a cluster before their time, and how they come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comeback {
    /// Why requeueing does not bring a job back there, in words such as `preempted jobs are
    /// cancelled (PreemptMode=CANCEL)`; `None`: it does.
    pub no_requeue: Option<String>,
    /// Whether jobs can submit jobs.
    pub submit_from_nodes: bool,
    /// From SIGTERM to SIGKILL (`KillWait`).
    pub kill_wait: Seconds,
}

impl Default for Comeback {
    /// What Slurm is where it is not configured otherwise.
    fn default() -> Comeback {
        Comeback {
            no_requeue: None,
            submit_from_nodes: true,
            kill_wait: KILL_WAIT,
        }
    }
}

/// Nodes that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// How many there are.
    pub count: u32,
    /// CPUs of one node that jobs can have.
    pub cpus: u32,
    /// Memory of one node that jobs can have, in MiB.
    pub memory_mib: u64,
    /// GPUs of one node, by type.
    pub gpus: Vec<GpuGroup>,
}

impl NodeGroup {
    /// GPUs of one node, of that type or of any.
    #[must_use]
    pub fn gpus_of(&self, kind: Option<&str>) -> u32 {
        let wanted = |group: &&GpuGroup| kind.is_none_or(|kind| group.is_kind(kind));
        self.gpus
            .iter()
            .filter(wanted)
            .map(|group| group.count)
            .sum()
    }
}

/// GPUs of one type in one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuGroup {
    /// The GRES type, such as `v100`; `None` where the cluster names none.
    pub kind: Option<String>,
    /// How many.
    pub count: u32,
    /// Memory of one, in MiB, where known.
    pub memory_mib: Option<u64>,
}

impl GpuGroup {
    /// Whether a person who writes `kind` means these. Upper and lower case are one, as in Slurm.
    /// Without a Slurm the own kind is a product's name, of which `kind` may be a part; a type of
    /// Slurm's has no blank: it ends the value in `gres.conf`.
    #[must_use]
    pub fn is_kind(&self, kind: &str) -> bool {
        self.kind.as_deref().is_some_and(|own| {
            own.eq_ignore_ascii_case(kind)
                || own.contains(' ') && crate::values::is_gpu_kind(own, kind)
        })
    }
}

/// From where packages and data of the outside world can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Internet {
    /// On the machine where the command is given.
    Login,
    /// On the nodes too.
    Compute,
    /// Nowhere.
    None,
}
