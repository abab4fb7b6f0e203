//! What Slurm's commands send to a controller: the job as its options describe it.

use crate::requests::Sharing;
use crate::values::{
    Dependency, Distribution, GresList, MemoryRequest, NodeName, TimeLimitRequest, Timestamp,
    Variables,
};
use std::sync::Arc;

/// A job as it is sent. `None` was not asked for, and a controller chooses.
///
/// Names follow Slurm's `job_desc_msg_t`; counts that follow from others stand as its commands
/// work them out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobDescription {
    /// Tasks, where they were asked for or follow from what was.
    pub tasks: Option<u32>,
    /// Least number of nodes.
    pub min_nodes: Option<u32>,
    /// Greatest number of nodes.
    pub max_nodes: Option<u32>,
    /// Least number of CPUs in all.
    pub min_cpus: u32,
    /// `--cpus-per-task`
    pub cpus_per_task: Option<u32>,
    /// Least number of CPUs of a node: `--mincpus` or the CPUs of a task.
    pub min_cpus_per_node: Option<u32>,
    /// `--ntasks-per-node`
    pub tasks_per_node: Option<u32>,
    /// `--ntasks-per-socket`
    pub tasks_per_socket: Option<u32>,
    /// `--ntasks-per-core`
    pub tasks_per_core: Option<u32>,
    /// `--ntasks-per-gpu`
    pub tasks_per_gpu: Option<u32>,
    /// `--sockets-per-node`
    pub sockets_per_node: Option<u32>,
    /// `--cores-per-socket`
    pub cores_per_socket: Option<u32>,
    /// `--threads-per-core`
    pub threads_per_core: Option<u32>,
    /// `--mem`, `--mem-per-cpu` or `--mem-per-gpu`.
    pub memory: Option<MemoryRequest>,
    /// `--tmp`, in MiB.
    pub tmp_mib: Option<u64>,
    /// `--gpus`
    pub gres_per_job: GresList,
    /// `--gpus-per-node`, and behind it `--gres`.
    pub gres_per_node: GresList,
    /// `--gpus-per-socket`
    pub gres_per_socket: GresList,
    /// `--gpus-per-task`
    pub gres_per_task: GresList,
    /// `--cpus-per-gpu`
    pub cpus_per_gpu: Option<u32>,
    /// Generic resources of the whole job, by name and type: what the lists come to.
    pub gres_totals: Vec<GresTotal>,
    /// `--constraint`, as written.
    pub features: Option<String>,
    /// `--prefer`, as written.
    pub prefer: Option<String>,
    /// `--nodelist`, each once, in the order written; may be a million of them.
    pub nodelist: Arc<Vec<NodeName>>,
    /// `--exclude`, as the list.
    pub exclude: Arc<Vec<NodeName>>,
    /// `--distribution`
    pub distribution: Option<Distribution>,
    /// `--dependency`
    pub dependency: Option<Dependency>,
    /// `--licenses`
    pub licenses: Option<String>,
    /// Variables by which its steps find how it was asked for, beside those that follow from this.
    pub handed_on: Variables,
    /// `--hint`
    pub hint: Option<String>,
    /// `--overcommit`
    pub overcommit: bool,
    /// `--contiguous`
    pub contiguous: bool,
    /// `--spread-job`
    pub spread: bool,
    /// `--use-min-nodes`
    pub fewest_nodes: bool,
    /// Whether nodes are shared, where it was said.
    pub sharing: Option<Sharing>,
    /// `--core-spec` or `--thread-spec`
    pub core_spec: Option<u32>,
    /// `--reboot`
    pub reboot: bool,
    /// `--deadline`
    pub deadline: Option<Timestamp>,
    /// `--time`
    pub time: Option<TimeLimitRequest>,
    /// `--time-min`
    pub time_min: Option<TimeLimitRequest>,
    /// `--switches`: how many, and for how many seconds to wait for so few.
    pub switches: Option<(u32, Option<u64>)>,
    /// `--network`
    pub network: Option<String>,
    /// `--wckey`
    pub wckey: Option<String>,
    /// `--reservation`
    pub reservation: Option<String>,
    /// `--no-kill`
    pub no_kill: bool,
}

/// What a job asks of one generic resource, of one type or of any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GresTotal {
    /// `gpu`
    pub name: String,
    /// The type, such as `v100`.
    pub kind: Option<String>,
    /// For the whole job.
    pub per_job: u64,
    /// For each node.
    pub per_node: u64,
    /// For each socket.
    pub per_socket: u64,
    /// For each task.
    pub per_task: u64,
    /// CPUs for each.
    pub cpus_each: u64,
    /// Memory for each, in MiB.
    pub memory_each: u64,
    /// Tasks for each.
    pub tasks_each: Option<u32>,
    /// What the records count for the job before it has nodes.
    pub total: u64,
}
