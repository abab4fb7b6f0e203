//! A step as `srun` asks for it, and its tasks as they are handed to a node.

use model::{GpuIndex, OpenMode, StepRequest, Variables};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a step is in one component of a heterogeneous job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepPart {
    /// Which component, counted from 0.
    pub component: u32,
    /// Tasks, nodes, CPUs.
    pub request: StepRequest,
    /// Where its tasks run, read and write; those of the step where it has none, as an older `srun` sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<TaskFiles>,
    /// The variables of its tasks, where they are others than the step's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Variables>,
}

/// Where tasks run, read and write.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFiles {
    /// Working directory.
    pub chdir: PathBuf,
    /// `--output`, unexpanded: `None` sends to srun's socket.
    pub output: Option<String>,
    /// `--error`, unexpanded.
    pub error: Option<String>,
    /// `--input`: a file pattern, `none`, or `None` for srun's own stdin sent to every task.
    pub input: Option<String>,
    /// `--label`: each line in a file begins with its task's rank. `srun` labels what is sent to it by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub label: bool,
}

/// What runs in a step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StepLaunch {
    /// The command, found on the task's PATH.
    pub command: Vec<String>,
    /// `--multi-prog`: a command for each rank, in place of `command`.
    pub programs: Vec<Vec<String>>,
    /// In a heterogeneous job: its part in each of the components in which it runs, in the order of
    /// its ranks; the step's own request is not looked at then.
    pub parts: Vec<StepPart>,
    /// The environment that `srun` was called with; the supervisor adds the step's variables.
    pub environment: Vec<(String, String)>,
    /// `--preserve-env`: of nodes and tasks that environment keeps its counts.
    pub preserve_env: bool,
    /// Where its tasks run, read and write.
    #[serde(flatten)]
    pub files: TaskFiles,
    /// umask.
    pub umask: u32,
    /// `--open-mode`
    pub open_mode: Option<OpenMode>,
    /// The socket on which `srun` listens for the supervisors' connections.
    pub listen: Option<PathBuf>,
    /// `--pty`: task 0 gets a terminal.
    pub pty: bool,
    /// Time limit of the step in seconds.
    pub time: Option<u64>,
    /// `--task-prolog`
    pub task_prolog: Option<String>,
    /// `--task-epilog`
    pub task_epilog: Option<String>,
    /// The tasks wait for [`ToSupervisor::Start`](crate::step_io::ToSupervisor::Start).
    pub waits: bool,
}

/// A step that is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NewStep {
    /// Names the request, however often it is sent.
    pub name: StepRequestName,
    /// What it asks for.
    pub request: StepRequest,
    /// What runs in it.
    pub launch: StepLaunch,
}

/// What a request for a step is recognised by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepRequestName {
    /// Made by the client; the same token twice in one start of a job is the same step, answered
    /// again. Empty, as from yard 0.1.0: each request is another.
    pub token: String,
    /// It was sent before, and what became of it is not known: also steps that have ended are
    /// looked through.
    pub again: bool,
}

/// One task of a step on one node: for spec files.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepTask {
    /// `SLURM_PROCID`
    pub rank: u32,
    /// `SLURM_LOCALID`
    pub local: u32,
    /// CPUs it may use.
    pub cpus: Vec<u32>,
    /// On a pretended node the CPUs of the step there that would be its own, by their places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pretended_cpus: Vec<u32>,
    /// GPUs of its step on the node: all of them, unless it is bound to some.
    pub gpus: Vec<GpuIndex>,
}
