//! What a job asks for, after command line, environment and script were put together.

use crate::values::{
    ArraySpec, Distribution, GpuCount, GresList, MailEvent, MemoryRequest, NodeName, OpenMode,
    SignalSpec, TimeLimitRequest, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// What one job asks for. A field that is `None` was not asked for; whoever places the job
/// chooses its default.
///
/// Stored and sent as JSON, in which only what was asked for stands: a new field needs a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// `--job-name`; the script's file name or `wrap` where not given.
    pub name: String,
    /// `--account`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// `--partition`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// `--qos`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qos: Option<String>,
    /// `--nodes`: least number of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_nodes: Option<u32>,
    /// `--nodes`: greatest number of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_nodes: Option<u32>,
    /// `--ntasks`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    /// `--ntasks-per-node`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_per_node: Option<u32>,
    /// `--cpus-per-task`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_per_task: Option<u32>,
    /// `--mem`, `--mem-per-cpu`, `--mem-per-gpu`: one of the three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryRequest>,
    /// `--gpus`, for the whole job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<GpuCount>,
    /// `--gpus-per-node`, or `--gres=gpu:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus_per_node: Option<GpuCount>,
    /// `--gpus-per-task`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus_per_task: Option<GpuCount>,
    /// `--cpus-per-gpu`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_per_gpu: Option<u32>,
    /// The same in the words in which it was asked for.
    #[serde(skip_serializing_if = "AskedTres::is_empty")]
    pub asked: AskedTres,
    /// `--exclusive`
    pub exclusive: bool,
    /// `--time`; `None` is the partition's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeLimitRequest>,
    /// `--begin`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin: Option<Timestamp>,
    /// `--hold`
    pub hold: bool,
    /// `--nice`
    pub nice: i64,
    /// `--priority`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// `--dependency` in Slurm's own syntax, validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependency: Option<String>,
    /// `--array`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<ArraySpec>,
    /// `--signal`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalSpec>,
    /// `--requeue` or `--no-requeue`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue: Option<bool>,
    /// `--output` as written, `%` patterns unexpanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// `--error` as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `--input` as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// `--open-mode`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_mode: Option<OpenMode>,
    /// `--distribution`, which the job's steps take over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// `--no-shell`: the allocation stays when the client that asked for it is gone.
    #[serde(skip_serializing_if = "is_false")]
    pub no_shell: bool,
    /// `--chdir`, absolute.
    pub chdir: PathBuf,
    /// `--comment`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// `--constraint` as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// `--nodelist`, expanded; shared, as it may be of a million names.
    #[serde(skip_serializing_if = "is_empty_list")]
    pub nodelist: Arc<Vec<NodeName>>,
    /// `--exclude`, expanded.
    #[serde(skip_serializing_if = "is_empty_list")]
    pub exclude: Arc<Vec<NodeName>>,
    /// `--reservation`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// `--mail-type`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mail_types: Vec<MailEvent>,
    /// `--mail-user`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail_user: Option<String>,
    /// What else it asks of its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_options: Option<Box<NodeOptions>>,
}

/// Serde asks by reference.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_empty_list(list: &Arc<Vec<NodeName>>) -> bool {
    list.is_empty()
}

/// What few jobs ask of their nodes beside how many and how large.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeOptions {
    /// `--mincpus`
    pub min_cpus: Option<u32>,
    /// `--tmp`, in MiB.
    pub tmp_mib: Option<u64>,
    /// `--sockets-per-node`
    pub sockets_per_node: Option<u32>,
    /// `--cores-per-socket`
    pub cores_per_socket: Option<u32>,
    /// `--threads-per-core`
    pub threads_per_core: Option<u32>,
    /// `--ntasks-per-socket`
    pub tasks_per_socket: Option<u32>,
    /// `--ntasks-per-core`
    pub tasks_per_core: Option<u32>,
    /// `--contiguous`
    pub contiguous: bool,
    /// `--overcommit`
    pub overcommit: bool,
    /// Whether nodes are shared, where it was said.
    pub sharing: Option<Sharing>,
    /// The number of nodes was not asked for: it follows from GPUs in all and of each node.
    pub nodes_follow: bool,
}

/// Who else may have a node of the job: `--exclusive` and `--oversubscribe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// `--exclusive`
    Exclusive,
    /// `--exclusive=user`
    User,
    /// `--exclusive=mcs`
    Mcs,
    /// `--oversubscribe`
    Anybody,
}

/// What Slurm's commands send of generic resources as it was written, and `scontrol show job`
/// repeats: counts follow from it, but not it from counts. Empty where no such command asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AskedTres {
    /// `--gpus`
    pub per_job: GresList,
    /// `--gpus-per-node`, and behind it `--gres`.
    pub per_node: GresList,
    /// `--gpus-per-socket`
    pub per_socket: GresList,
    /// `--gpus-per-task`
    pub per_task: GresList,
    /// `--gpu-bind`, such as `gpu:closest`.
    pub bind: Option<String>,
    /// `--gpu-freq`, such as `gpu:high`.
    pub frequency: Option<String>,
    /// `--ntasks-per-gpu`
    pub tasks_of_each: Option<u32>,
}

impl AskedTres {
    /// Whether nothing was asked in these ways.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == AskedTres::default()
    }
}
