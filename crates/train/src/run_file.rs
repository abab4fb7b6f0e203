//! What a run file says, typed, each value with its line.

use crate::{HookForm, Launcher, MailServer, Mount, Resolved};
use model::{ContainerRuntime, MailEvent, Seconds, TimeLimitRequest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run file (`yard.toml`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFile {
    /// `on`, of the user's config alone: the cluster that runs go to.
    pub on: Option<Resolved<String>>,
    /// `poll`, of the user's config alone: the least time between two questions to a Slurm.
    pub poll: Option<Resolved<Seconds>>,
    /// What holds everywhere.
    pub body: Sections,
    /// `[cluster.NAME]`: only what differs there.
    pub clusters: BTreeMap<String, Sections>,
}

/// The keys of a run file, or of one `[cluster.NAME]` of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// `name`
    pub name: Option<Resolved<String>>,
    /// `launcher`
    pub launcher: Option<Resolved<Launcher>>,
    /// `launcher_options`
    pub launcher_options: Option<Resolved<Vec<String>>>,
    /// `command`, placeholders unreplaced; never empty.
    pub command: Option<Resolved<Vec<String>>>,
    /// `repeat`, at least 1.
    pub repeat: Option<Resolved<u32>>,
    /// `at_once`, at least 1.
    pub at_once: Option<Resolved<u32>>,
    /// `[resources]`
    pub resources: ResourceSection,
    /// `[environment]`
    pub environment: EnvironmentSection,
    /// `[after]`
    pub after: AfterSection,
    /// `[data]`
    pub data: DataSection,
    /// `[checkpoints]`
    pub checkpoints: CheckpointSection,
    /// `[resume]`
    pub resume: ResumeSection,
    /// `[watch]`
    pub watch: WatchSection,
    /// `[notify]`
    pub notify: NotifySection,
    /// `[services]`
    pub services: ServiceSection,
}

/// `[resources]`: also what the flags of `yard run` give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceSection {
    /// `nodes`, at least 1.
    pub nodes: Option<Resolved<u32>>,
    /// `ranks_per_node`, at least 1.
    pub ranks_per_node: Option<Resolved<u32>>,
    /// `gpus_per_node`
    pub gpus_per_node: Option<Resolved<u32>>,
    /// `gpus`: of all nodes together.
    pub gpus: Option<Resolved<u32>>,
    /// `gpu_type`
    pub gpu_type: Option<Resolved<String>>,
    /// `gpu_memory`: at least so much on each GPU.
    pub gpu_memory: Option<Resolved<GpuMemory>>,
    /// `cpus_per_rank`, at least 1.
    pub cpus_per_rank: Option<Resolved<u32>>,
    /// `cpus_per_gpu`, at least 1.
    pub cpus_per_gpu: Option<Resolved<u32>>,
    /// `memory`, of a node.
    pub memory: Option<Resolved<MemorySize>>,
    /// `memory_per_gpu`, in MiB.
    pub memory_per_gpu: Option<Resolved<u64>>,
    /// `memory_per_cpu`, in MiB.
    pub memory_per_cpu: Option<Resolved<u64>>,
    /// `time`
    pub time: Option<Resolved<TimeLimitRequest>>,
    /// `account`
    pub account: Option<Resolved<String>>,
    /// `qos`
    pub qos: Option<Resolved<String>>,
    /// `partition`
    pub partition: Option<Resolved<String>>,
    /// `exclusive`
    pub exclusive: Option<Resolved<bool>>,
    /// `constraint`
    pub constraint: Option<Resolved<String>>,
    /// `sbatch`: options that a site demands, as they are.
    pub sbatch: Option<Resolved<Vec<String>>>,
}

/// An amount of a node's memory in MiB; 0 is all of it, and none leaves it to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemorySize(pub Option<u64>);

/// The least memory of a GPU in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuMemory(pub u64);

/// `[environment]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentSection {
    /// `venv`, `requirements` or `conda`: at most one.
    pub python: Option<Resolved<PythonChoice>>,
    /// `modules`
    pub modules: Option<Resolved<Vec<String>>>,
    /// `[environment.container]`
    pub container: ContainerSection,
    /// `variables`
    pub variables: Option<Resolved<BTreeMap<String, String>>>,
    /// `secrets`: names of variables.
    pub secrets: Option<Resolved<Vec<String>>>,
}

/// `[environment.container]`; paths are as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerSection {
    /// `image`
    pub image: Option<Resolved<String>>,
    /// `runtime`
    pub runtime: Option<Resolved<ContainerRuntime>>,
    /// `mounts`
    pub mounts: Option<Resolved<Vec<Mount>>>,
    /// `workdir`
    pub workdir: Option<Resolved<String>>,
    /// `home`
    pub home: Option<Resolved<String>>,
    /// `entrypoint`
    pub entrypoint: Option<Resolved<bool>>,
    /// `writable`
    pub writable: Option<Resolved<bool>>,
    /// `copy_to_node`
    pub copy_to_node: Option<Resolved<bool>>,
    /// `options`
    pub options: Option<Resolved<Vec<String>>>,
}

/// Which Python the ranks get. Paths are as written: against the run file's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PythonChoice {
    /// A virtual environment that exists.
    Venv(String),
    /// A requirements file, from which one is made.
    Requirements(String),
    /// A conda environment: its name or its folder.
    Conda(String),
}

/// `[after]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AfterSection {
    /// `run`: a name or an id.
    pub run: Option<Resolved<String>>,
}

/// `[data]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSection {
    /// `stage`: files and folders; archives are unpacked.
    pub stage: Option<Resolved<Vec<String>>>,
    /// `collect`: patterns.
    pub collect: Option<Resolved<Vec<String>>>,
    /// `local_logs`
    pub local_logs: Option<Resolved<bool>>,
}

/// `[checkpoints]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointSection {
    /// `keep`
    pub keep: Option<Resolved<Keep>>,
    /// `complete`
    pub complete: Option<Resolved<CompleteWord>>,
    /// `marker`: the file's name.
    pub marker: Option<Resolved<String>>,
    /// `settle`: how long.
    pub settle: Option<Resolved<Seconds>>,
}

/// Which checkpoints of the run folder stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// All.
    All,
    /// The newest so many, at least 1.
    Newest(u32),
}

/// The words of `complete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompleteWord {
    /// `"rename"`
    Rename,
    /// `"marker"`
    Marker,
    /// `"settle"`
    Settle,
}

/// How it is seen that a checkpoint is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complete {
    /// By its format; one of an unknown format when nothing of it changed for so long.
    Recognise {
        /// Seconds without a change.
        settle: Seconds,
    },
    /// The program renames it into place: what has a name without a leading dot and without the
    /// endings `.tmp`, `.part` and `.incomplete` is whole.
    Rename,
    /// A file of this name beside (`<entry>.<marker>`) or inside (`<entry>/<marker>`) it is
    /// written last.
    Marker {
        /// The name.
        name: String,
    },
    /// Nothing of it changed for so long, whatever its format.
    Settle {
        /// Seconds without a change.
        settle: Seconds,
    },
}

/// `[resume]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumeSection {
    /// `on`
    pub on: Option<Resolved<Vec<ResumeOn>>>,
    /// `by`
    pub by: Option<Resolved<ResumeBy>>,
    /// `grace`
    pub grace: Option<Resolved<Seconds>>,
    /// `notify`
    pub notify: Option<Resolved<Notify>>,
    /// `args`
    pub args: Option<Resolved<Vec<String>>>,
    /// `own_checkpoints`
    pub own_checkpoints: Option<Resolved<bool>>,
}

/// After what a run comes back by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResumeOn {
    /// The time limit.
    Timeout,
    /// Preemption.
    Preemption,
    /// A lost node.
    NodeFailure,
}

/// By which way a run comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResumeBy {
    /// The same job is queued again.
    #[default]
    Requeue,
    /// Another job waits from the start and takes over.
    Successor,
}

impl ResumeOn {
    /// The word of the run file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ResumeOn::Timeout => "timeout",
            ResumeOn::Preemption => "preemption",
            ResumeOn::NodeFailure => "node-failure",
        }
    }
}

/// How the program hears that its job is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// Not at all: an unhandled signal would kill it.
    None,
    /// A file `stop` in the folder of `{checkpoints}`' parent; its path is in `YARD_STOP_FILE`.
    File,
    /// SIGTERM
    Sigterm,
    /// SIGUSR1
    Sigusr1,
}

/// `[watch]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchSection {
    /// `hang`
    pub hang: Option<Resolved<Seconds>>,
    /// `on_hang`
    pub on_hang: Option<Resolved<OnHang>>,
}

/// What is done about ranks that hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnHang {
    /// The run comes back, as after the loss of a node.
    Restart,
    /// It fails.
    End,
    /// It goes on, and its log says so.
    Log,
}

/// `[notify]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifySection {
    /// `mail`: an address.
    pub mail: Option<Resolved<String>>,
    /// `on`
    pub on: Option<Resolved<Vec<MailEvent>>>,
    /// `server`
    pub server: Option<Resolved<MailServer>>,
    /// `password_file`
    pub password_file: Option<Resolved<String>>,
    /// `from`
    pub from: Option<Resolved<String>>,
    /// `hook_file`
    pub hook_file: Option<Resolved<String>>,
    /// `hook_form`
    pub hook_form: Option<Resolved<HookForm>>,
}

/// `[services]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceSection {
    /// `tensorboard`
    pub tensorboard: Option<Resolved<bool>>,
    /// `jupyter`
    pub jupyter: Option<Resolved<bool>>,
    /// `[services.NAME]`
    pub named: BTreeMap<String, NamedService>,
}

/// `[services.NAME]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedService {
    /// `command`, placeholders unreplaced; never empty.
    pub command: Option<Resolved<Vec<String>>>,
    /// `port`, from 1 to 65535.
    pub port: Option<Resolved<u32>>,
}
