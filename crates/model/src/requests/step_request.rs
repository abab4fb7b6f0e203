//! What one `srun` asks for.

use crate::values::{CpuBind, Distribution, GpuBind, GpuCount, NodeName};
use serde::{Deserialize, Serialize};

/// What one `srun` inside a job asks for, after its options and `SLURM_*` input variables were
/// put together. `None` means: as the job has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepRequest {
    /// `--job-name`, else the command's file name.
    pub name: String,
    /// The command line that asks for it, for accounting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submit_line: Option<String>,
    /// `--nodes`, least.
    pub min_nodes: Option<u32>,
    /// `--nodes`, greatest.
    pub max_nodes: Option<u32>,
    /// The number of nodes is the one that its job began with.
    pub nodes_inherited: bool,
    /// `--ntasks`
    pub tasks: Option<u32>,
    /// `--ntasks-per-node`
    pub tasks_per_node: Option<u32>,
    /// `--cpus-per-task`, of a job that `srun` asks for too; asked of the step itself it is `exact` too. One in a
    /// job around it that says none, nor its environment, has one CPU a task.
    pub cpus_per_task: Option<u32>,
    /// `--cpus-per-gpu`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_per_gpu: Option<u32>,
    /// `--threads-per-core`, or what `--hint` makes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads_per_core: Option<u32>,
    /// `--mem` in MiB; `Some(0)` takes none of the job's memory from other steps.
    pub memory: Option<u64>,
    /// `--gpus`, `--gres=gpu:…`, `--gpus-per-node`, per node.
    pub gpus_per_node: Option<GpuCount>,
    /// `--gpus-per-task`
    pub gpus_per_task: Option<GpuCount>,
    /// `--ntasks-per-gpu`
    pub tasks_per_gpu: Option<u32>,
    /// `--gpu-bind`, or what `--ntasks-per-gpu` and `--gpus-per-task` make of it.
    pub gpu_bind: Option<GpuBind>,
    /// `--overcommit`: several tasks on a CPU.
    pub overcommit: bool,
    /// `--overlap`: shares everything with other steps.
    pub overlap: bool,
    /// `--exact`
    pub exact: bool,
    /// `--nodelist`, expanded.
    pub nodelist: Vec<NodeName>,
    /// The node of each task under `--distribution=arbitrary`, in the order of ranks; else empty.
    pub task_nodes: Vec<NodeName>,
    /// `--exclude`, expanded.
    pub exclude: Vec<NodeName>,
    /// `--relative`: index of the first node.
    pub relative: Option<u32>,
    /// `--distribution`
    pub distribution: Option<Distribution>,
    /// `--cpu-bind`
    pub cpu_bind: Option<CpuBind>,
    /// `--kill-on-bad-exit`
    pub kill_on_bad_exit: bool,
    /// `--no-kill`: it goes on without a node that its job loses.
    pub no_kill: bool,
    /// `--resv-ports`
    pub reserved_ports: u32,
}
