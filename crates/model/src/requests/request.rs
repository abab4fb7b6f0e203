//! What a job asks for, after command line, environment and script were put together.

use super::{RareOptions, RareOptionsBox, ShownOptions};
use crate::values::{GpuCount, GresList, MemoryRequest, TimeLimitRequest};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;
use std::sync::LazyLock;

/// What one job asks for. A field that is `None` was not asked for; whoever places the job
/// chooses its default.
///
/// Stored and sent as JSON, in which only what was asked for stands: a new field needs a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, remote = "Self")]
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
    /// `--exclusive`
    pub exclusive: bool,
    /// `--time`; `None` is the partition's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeLimitRequest>,
    /// `--hold`
    pub hold: bool,
    /// `--nice`
    pub nice: i64,
    /// `--output` as written, `%` patterns unexpanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// `--chdir`, absolute.
    pub chdir: PathBuf,
    /// What few jobs ask for.
    #[serde(flatten)]
    pub rare: RareOptionsBox,
    /// What it asks and is only shown. No rare option: of a job that `sbatch` submitted the command line is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Box<ShownOptions>>,
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Request::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Request {
    /// Takes what earlier versions wrote as shown alone to where it stands now.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Request, D::Error> {
        let mut request = Request::deserialize(deserializer)?;
        if let Some(shown) = &mut request.shown {
            if let Some(deadline) = shown.former_deadline.take() {
                request.rare.deadline.get_or_insert(deadline);
            }
            if let Some(least) = shown.former_time_min.take() {
                request.rare.time_min.get_or_insert(least);
            }
            if **shown == ShownOptions::default() {
                request.shown = None;
            }
        }
        Ok(request)
    }
}

impl Request {
    /// The same with other rare options.
    #[must_use]
    pub fn with_rare(&self, change: impl FnOnce(&mut RareOptions)) -> Request {
        let mut request = self.clone();
        change(&mut request.rare);
        request
    }

    /// The memory that it asks for: none a GPU leaves it to the default, as no option does.
    #[must_use]
    pub fn asked_memory(&self) -> Option<MemoryRequest> {
        self.memory
            .filter(|memory| *memory != MemoryRequest::PerGpu(0))
    }
}

/// What few jobs ask of their nodes beside how many and how large.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeOptions {
    /// `--mincpus`
    pub min_cpus: Option<u32>,
    /// `NumCPUs=` of `scontrol update`: CPUs in all, whatever its tasks need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuRange>,
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
    /// `--prefer` as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
    /// `--spread-job`
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub spread: bool,
    /// `--use-min-nodes`: of a range of nodes the least, where that is enough.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fewest_nodes: bool,
    /// `--switches`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<AskedSwitches>,
    /// The number of nodes was not asked for: it follows from GPUs in all and of each node.
    pub nodes_follow: bool,
}

impl NodeOptions {
    /// Those of a job that asks for none.
    #[must_use]
    pub fn none() -> &'static NodeOptions {
        static NONE: LazyLock<NodeOptions> = LazyLock::new(NodeOptions::default);
        &NONE
    }
}

/// CPUs in all that a job asks for: `4`, `2-3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CpuRange {
    /// It has at least so many.
    pub least: u32,
    /// At most so many, which says no more than that the least is not above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
}

impl fmt::Display for CpuRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CpuRange { least, most } = self;
        match most.filter(|most| most > least) {
            Some(most) => write!(out, "{least}-{most}"),
            None => write!(out, "{least}"),
        }
    }
}

/// `--switches=COUNT[@TIME]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AskedSwitches {
    /// Its nodes are behind at most so many of the lowest switches.
    pub count: u32,
    /// For so few it waits so many seconds at most; without a number as long as the cluster lets it.
    pub wait: Option<u64>,
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
    /// `--gres-flags=enforce-binding`
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enforce_binding: bool,
    /// GPUs of a node were asked for with `--gres` alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_by_gres: bool,
}

impl AskedTres {
    /// Whether nothing was asked in these ways.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == AskedTres::default()
    }
}
