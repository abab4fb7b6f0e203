//! What client and engine say to each other: one JSON value a frame, a frame being a length
//! (`u32`, big endian) and so many bytes. A connection carries any number of calls, one at a time.

use crate::{
    AsUser, CancelRequest, ClusterChange, ClusterReport, EngineFacts, HistoryReports, JobFilter,
    JobReports, LossOfPlace, LostPlace, NamedJob, NewStep, Refusal, StepPrograms, Submission,
    WhyWaiting, WouldStart,
};
use model::{
    Accounting, AccountingTransaction, JobChange, JobId, JobRecord, JobRecordChange, NodeEvent,
    PriorityReport, Request, RequeueHold, ReservationRequest, RestartCount, SchedulerStatistics,
    ShareRow, StepHolders, StepId, StepRecord, UsageOwner, WaitStatus,
};
use serde::{Deserialize, Serialize};

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
        /// A portion of them, of higher ids than this one: a client asks until none is left. None: all as they are
        /// at one moment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<JobId>,
        /// Each portion has an answer of its own, one after another until none is left: a client reads one while
        /// the next is made.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
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
        /// As of `jobs`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
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
    /// `sacctmgr modify … set RawUsage=0`: what these used until now counts no more. Answer: `done`.
    ResetUsage {
        /// Whose it is.
        of: Vec<UsageOwner>,
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

/// Changed jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Watched {
    /// Rows as they are now.
    pub jobs: JobReports,
    /// The newest version: `after` of the next call.
    pub version: u64,
}
