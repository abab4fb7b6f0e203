//! What goes into the conductor's decisions, and what follows from them.

use crate::conductor::copies::{Part, PartsAsked};
use crate::grace::Deadlines;
use crate::protocol::{AgentId, DiskId, Order, Report};
use crate::srun_words::SrunLoss;
use folder::{Event, KnownCheckpoint, Pointer, StopReason, WholeCheckpoints};
use model::Timestamp;
use std::path::PathBuf;
use std::time::Duration;
use train::{OnHang, ResumeBy};

/// What is known before anything happens.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The job's nodes: as many agents say hello.
    pub nodes: u32,
    /// When to stop; `None` where the job has no limit.
    pub deadlines: Option<Deadlines>,
    /// Agents that have not come by then never will.
    pub hello_by: Timestamp,
    /// From SIGTERM to SIGKILL, where the signal brings no better value.
    pub kill_wait: Duration,
    /// Whether data is staged.
    pub stage: bool,
    /// Whole checkpoints of the run folder.
    pub checkpoints: WholeCheckpoints,
    /// Whether and how the run comes back.
    pub comeback: Comeback,
    /// Whether the program is warned before the end.
    pub notify: bool,
    /// Starts of this run right before this one that ended at their limit without a new checkpoint.
    pub stuck_before: u32,
    /// Starts of this run right before this one that were lost without a new checkpoint.
    pub lost_before: u32,
    /// Whether the program keeps its checkpoints itself, so that nothing tells whether it gets on.
    pub own_checkpoints: bool,
    /// Whether the start before this one trained to its end and was lost before it could say so.
    pub trained: bool,
    /// Whether the program marks what it has finished, which one rank does for all.
    pub by_marker: bool,
    /// Whether every checkpoint is wanted, however many newer ones are saved.
    pub keep_all: bool,
    /// The program's `{checkpoints}` on each node.
    pub node_folder: PathBuf,
    /// Whether the nodes are pretended: their folders are this machine's.
    pub on_this_machine: bool,
    /// How long a disk that takes nothing is waited for at the end.
    pub grace: Duration,
    /// What is done about ranks that hang.
    pub on_hang: OnHang,
}

/// Whether and how the run comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comeback {
    /// After a time limit.
    pub after_limit: bool,
    /// After the loss of a node, or of one of our own processes.
    pub after_loss: bool,
    /// By which way.
    pub by: ResumeBy,
    /// Whether a job can be submitted from here.
    pub may_submit: bool,
    /// The job that waits for this one's end already.
    pub successor: Option<u32>,
}

/// What an agent said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Its node's name.
    pub node: String,
    /// Its node's index.
    pub node_index: u32,
    /// An address of its node.
    pub address: String,
    /// A free port there.
    pub port: u16,
    /// Its disk.
    pub disk: DiskId,
}

/// What the cluster says of a SIGTERM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CancelCause {
    /// Why it came; `None`: it did not say.
    pub reason: Option<StopReason>,
    /// When SIGKILL follows, where it said so.
    pub until: Option<Timestamp>,
    /// The job's nodes that are down: a job that is ended with one of them is ended for that.
    pub lost_nodes: Vec<String>,
}

/// What happens. Closed: the loop at the edge has no other source.
#[derive(Clone, Debug)]
pub enum StateEvent {
    /// An agent reported.
    Report(AgentId, Report),
    /// The agents' step ended.
    AgentsEnded(i32),
    /// Some of the agents ended badly, and the others may go on.
    AgentsLost(SrunLoss),
    /// The ranks' step ended, or could not be started.
    RanksEnded {
        /// The step's exit code.
        status: i32,
        /// The rank that failed first and its exit code.
        first_failed: Option<(u32, i32)>,
        /// Whether all ranks ended by an exit of their own, with whatever code.
        exited: bool,
        /// Whether srun or a wrapper was killed, and not the program that it had started.
        lost: bool,
        /// In words, with what that rank printed last.
        cause: String,
    },
    /// Older checkpoints were removed, of which the run file keeps so many.
    Retired {
        /// Their names.
        names: Vec<String>,
    },
    /// Publishing ended.
    Published {
        /// The entry.
        name: String,
        /// What is in the run folder now, or why not.
        result: Result<Out, NotOut>,
    },
    /// SIGTERM came: the job is cancelled, preempted, or its node is taken. [`StateEvent::CancelCause`]
    /// follows for certain.
    Terminated,
    /// What the cluster says of it.
    CancelCause(CancelCause),
    /// The ranks show no sign of life.
    Quiet {
        /// For how long.
        quiet: Duration,
    },
    /// A disk takes nothing, and what was to be done needs it.
    DiskRefuses {
        /// In words.
        cause: String,
    },
    /// The answer to the requeue.
    Requeued(Result<(), String>),
    /// A successor waits, or could not be submitted.
    SuccessorSubmitted(Result<u32, String>),
    /// Nothing but time.
    Tick,
}

/// Why a checkpoint is not in the run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOut {
    /// In words.
    pub why: String,
    /// Whether a disk refuses it for a while.
    pub disk: bool,
}

/// A published checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Out {
    /// What decides between it and others.
    pub known: KnownCheckpoint,
    /// How long copying took, in milliseconds.
    pub took_ms: u64,
}

/// What is to be done at the edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell the agents.
    Send(Order),
    /// Write an event into the run folder.
    Record(Event),
    /// Start agents in the place of lost ones.
    StartAgents,
    /// Start the ranks; the agents connected as listed, in the order of their nodes.
    StartRanks {
        /// The agents' words.
        hellos: Vec<Hello>,
        /// What is in `{resume}`.
        resume: Option<KnownCheckpoint>,
    },
    /// End the ranks' step itself, because the agents can't.
    AbortRanks,
    /// Put the parts together and make them a checkpoint.
    Publish {
        /// The entry.
        name: String,
        /// Its parts.
        parts: Vec<Part>,
        /// Whether they join what is there.
        merge: bool,
        /// How many nodes have a part of it.
        asked: PartsAsked,
    },
    /// Write down of these, which lack parts, that a start resumes from an older one.
    PassOver(Vec<String>),
    /// Write down of these how many parts they lack.
    Lack(Vec<(String, usize)>),
    /// This one has other bytes than were saved: it counts no more.
    SetAside(String),
    /// Note what the program keeps beside its checkpoints to find the newest.
    AddPointer(Pointer),
    /// Remove parts that are of no use.
    Discard(Vec<Part>),
    /// `scontrol requeue`.
    Requeue,
    /// Submit the job that takes over, unless it waits already.
    SubmitSuccessor,
    /// Cancel the job that waits to take over.
    DropSuccessor(u32),
    /// End with this exit code.
    Exit(u8),
}
