//! What happens in a job, as its conductor writes it down.

use model::{Seconds, Timestamp};
use serde::{Deserialize, Serialize};

/// One line of `links/<job>.<restart>.events`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLine {
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
///
/// An older program that reads a newer one's file gets [`Event::Unknown`] for what it doesn't know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The conductor runs.
    Started {
        /// The job's number.
        job: u32,
        /// How often it was requeued before.
        restart: u32,
        /// Its nodes' names, in Slurm's order.
        nodes: Vec<String>,
    },
    /// The ranks' environment is there.
    Environment {
        /// In words, such as `venv /…/9f2c1a`.
        what: String,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// Data comes to the nodes: written again as it goes on.
    Staging {
        /// What comes now.
        what: String,
        /// Bytes that have come, over all nodes that copy.
        done: u64,
        /// Bytes in all, where known.
        total: Option<u64>,
    },
    /// All data is there.
    Staged {
        /// On which node, where the job has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<String>,
        /// Bytes in all.
        bytes: u64,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// A checkpoint was brought back, on all nodes.
    Resumed {
        /// Its name.
        checkpoint: String,
        /// Its step, where the name has one.
        step: Option<u64>,
        /// When the program wrote it, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<Timestamp>,
        /// Its size, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
    },
    /// The ranks were started.
    Launched {
        /// How many.
        ranks: u32,
        /// Where they meet, `address:port`.
        rendezvous: String,
    },
    /// A checkpoint is whole in the run folder.
    CheckpointOut {
        /// Its name.
        name: String,
        /// Its step, where the name has one.
        step: Option<u64>,
        /// Its size.
        bytes: u64,
        /// How long copying took, in milliseconds.
        took_ms: u64,
        /// Whether it was seen to be whole, and not only that nothing changed.
        proven: bool,
        /// When the program wrote it, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<Timestamp>,
        /// Whether the training had been as far before: it is no progress over what its start resumed from.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// A checkpoint could not be copied; the training goes on.
    CheckpointNotOut {
        /// Its name.
        name: String,
        /// In words.
        why: String,
    },
    /// The job is about to end: no rank is started from now on.
    Stopping {
        /// Why.
        reason: StopReason,
        /// How long is left.
        left: Seconds,
    },
    /// The ranks' step ended.
    RanksEnded {
        /// The step's exit code as `srun` gives it.
        status: i32,
        /// The rank that failed first, with its exit code (128 + signal).
        first_failed: Option<(u32, i32)>,
    },
    /// The run comes back.
    ComingBack {
        /// How.
        how: ComingBack,
    },
    /// The run folder could not be written for a while; what was to be written was kept until it
    /// could.
    DiskError {
        /// What the system said.
        why: String,
        /// How long it lasted, in milliseconds.
        lasted_ms: u64,
    },
    /// One of our own processes was ended by a signal that none of us sent, as the kernel does when
    /// memory runs out, or the disk took nothing: the start is lost, the run is not.
    Lost {
        /// In words, one line.
        cause: String,
    },
    /// The ranks show no sign of life. What is done about it follows.
    Hung {
        /// In words, one line: where each rank stands, the one that the others wait for first.
        cause: String,
    },
    /// SIGTERM came from outside and the job is over; whether the run comes back is the cluster's
    /// to say.
    Terminated {
        /// Why, where the cluster said so.
        reason: Option<StopReason>,
    },
    /// The training is done.
    Finished {
        /// The ranks' exit code: 0.
        status: i32,
        /// What is on a node only, with how to fetch it; in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<String>,
    },
    /// The job failed and doesn't come back by itself.
    Failed {
        /// In words, one line.
        cause: String,
        /// The ranks' exit code, where they ran.
        status: Option<i32>,
    },
    /// A program beside the ranks listens.
    Service {
        /// Its name in the run file.
        name: String,
        /// Where, and how to reach it from elsewhere; one line.
        address: String,
    },
    /// A program beside the ranks ended by itself.
    ServiceEnded {
        /// Its name in the run file.
        name: String,
        /// Its exit code.
        status: i32,
        /// The name of its log below the run folder's `logs`.
        log: String,
    },
    /// Something to know.
    Note {
        /// In words, one line.
        text: String,
    },
    /// What a newer program wrote.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// Whether it says for good what becomes of the run after this start: it is over, it was ended
    /// from outside, or another job takes over.
    #[must_use]
    pub fn settles(&self) -> bool {
        matches!(
            self,
            Event::Terminated { .. }
                | Event::Finished { .. }
                | Event::Failed { .. }
                | Event::ComingBack {
                    how: ComingBack::Successor { .. }
                }
        )
    }

    /// Whether the run is over with it: nothing but a person brings it back.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        let cancelled = Some(StopReason::Cancelled);
        match self {
            Event::Finished { .. } | Event::Failed { .. } => true,
            Event::Terminated { reason } => *reason == cancelled,
            _ => false,
        }
    }
}

/// Why a job ends before its training does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Its time limit.
    Limit,
    /// It was preempted.
    Preempted,
    /// A node was lost.
    NodeLost,
    /// It was cancelled.
    Cancelled,
}

/// How a run comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComingBack {
    /// The same job, requeued.
    Requeue,
    /// Another job takes over.
    Successor {
        /// Its number.
        job: u32,
    },
}
