//! What a job asks for, after command line, environment and script were put together.

use crate::{GresList, NodeName, Seconds, Timestamp};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// What one job asks for. A field that is `None` was not asked for; whoever places the job
/// chooses its default.
///
/// Stored as JSON in the engine's store: a new field needs `#[serde(default)]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// `--job-name`; the script's file name or `wrap` where not given.
    pub name: String,
    /// `--account`
    pub account: Option<String>,
    /// `--partition`
    pub partition: Option<String>,
    /// `--qos`
    pub qos: Option<String>,
    /// `--nodes`: least number of nodes.
    pub min_nodes: Option<u32>,
    /// `--nodes`: greatest number of nodes.
    pub max_nodes: Option<u32>,
    /// `--ntasks`
    pub tasks: Option<u32>,
    /// `--ntasks-per-node`
    pub tasks_per_node: Option<u32>,
    /// `--cpus-per-task`
    pub cpus_per_task: Option<u32>,
    /// `--mem`, `--mem-per-cpu`, `--mem-per-gpu`: one of the three.
    pub memory: Option<MemoryRequest>,
    /// `--gpus`, for the whole job.
    pub gpus: Option<GpuCount>,
    /// `--gpus-per-node`, or `--gres=gpu:…`.
    pub gpus_per_node: Option<GpuCount>,
    /// `--gpus-per-task`
    pub gpus_per_task: Option<GpuCount>,
    /// `--cpus-per-gpu`
    pub cpus_per_gpu: Option<u32>,
    /// The same in the words in which it was asked for.
    #[serde(skip_serializing_if = "AskedTres::is_empty")]
    pub asked: AskedTres,
    /// `--exclusive`
    pub exclusive: bool,
    /// `--time`; `None` is the partition's default.
    pub time: Option<TimeLimitRequest>,
    /// `--begin`
    pub begin: Option<Timestamp>,
    /// `--hold`
    pub hold: bool,
    /// `--nice`
    pub nice: i64,
    /// `--priority`
    pub priority: Option<u32>,
    /// `--dependency` in Slurm's own syntax, validated.
    pub dependency: Option<String>,
    /// `--array`
    pub array: Option<ArraySpec>,
    /// `--signal`
    pub signal: Option<SignalSpec>,
    /// `--requeue` or `--no-requeue`
    pub requeue: Option<bool>,
    /// `--output` as written, `%` patterns unexpanded.
    pub output: Option<String>,
    /// `--error` as written.
    pub error: Option<String>,
    /// `--input` as written.
    pub input: Option<String>,
    /// `--open-mode`
    pub open_mode: Option<OpenMode>,
    /// `--chdir`, absolute.
    pub chdir: PathBuf,
    /// `--comment`
    pub comment: Option<String>,
    /// `--constraint` as written.
    pub constraint: Option<String>,
    /// `--nodelist`, expanded; shared, as it may be of a million names.
    pub nodelist: Arc<Vec<NodeName>>,
    /// `--exclude`, expanded.
    pub exclude: Arc<Vec<NodeName>>,
    /// `--reservation`
    pub reservation: Option<String>,
    /// `--mail-type`
    pub mail_types: Vec<MailEvent>,
    /// `--mail-user`
    pub mail_user: Option<String>,
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

/// A time limit as asked: seconds, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLimitRequest {
    /// At most this long. The embedded engine keeps seconds; Slurm's syntax rounds up to minutes.
    Limit(Seconds),
    /// `UNLIMITED`
    Unlimited,
}

/// Memory as asked, in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRequest {
    /// `--mem`; 0 is all of a node's.
    PerNode(u64),
    /// `--mem-per-cpu`
    PerCpu(u64),
    /// `--mem-per-gpu`
    PerGpu(u64),
}

/// A number of GPUs, of one type or of any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuCount {
    /// The GRES type, such as `v100`.
    pub kind: Option<String>,
    /// How many.
    pub count: u32,
}

/// The elements of a job array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Indices, ascending, each once. Stored and sent as text: an array's row is written anew at
    /// the start of each of its elements.
    #[serde(with = "crate::array_spec::indices_as_text")]
    pub indices: Vec<u32>,
    /// The step that was written, `2` in `1-5:2`; 1 where none was. Jobs are told of it.
    pub step: u32,
    /// `%N`: at most so many at once.
    pub throttle: Option<u32>,
}

/// `--signal=[R][B][:]SIG[@SECONDS]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSpec {
    /// The signal's number.
    pub signal: i32,
    /// So long before the limit.
    pub before: Seconds,
    /// Who gets it.
    pub target: SignalTarget,
}

/// Who gets the warning signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalTarget {
    /// Every step but the batch script (the default).
    Steps,
    /// `B:` the batch shell alone.
    BatchShell,
}

/// `--open-mode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenMode {
    /// Keep what the file holds.
    Append,
    /// Empty it first (Slurm's default).
    Truncate,
}

/// `--mail-type`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailEvent {
    /// `BEGIN`
    Begin,
    /// `END`
    End,
    /// `FAIL`
    Fail,
    /// `REQUEUE`
    Requeue,
    /// `TIME_LIMIT`
    TimeLimit,
    /// `TIME_LIMIT_90`: nine tenths of it are over.
    TimeLimit90,
    /// `TIME_LIMIT_80`
    TimeLimit80,
    /// `TIME_LIMIT_50`
    TimeLimit50,
    /// `INVALID_DEPEND`: a dependency can never be met.
    InvalidDepend,
    /// `STAGE_OUT`: a burst buffer is written out.
    StageOut,
    /// `ARRAY_TASKS`: each element of an array, not the whole.
    ArrayTasks,
}
