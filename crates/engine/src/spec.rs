//! What engine and supervisor say to each other: a [`StepSpec`] through the fork server, the
//! supervisor's record ([`PidFile`], [`ExitFile`]; see `record.rs`), and six verbs on its socket.
//!
//! A supervisor may be older than the engine that reads its record, and outlives the one that
//! started it: record and verbs are frozen, and a new field needs `#[serde(default)]`. The spec is
//! between one program and its own fork.

use crate::{BootTime, RecordTag, SupervisorKey};
use api::StepTask;
use model::{
    CpuBind, GpuBind, GpuIndex, JobId, NodeName, OpenMode, RestartCount, SignalSpec, StepId,
    TaskUsage, Timestamp, Usage, WaitStatus,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// SIGURG asks a supervisor to listen on its socket. Most are never spoken to, and a socket is a
/// file more to make. Sent to any other process, the signal does nothing.
pub const LISTEN: i32 = 23;

/// All that a supervisor needs to run its node's part of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepSpec {
    /// Whose step.
    pub job: JobId,
    /// The job of the whole step, where this is its part in a later component of that.
    #[serde(default)]
    pub leader: Option<JobId>,
    /// Of which start.
    pub restart: RestartCount,
    /// Which step.
    pub step: StepId,
    /// Index of this node in the job's part of the step, counted from 0.
    pub node_index: u32,
    /// How many nodes of the step stand before this job's, in other components of a heterogeneous job.
    #[serde(default)]
    pub first_node: u32,
    /// Of which submission.
    #[serde(default)]
    pub tag: Option<RecordTag>,
    /// This node.
    pub node: NodeName,
    /// The folder of isolated nodes; none where this node is the machine.
    #[serde(default)]
    pub nodes: Option<PathBuf>,
    /// On an isolated node the job sees its own processes alone.
    #[serde(default)]
    pub own_processes: bool,
    /// The folder that the job has to itself on an isolated node's disk, where its cluster gives jobs one.
    #[serde(default)]
    pub job_folder: Option<JobFolder>,
    /// The engine's folder (`TRAINYARD_ENGINE`).
    pub engine: PathBuf,
    /// The pinned program, to start an engine with when none answers.
    pub binary: PathBuf,
    /// Owner: a supervisor that runs as root starts the tasks as this user.
    pub uid: u32,
    /// Owner's group.
    pub gid: u32,
    /// Owner's name (`%u`, initgroups).
    pub user: String,
    /// The job's name (`%x`).
    pub job_name: String,
    /// The array's id (`%A`) and this element (`%a`).
    #[serde(default)]
    pub array: Option<(JobId, u32)>,
    /// What every task runs.
    pub program: Program,
    /// The environment to begin with.
    pub environment: Environment,
    /// Set over it, in this order. The supervisor itself adds what differs between tasks:
    /// `SLURM_PROCID`, `SLURM_LOCALID`, `SLURM_TASK_PID` and, where a task has GPUs,
    /// `CUDA_VISIBLE_DEVICES`, `ROCR_VISIBLE_DEVICES`, `GPU_DEVICE_ORDINAL`.
    pub variables: Vec<(String, String)>,
    /// Taken away from it before `variables` are set: a name, or the beginning of one with `*`.
    #[serde(default)]
    pub removed: Vec<String>,
    /// Working directory.
    pub chdir: PathBuf,
    /// umask of the tasks.
    pub umask: u32,
    /// The tasks of this node, in rank order. A batch step has one.
    pub tasks: Vec<StepTask>,
    /// Tasks of the step on all nodes.
    pub step_tasks: u32,
    /// `--cpu-bind`; what comes of it stands in `tasks`.
    #[serde(default)]
    pub cpu_bind: Option<CpuBind>,
    /// How its tasks are bound to the GPUs that the step has on the node.
    #[serde(default)]
    pub gpu_bind: Option<GpuBind>,
    /// GPUs of the node.
    #[serde(default)]
    pub node_gpus: u32,
    /// Standard streams.
    pub streams: Streams,
    /// Uuids of GPUs whose machine-wide locks are held with the engine's, so that they are held
    /// while the step runs whatever becomes of the engine. The batch step has its job's on all
    /// nodes, another step its own on this node.
    #[serde(default)]
    pub gpu_locks: Vec<String>,
    /// The devices of the node's GPUs, each of which is closed to the step unless it has the GPU. Empty
    /// where one of them is not known, or the GPUs are pretended.
    #[serde(default)]
    pub gpu_devices: Vec<GpuDevice>,
    /// The CPUs that the step's processes can't leave, where a control group can be made; empty is no
    /// bound but what each task is bound to.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// They can't from its first moment on, which takes the kernel milliseconds.
    #[serde(default)]
    pub cpus_at_once: bool,
    /// CPUs that are locked with the engine's locks, as its GPUs are.
    #[serde(default)]
    pub cpu_locks: Vec<u32>,
    /// MiB that the step may use on this node; `None` is no bound.
    #[serde(default)]
    pub memory: Option<u64>,
    /// MiB that all steps of the job may use on this node together; `None` is no bound.
    #[serde(default)]
    pub job_memory: Option<u64>,
    /// The job asked for no memory: what it has is its partition's or its cluster's default.
    #[serde(default)]
    pub default_memory: bool,
    /// When the time limit strikes: SIGCONT, SIGTERM, `kill_wait_ms`, SIGKILL.
    #[serde(default)]
    pub deadline: Option<BootTime>,
    /// The step's own part in that (`srun --time`), which stays where its job's limit becomes another.
    #[serde(default)]
    pub own_deadline: Option<BootTime>,
    /// `--signal`; sent `before` the deadline. A batch step obeys `SignalTarget::BatchShell`
    /// (its first process alone), a numbered step `SignalTarget::Steps` (all its tasks).
    #[serde(default)]
    pub warning: Option<SignalSpec>,
    /// From SIGTERM to SIGKILL.
    pub kill_wait_ms: u64,
    /// The first task that ends badly ends the step on this node (`srun` ends the others).
    #[serde(default)]
    pub kill_on_bad_exit: bool,
    /// It goes on without a node that its job loses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_kill: bool,
    /// No task is started, and `srun` hears this.
    #[serde(default)]
    pub refused: Option<String>,
    /// What runs before and after each task: the cluster's, then the step's own.
    #[serde(default)]
    pub around_tasks: [AroundTask; 2],
}

/// A folder of a job alone on a node's disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFolder {
    /// The variable that names it in the job, such as `SLURM_TMPDIR`.
    pub variable: String,
    /// What it is called in the node's `/tmp`.
    pub name: String,
}

/// A GPU's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuDevice {
    /// Which GPU.
    pub gpu: GpuIndex,
    /// Its driver's number.
    pub major: u32,
    /// Its own.
    pub minor: u32,
}

/// Programs of one party that run before and after a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AroundTask {
    /// In the task's process.
    pub prolog: Option<String>,
    /// After its end.
    pub epilog: Option<String>,
}

impl EndedBy {
    /// Whether it is memory, the step's or the job's.
    #[must_use]
    pub fn is_memory(self) -> bool {
        matches!(self, EndedBy::Memory | EndedBy::JobMemory)
    }
}

impl StepSpec {
    /// Index of this node in the whole step (`%n`), counted from 0.
    pub fn index_in_step(&self) -> u32 {
        self.first_node.saturating_add(self.node_index)
    }

    /// Whose spec this is.
    #[must_use]
    pub fn key(&self) -> SupervisorKey {
        SupervisorKey {
            job: self.job,
            restart: self.restart,
            step: self.step,
            node: self.node_index,
            tag: self.tag,
        }
    }
}

/// An environment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// A file with pairs of name and value (JSON).
    File(PathBuf),
    /// Pairs of name and value.
    Given(Vec<(String, String)>),
}

/// Names the variables only: values may be secrets.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Environment::File(path) => f.debug_tuple("File").field(path).finish(),
            Environment::Given(pairs) => f
                .debug_set()
                .entries(pairs.iter().map(|(name, _)| name))
                .finish(),
        }
    }
}

/// What a task runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// The batch script: an executable file with its interpreter line.
    Script {
        /// The file; also `argv[0]`.
        path: PathBuf,
        /// Arguments after it.
        args: Vec<String>,
    },
    /// A command of `srun`; its first word is looked for on the task's `PATH`.
    Command(Vec<String>),
    /// A command of its own for each of the node's tasks (`srun --multi-prog`).
    Each(Vec<Vec<String>>),
}

/// Where a task's standard streams go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// Files; folders that are missing are made.
    Files {
        /// Pattern, unexpanded, relative to `chdir`.
        output: String,
        /// Pattern; `None` joins it with the output.
        error: Option<String>,
        /// Pattern; `None` is `/dev/null`.
        input: Option<String>,
        /// Whether the files keep what they hold.
        open_mode: OpenMode,
    },
    /// `srun`'s socket, for each stream that has no file of its own.
    Srun {
        /// Where `srun` listens.
        listen: PathBuf,
        /// Task 0 gets a terminal.
        pty: bool,
        /// `--output` as written.
        output: Option<String>,
        /// `--error` as written.
        error: Option<String>,
        /// `--input` as written: a pattern, `none`, or `None` for srun's stdin.
        input: Option<String>,
        /// Whether files keep what they hold.
        open_mode: OpenMode,
        /// Each line in a file begins with its task's rank.
        #[serde(default)]
        label: bool,
        /// No task starts before `srun` says so.
        #[serde(default)]
        waits: bool,
    },
}

/// Who the supervisor is: process number, its start time, and the boot that both belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidFile {
    /// Process number.
    pub pid: u32,
    /// Field 22 of `/proc/<pid>/stat`, against a number used again.
    pub start_time: u64,
    /// The boot.
    pub boot_id: String,
}

impl PidFile {
    /// What names this process, in the boot `boot_id`.
    pub(crate) fn of_this_process(boot_id: String) -> PidFile {
        let pid = std::process::id();
        PidFile {
            pid,
            start_time: sys::process::start_time(pid).unwrap_or(0),
            boot_id,
        }
    }
}

/// How the node's part of the step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitFile {
    /// The boot during which it was written.
    pub boot_id: String,
    /// When the last process was gone.
    pub at: Timestamp,
    /// One entry a task that was started, in rank order.
    pub tasks: Vec<TaskExit>,
    /// Why no task could be started (a missing working directory, say).
    #[serde(default)]
    pub launch_error: Option<String>,
    /// What ended the tasks, if it wasn't themselves.
    #[serde(default)]
    pub ended_by: Option<EndedBy>,
    /// What the step's processes used that had ended by then.
    #[serde(default)]
    pub usage: Option<Usage>,
}

impl ExitFile {
    /// Of a step whose supervisor never began, and why where that was a failure.
    pub(crate) fn unstarted(at: Timestamp, launch_error: Option<String>) -> ExitFile {
        ExitFile {
            boot_id: sys::boot_id(),
            at,
            tasks: Vec::new(),
            ended_by: launch_error.is_none().then_some(EndedBy::Stop),
            launch_error,
            usage: None,
        }
    }
}

/// How one task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskExit {
    /// Its rank.
    pub rank: u32,
    /// What `wait` said.
    pub status: WaitStatus,
    /// What it used, where that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<TaskUsage>,
}

/// What ended a step before its tasks ended by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The deadline of the spec, or one set with [`Because::Limit`].
    Limit,
    /// A deadline set with [`Because::Stop`]: cancelled, requeued, or the job's end.
    Stop,
    /// Its processes held more memory than the step may.
    Memory,
    /// The processes of all steps of its job held more on the node than the job may.
    JobMemory,
}

/// A line of JSON that the engine (or `srun`) sends to a supervisor's socket. Frozen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum SupervisorCall {
    /// Who is there.
    Hello,
    /// How its tasks stand.
    Status,
    /// Sends a signal.
    Signal {
        /// Its number.
        signal: i32,
        /// To whom.
        reach: Reach,
    },
    /// Sets the deadline anew; a moment that has passed begins the end (SIGCONT, SIGTERM, …) at
    /// once. An end that has begun is not taken back.
    Deadline {
        /// When; `None` is never.
        at: Option<Timestamp>,
        /// What it will be called in the exit file.
        because: Because,
        /// The node of the job whose loss ends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost_node: Option<NodeName>,
        /// Its job loses its place to another.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        preempted: bool,
        /// What becomes of its job otherwise, where the step's output says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobStop>,
    },
    /// The deadline by its job's limit, said once more: a supervisor without this call knew it before, and may have a
    /// shorter one of the step's own that a [`SupervisorCall::Deadline`] would replace.
    JobLimit {
        /// When; `None` is never.
        at: Option<Timestamp>,
    },
    /// The step is cancelled: it is killed at once, and says so.
    Kill,
    /// Its job goes on without this node: the step does where that was asked for, and is killed else.
    NodeLost {
        /// Which.
        node: NodeName,
    },
    /// Writes a line where the user sees it.
    Say {
        /// The line.
        text: String,
    },
    /// Stops all processes; deadlines stand still until `resume`, or until the step is ended.
    Suspend,
    /// Lets them go on.
    Resume,
    /// Starts an engine, outside of the job's namespaces. Answered by [`api::StartAnswer`] alone.
    StartEngine(api::StartRequest),
}

/// Why a job's steps are ended, where Slurm says more of it than when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStop {
    /// It is queued again.
    Requeue,
    /// Its script failed.
    Failure,
    /// It lost a node, or what held a step of it there.
    NodeFailure,
}

/// Who gets a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The tasks' first processes alone (`scancel --batch` for a batch step).
    Tasks,
    /// Every process of the step.
    All,
}

/// Why a deadline is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The time limit.
    Limit,
    /// Someone wants it to end.
    Stop,
}

/// The line of JSON that a supervisor answers with. Frozen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum SupervisorAnswer {
    /// To `hello`.
    Hello {
        /// The program's version.
        version: String,
        /// Its process.
        pid: u32,
    },
    /// To `status`.
    Status {
        /// Ranks whose task still lives.
        running: Vec<u32>,
        /// Tasks that ended.
        ended: Vec<TaskExit>,
        /// The deadline as it stands.
        deadline: Option<Timestamp>,
    },
    /// To all others.
    Done,
    /// Not understood.
    Unknown,
}
