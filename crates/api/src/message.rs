//! What client and engine say to each other: one JSON value a frame, a frame being a length
//! (`u32`, big endian) and so many bytes. A connection carries any number of calls, one at a time.

use crate::{
    ClusterChange, ClusterReport, HistoryReports, JobFilter, JobReports, LossOfPlace, LostPlace,
    NamedJob, StepPrograms,
};
use model::{
    Accounting, AccountingTransaction, GpuIndex, JobChange, JobId, JobRecord, JobRecordChange,
    JobRefusal, MemoryRequest, NodeEvent, NodeName, OpenMode, PartitionSharing, PriorityReport,
    Request, RequeueHold, ReservationRequest, RestartCount, SchedulerStatistics, Seconds, ShareRow,
    StepHolders, StepId, StepRecord, StepRequest, Timestamp, WaitStatus,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// First message on every connection. Stable between versions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The client's version.
    pub version: String,
    /// The client's [`crate::PROTOCOL`].
    pub protocol: u32,
    /// The client shows its user what an engine has to report.
    #[serde(default)]
    pub shows_notices: bool,
}

/// Answer to [`Hello`]. Stable between versions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HelloAnswer {
    /// The engine's version.
    pub version: String,
    /// The engine's [`crate::PROTOCOL`]. Where it differs from the client's, the only call that
    /// may follow is `handover`.
    pub protocol: u32,
    /// The engine's process.
    pub pid: u32,
    /// The store's identity; with a row's version it is a watcher's cursor.
    pub store: String,
    /// What a user has to know, to the first client that shows it: jobs that were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// Asks the engine to give its place to a newer one: it answers `handed_over` when its store is
/// closed and its lock released. Jobs go on. Stable between versions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Handover {
    /// Version of the engine that follows.
    pub to: String,
}

/// One call after `hello`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// Give the place to a newer engine.
    Handover(Handover),
    /// A new job. Answer: `submitted`.
    Submit(Box<Submission>),
    /// When a job would start; nothing is queued. Answer: `would_start`.
    Test {
        /// The job.
        #[serde(flatten)]
        request: Box<Request>,
        /// Of which user, where it is not the caller's: root alone may.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        as_user: Option<AsUser>,
    },
    /// Why a job waits. Answer: `why`.
    Why {
        /// Which.
        job: JobId,
    },
    /// Jobs as they are now. Answer: `jobs`.
    Jobs {
        /// Which jobs.
        #[serde(flatten)]
        filter: JobFilter,
        /// A portion of them, of higher ids than this one: a client asks until none is left. None: all at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<JobId>,
    },
    /// Jobs that changed after the version, waiting at most `wait_ms` for one. Answer: `watched`.
    Watch {
        /// Which jobs.
        filter: JobFilter,
        /// Only rows newer than this version.
        after: u64,
        /// Longest wait.
        wait_ms: u64,
    },
    /// The batch script of a job that the caller may change. Answer: `script`.
    Script {
        /// Whose.
        job: JobId,
        /// The variables that it was submitted with, a line each, in its place.
        #[serde(default)]
        environment: bool,
    },
    /// Steps of a job's current start. Answer: `steps`.
    Steps {
        /// Whose.
        job: JobId,
    },
    /// Jobs with all of their starts and steps, a portion of them: a client asks until none is left.
    /// Answer: `histories`.
    Histories {
        /// Which jobs.
        filter: JobFilter,
        /// Only those of higher ids; 0 is from the first one.
        after: JobId,
        /// At most so many; the engine may answer fewer.
        most: u32,
    },
    /// `scancel`. Answer: `done`.
    Cancel(CancelRequest),
    /// Several `scancel` at once, in one transaction. Answer: `cancelled`.
    CancelEach {
        /// Each on its own: one that is refused keeps no other up.
        requests: Vec<CancelRequest>,
    },
    /// `scontrol requeue` and `requeuehold`. Answer: `done`.
    Requeue {
        /// Which job; an array's id is all of its elements.
        #[serde(flatten)]
        job: NamedJob,
        /// Whether it waits for its release afterwards.
        hold: RequeueHold,
        /// Only if it is still in this start: makes a repeated call harmless.
        restart: Option<RestartCount>,
        /// Only those that run; nothing is said of others.
        #[serde(default)]
        only_running: bool,
    },
    /// `scontrol suspend` and `resume`. Answer: `done`.
    Suspend {
        /// Which job; an array's id is all of its elements that run.
        #[serde(flatten)]
        job: NamedJob,
        /// True suspends, false resumes.
        suspend: bool,
    },
    /// `scontrol notify`. Answer: `done`.
    Notify {
        /// Which job.
        job: JobId,
        /// What it is to say where its user sees it.
        text: String,
    },
    /// `yard engine preempt`. Answer: `preempted`.
    Preempt {
        /// Which job; an array's id is all of its elements that run.
        #[serde(flatten)]
        job: NamedJob,
        /// None: what its QOS, partition or cluster says.
        mode: Option<LossOfPlace>,
    },
    /// `scontrol hold` and `release`. Answer: `done`.
    Hold {
        /// Which job; an array's id is all of its elements that wait.
        #[serde(flatten)]
        job: NamedJob,
        /// True holds, false releases.
        hold: bool,
        /// `scontrol uhold`: its owner may release it, whoever holds it.
        #[serde(default)]
        user: bool,
    },
    /// `scontrol update JobId=`. Answer: `done`.
    Update {
        /// Which job; an array's id is all of its elements.
        #[serde(flatten)]
        job: NamedJob,
        /// All of them, or none.
        changes: Vec<JobChange>,
    },
    /// A step of a running job. Answer: `step`; the refusal `Busy` says to ask again.
    CreateStep {
        /// Whose step.
        job: JobId,
        /// What is asked for.
        step: Box<NewStep>,
    },
    /// Sends a signal to a step's tasks. Answer: `done`.
    SignalStep {
        /// Whose step.
        job: JobId,
        /// Which.
        step: StepId,
        /// Signal number.
        signal: i32,
    },
    /// Ends an allocation without a batch script (`salloc`, `srun` outside a job). Answer: `done`.
    Release {
        /// Which job.
        job: JobId,
        /// How its last command ended.
        status: WaitStatus,
    },
    /// A supervisor's word that its `exit` file is written. Answer: `done`.
    StepEnded {
        /// Whose step.
        job: JobId,
        /// Of which start.
        restart: RestartCount,
        /// Which.
        step: StepId,
        /// Index of the node in the step.
        node: u32,
    },
    /// `scontrol create|update|delete` of nodes and partitions, `yard engine fail-node`. Answer: `done`.
    ChangeCluster(Box<ClusterChange>),
    /// `scontrol create|update reservation`. Answer: `reserved`.
    Reserve {
        /// What it is to be.
        asked: Box<ReservationRequest>,
        /// There must be none of its name, else there must be one.
        is_new: bool,
    },
    /// `scontrol delete reservation`. Answer: `done`.
    Unreserve {
        /// Which.
        name: String,
    },
    /// `scontrol reconfigure`: the cluster's file is read again. Answer: `done`.
    Reconfigure,
    /// What the engine is and has. Answer: `facts`.
    Facts,
    /// Its nodes, partitions and their use. Answer: `cluster`.
    Cluster,
    /// What the priorities of waiting jobs are made of. Answer: `priorities`.
    Priorities,
    /// What accounts and users are due and what they used. Answer: `shares`.
    Shares,
    /// Accounts, users, associations and QOS. Answer: `accounting`.
    Accounting,
    /// When nodes took no jobs. Answer: `events`.
    Events,
    /// What was changed of the accounting. Answer: `transactions`.
    Transactions,
    /// Puts others in their place, if they came of what there is: their version is the next one.
    /// Answer: `done`.
    SetAccounting(Box<Accounting>),
    /// `sacctmgr modify job`: changes what is recorded of jobs, of all of them or of none. Answer: `done`.
    ModifyRecords {
        /// Which.
        jobs: Vec<JobId>,
        /// What is set.
        change: JobRecordChange,
    },
    /// The processes that hold running steps. Answer: `holders`.
    Holders {
        /// Whose; none: of all jobs.
        job: Option<JobId>,
    },
    /// What scheduler and callers did. Answer: `statistics`.
    Statistics,
    /// Begins to count anew. Answer: `done`.
    ResetStatistics,
    /// Ends the engine; running jobs go on. Answer: `done`.
    Stop,
}

/// One answer to one call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To `handover`.
    HandedOver,
    /// To `submit`: it is on disk.
    Submitted {
        /// Its id; for an array, the array's.
        job: JobId,
        /// How it stands, of an allocation that lives as long as its client.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        now: Option<Box<JobRecord>>,
        /// What the cluster runs around its steps.
        #[serde(default, skip_serializing_if = "StepPrograms::is_empty")]
        programs: StepPrograms,
        /// The first step, where it was asked for and could be made with the job's start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Box<StepRecord>>,
    },
    /// To `reserve`: it is on disk.
    Reserved {
        /// The reservation's name.
        name: String,
    },
    /// To `test`.
    WouldStart(WouldStart),
    /// To `why`.
    Why(Box<WhyWaiting>),
    /// To `jobs`.
    Jobs {
        /// In ascending id.
        jobs: JobReports,
        /// After which id the next portion begins, where there may be others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rest_after: Option<JobId>,
    },
    /// To `watch`.
    Watched(Watched),
    /// To `steps`.
    Steps {
        /// In ascending step id.
        steps: Vec<StepRecord>,
    },
    /// To `script`.
    Script {
        /// Its text; bytes that are no UTF-8 are replaced.
        text: String,
    },
    /// To `histories`.
    Histories {
        /// In ascending id.
        jobs: HistoryReports,
        /// `after` of the next call; `None`: there are no others.
        rest_after: Option<JobId>,
    },
    /// To `create_step`: its supervisors are being started.
    Step(StepRecord),
    /// To `cancel_each`.
    Cancelled {
        /// For each request, in order, why it changed nothing.
        refusals: Vec<Option<Refusal>>,
    },
    /// To `preempt`.
    Preempted {
        /// In ascending id.
        jobs: Vec<LostPlace>,
    },
    /// To `facts`.
    Facts(Box<EngineFacts>),
    /// To `cluster`.
    Cluster(Box<ClusterReport>),
    /// To `priorities`.
    Priorities(Box<PriorityReport>),
    /// To `shares`.
    Shares {
        /// Accounts and their users, in the order of the tree.
        rows: Vec<ShareRow>,
    },
    /// To `accounting`.
    Accounting(Box<Accounting>),
    /// To `events`.
    Events {
        /// As they began.
        events: Vec<NodeEvent>,
    },
    /// To `transactions`.
    Transactions {
        /// The oldest first.
        changes: Vec<AccountingTransaction>,
    },
    /// To `holders`.
    Holders {
        /// By job and step, the batch step first.
        steps: Vec<StepHolders>,
    },
    /// To `statistics`.
    Statistics(Box<SchedulerStatistics>),
    /// Done, on disk.
    Done,
    /// Refused; nothing changed.
    Refused(Refusal),
}

/// When a job would start if it were submitted now, and with what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WouldStart {
    /// The id that it would get.
    pub job: JobId,
    /// The moment, if all jobs that run last until their limits.
    pub at: Timestamp,
    /// CPUs.
    pub cpus: u32,
    /// Its nodes.
    pub nodes: Vec<NodeName>,
    /// Its partition.
    pub partition: String,
    /// It comes after this job, which has no time limit: the moment is Slurm's guess.
    #[serde(default)]
    pub no_limit: Option<JobId>,
    /// What it would wait for, limits and jobs that wait counted, which the moment leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Box<WouldWait>>,
}

/// What a job would wait for if it were submitted now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WouldWait {
    /// Slurm's word for it.
    pub reason: String,
    /// When it would start if all jobs ran until their limits, where that is known.
    pub start: Option<Timestamp>,
    /// The limit of a QOS, an account or a user that it would pass.
    pub limit: Option<model::ReachedLimit>,
}

/// Why a job waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WhyWaiting {
    /// Which.
    pub job: JobId,
    /// Slurm's word for it.
    pub reason: String,
    /// What it would hold by the plan, or on an idle cluster.
    pub needs: Option<HeldAmount>,
    /// The nodes that it needs.
    #[serde(default)]
    pub nodes_needed: Option<NodesNeeded>,
    /// Nodes that it could have and that take no jobs now.
    #[serde(default)]
    pub out_of_use: Vec<OutOfUse>,
    /// What is free now on nodes that it could have.
    pub free: HeldAmount,
    /// The most that is free on one of them.
    pub free_on_one: HeldAmount,
    /// What there is on them.
    pub there: HeldAmount,
    /// Waiting jobs that come before it.
    pub ahead: Vec<JobId>,
    /// Running jobs that end before it starts; those that end last first. Where a limit or the throttle of its
    /// array keeps it, those that count under that.
    pub holders: Vec<JobHolds>,
    /// When it would start if all jobs ran until their limits.
    pub start: Option<Timestamp>,
    /// On which nodes.
    #[serde(default)]
    pub nodes: Vec<NodeName>,
    /// The start is not known because it comes after this job, which has no time limit.
    #[serde(default)]
    pub no_limit: Option<JobId>,
    /// What can no longer happen that it waits for.
    #[serde(default)]
    pub never_met: Vec<NeverMet>,
    /// CPUs that other engines of this machine hold, where it waits for some.
    #[serde(default)]
    pub cpus_held_elsewhere: Vec<u32>,
    /// Licences that it asks for and that are not free.
    #[serde(default)]
    pub licences: Vec<LicenceNeed>,
    /// Reservations that close nodes to it if it started now, and its own where that has not begun.
    #[serde(default)]
    pub reservations: Vec<model::Reservation>,
    /// When it ends if it has not started by then, because of its deadline.
    #[serde(default)]
    pub too_late: Option<Timestamp>,
    /// The limit of a QOS, an account or a user that it would pass.
    #[serde(default)]
    pub limit: Option<model::ReachedLimit>,
    /// What its partition says against it.
    #[serde(default)]
    pub partition_bound: Option<model::PartitionBound>,
    /// Its array, where that runs as many elements as it may.
    #[serde(default)]
    pub throttle: Option<ArrayThrottle>,
    /// How far the plan reaches, where the start is not known because it does not reach so far.
    #[serde(default)]
    pub not_planned: Option<NotPlanned>,
    /// Options with less in them: each alone would let it start now.
    pub instead: Vec<String>,
    /// None of these was tried, as that would have taken too long.
    #[serde(default)]
    pub smaller_untried: bool,
}

/// How far the plan reaches that has no start of a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NotPlanned {
    /// It does not start before.
    pub not_before: Option<Timestamp>,
    /// So many jobs come before it for which no place is planned either.
    pub ahead: usize,
    /// A cycle of backfill tries so many jobs, and by the plan as many ahead of it still wait then.
    pub tried: Option<usize>,
}

/// How many nodes a job needs, beside what there is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NodesNeeded {
    /// It needs at least so many.
    pub least: u32,
    /// On so many nodes that it could have its part of one node is free now; `None` where it is not known
    /// how large that is.
    pub with_room: Option<u32>,
    /// So many nodes it could have.
    pub there: u32,
}

/// Nodes that take no jobs, for one reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OutOfUse {
    /// Which.
    pub nodes: Vec<NodeName>,
    /// `lost`, `down`, `drained` or `failing`
    pub state: String,
    /// The reason that was given.
    pub reason: String,
    /// Who said it.
    pub by: String,
}

/// A condition of a job's dependency that can no longer be met.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NeverMet {
    /// `afterok:7`
    pub condition: String,
    /// The job that it names, or the element of an array whose end is the reason: `7`, `7_2`.
    pub job: String,
    /// How that ended, as Slurm names it; `None` where the engine no longer knows.
    pub state: Option<String>,
}

/// Licences that a job waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LicenceNeed {
    /// Their name.
    pub name: String,
    /// How many it asks for.
    pub asked: u32,
    /// How many there are.
    pub there: u32,
    /// How many of these reservations keep from it.
    #[serde(default)]
    pub reserved: u32,
    /// Running jobs that hold some, and how many each.
    pub held: Vec<(JobId, u32)>,
}

/// CPUs, GPUs and memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HeldAmount {
    /// CPUs.
    pub cpus: u64,
    /// GPUs.
    pub gpus: u64,
    /// MiB.
    #[serde(default)]
    pub memory: u64,
}

/// A job that holds what another waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobHolds {
    /// Which.
    pub job: JobId,
    /// Whose.
    pub user: String,
    /// What it holds.
    pub holds: HeldAmount,
    /// When its limit is over; none has no limit, or is suspended.
    pub until: Option<Timestamp>,
    /// It is suspended, and its time stands still.
    #[serde(default)]
    pub is_suspended: bool,
    /// An element of an array, as `squeue` names it: `17_3`.
    #[serde(default)]
    pub element: Option<String>,
    /// It loses its place to another job.
    #[serde(default)]
    pub preempted: Option<PreemptedJob>,
}

/// What becomes of a job that is preempted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PreemptedJob {
    /// When its grace time is over; none: it is being ended.
    pub grace: Option<Timestamp>,
    /// It is queued again then.
    pub comes_back: bool,
}

/// An array that runs as many elements as it may at a time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ArrayThrottle {
    /// Which.
    pub array: JobId,
    /// So many at a time.
    pub most: u32,
    /// The element that starts next, where that is known.
    pub next: Option<u32>,
}

/// Changed jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Watched {
    /// Rows as they are now.
    pub jobs: JobReports,
    /// The newest version: `after` of the next call.
    pub version: u64,
}

/// A job to be queued.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Submission {
    /// Made by the client; the same token twice is the same job, answered again.
    pub token: String,
    /// What it asks for.
    pub request: Request,
    /// What its other components ask for, where it is heterogeneous: jobs of their own, with the ids
    /// that follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Request>,
    /// The batch script, or `None` for an allocation that ends by `release` or, unless it was asked
    /// to stay, when this connection closes.
    ///
    /// Characters may stand in it for bytes that are no UTF-8, as in arguments and variables.
    pub script: Option<String>,
    /// Arguments after the script's name.
    pub args: Vec<String>,
    /// The script's path as given.
    pub command: Option<String>,
    /// The environment for the job: what `--export` left, without what is not UTF-8.
    pub environment: Vec<(String, String)>,
    /// The client's umask.
    pub umask: u32,
    /// The client's host name.
    pub submit_host: String,
    /// Whose job it is, where it is not the caller's: root alone may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_user: Option<AsUser>,
    /// The first step of an allocation, made with its start where that is at once; otherwise the answer
    /// has none, and it is asked for by itself. Its environment is the one above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<NewStep>>,
}

/// The user whom root submits a job for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsUser {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl Submission {
    /// True for an allocation that lives as long as its client.
    #[must_use]
    pub fn ends_with_client(&self) -> bool {
        self.script.is_none() && !self.request.rare.no_shell
    }
}

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

/// `scancel`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CancelRequest {
    /// Which.
    pub selector: Selector,
    /// `--signal`: sends it and nothing else.
    pub signal: Option<i32>,
    /// `--batch`: the batch shell alone.
    pub batch: bool,
    /// `--full`: batch shell and steps.
    pub full: bool,
}

/// Jobs that a `scancel` names.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selector {
    /// One job, or an array with all its elements.
    Job(JobId),
    /// Elements of an array.
    Elements(JobId, Vec<u32>),
    /// One step.
    Step(JobId, StepId),
    /// All live jobs that meet every given condition.
    Matching {
        /// `--user`
        uid: Option<u32>,
        /// `--name`
        name: Option<String>,
        /// `--state`: pending or running, in Slurm's words.
        state: Option<String>,
        /// `--partition`
        partition: Option<String>,
        /// `--account`
        account: Option<String>,
        /// `--qos`
        qos: Option<String>,
    },
}

/// Why a call changed nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Refusal {
    /// No such job.
    #[error("there is no job {job}")]
    NoSuchJob {
        /// Asked.
        job: JobId,
    },
    /// It ended already.
    #[error("job {job} has already ended")]
    AlreadyEnded {
        /// Asked.
        job: JobId,
    },
    /// It does not run.
    #[error("job {job} is not running")]
    NotRunning {
        /// Asked.
        job: JobId,
    },
    /// `--no-requeue`, or no batch script.
    #[error("job {job} can't be requeued: {because}")]
    NotRequeueable {
        /// Asked.
        job: JobId,
        /// Why.
        because: String,
    },
    /// The job could never start here.
    #[error("{}: {}", .0.asked, .0.there)]
    NeverFits(Box<JobRefusal>),
    /// Other steps hold what this one needs: ask again.
    #[error("requested nodes are busy")]
    Busy,
    /// So it is of some elements of an array; with the others it was done.
    #[error("elements of job {job}: {}", each.first().map_or("", |(_, words)| words.as_str()))]
    OfElements {
        /// The array.
        job: JobId,
        /// Elements, and why it was not done with them, in Slurm's words.
        each: Vec<(Vec<u32>, String)>,
    },
    /// Someone else's.
    #[error("access denied: job {job} belongs to {owner}")]
    NotYours {
        /// Asked.
        job: JobId,
        /// Its owner.
        owner: String,
    },
    /// The request itself is wrong.
    #[error("{message}")]
    Invalid {
        /// In Slurm's words where it has them.
        message: String,
    },
    /// The store could not be written; nothing was accepted.
    #[error("the engine's store can't be written, and nothing was changed: {message}")]
    Store {
        /// What the system said.
        message: String,
    },
    /// The engine is handing over or stopping: connect again.
    #[error("the engine is stopping")]
    Stopping,
}

impl Refusal {
    /// What was asked can't be, in Slurm's words or ours.
    #[must_use]
    pub fn invalid(message: &str) -> Refusal {
        Refusal::Invalid {
            message: message.to_owned(),
        }
    }
}

/// What the engine is and has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Version of the engine.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Since when it runs.
    pub since: Timestamp,
    /// Its state folder.
    pub state: PathBuf,
    /// The engine's name, which its cluster has too: `local` is this machine.
    pub cluster: String,
    /// Its nodes are pretended: those of a cluster file, on this machine.
    #[serde(default)]
    pub is_pretended: bool,
    /// Each of them has a `/tmp` of its own, for jobs of who asks.
    #[serde(default)]
    pub nodes_have_disks: bool,
    /// Where a job goes that names no partition; empty where it must.
    #[serde(default)]
    pub partition: String,
    /// The machine's own node first, then virtual ones.
    pub nodes: Vec<NodeFacts>,
    /// CPUs of the machine in all; virtual nodes share them.
    pub cpus: u32,
    /// MiB of the machine in all.
    pub memory: u64,
    /// GPUs of the machine.
    pub gpus: Vec<String>,
    /// CPUs in use.
    pub cpus_used: u32,
    /// Jobs that run.
    pub running: u32,
    /// Jobs that wait.
    pub pending: u32,
    /// What this machine can't do, a sentence each (no cgroups, say).
    pub limits: Vec<String>,
    /// Nodes that are down or drained.
    #[serde(default)]
    pub out_of_use: Vec<OutOfUse>,
    /// CPUs that other engines of this machine held when a job last wanted some.
    #[serde(default)]
    pub cpus_held_elsewhere: Vec<u32>,
    /// When its scheduler last went through the jobs that wait.
    #[serde(default)]
    pub last_pass: Option<Timestamp>,
    /// Its configuration, as the names of `scontrol show config` call it, where it is not Slurm's default.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
    /// What its store lost, a sentence each, the oldest first.
    #[serde(default)]
    pub losses: Vec<String>,
    /// Its partitions.
    #[serde(default)]
    pub partitions: Vec<PartitionFacts>,
    /// What `srun` runs before a step.
    #[serde(default)]
    pub srun_prolog: Option<String>,
    /// What `srun` runs after a step.
    #[serde(default)]
    pub srun_epilog: Option<String>,
}

/// What stands for the type of a GPU that has none.
pub const UNTYPED_GPU: &str = "GPU";

/// A partition, as far as a job's record needs it to be printed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartitionFacts {
    /// Its name.
    pub name: String,
    /// Memory of jobs that ask for none.
    #[serde(default)]
    pub memory: Option<MemoryRequest>,
    /// The limit of jobs that ask for none.
    #[serde(default)]
    pub time: Option<Seconds>,
    /// After how long a job can lose its place to another; `None` where none can.
    #[serde(default)]
    pub preempted_after: Option<Seconds>,
    /// CPUs beside each GPU of jobs that ask for GPUs and no CPUs.
    #[serde(default)]
    pub cpus_per_gpu: Option<u32>,
    /// MiB beside each GPU of jobs that ask for GPUs.
    #[serde(default)]
    pub memory_per_gpu: Option<u64>,
    /// With whom jobs share their nodes that do not ask.
    #[serde(default)]
    pub sharing: PartitionSharing,
    /// It is shown to who asks only where that is asked: it is `Hidden`, or not for their groups.
    #[serde(default)]
    pub is_hidden: bool,
}

/// A node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Its name.
    pub name: NodeName,
    /// Shares the machine with others; used by jobs that ask for several nodes.
    pub is_virtual: bool,
    /// CPUs that one job can get on it.
    pub cpus: u32,
    /// MiB that one job can get on it.
    pub memory: u64,
    /// Type a GPU; [`UNTYPED_GPU`] where it has none.
    pub gpus: Vec<String>,
    /// CPUs in use.
    pub cpus_used: u32,
    /// MiB in use.
    pub memory_used: u64,
    /// GPUs in use.
    pub gpus_used: u32,
}
