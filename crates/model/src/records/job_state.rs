//! A job's life.
//!
//! ```text
//!            schedule                     every step ended
//!  Pending ───────────► Running ───────────────────────────► Ended
//!     ▲                    │ requeue (restarts + 1)             │
//!     └────────────────────┴────────────────────────────────────┘
//! ```
//! A suspended job stays `Running` with its processes stopped: it holds its memory and GPUs, and its
//! time limit stands still ([`Suspension`]).
//!
//! A job that is being killed stays `Running` with `ending` set until its processes are gone:
//! Slurm shows it as COMPLETING.

use crate::records::{JobStateName, RequeueHold};
use crate::values::{Allocation, Seconds, Timestamp};
use serde::{Deserialize, Serialize};

/// Where a job stands; each state carries exactly what it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits.
    Pending {
        /// Why it did not start yet.
        reason: PendingReason,
    },
    /// Holds an allocation.
    Running {
        /// Since when.
        since: Timestamp,
        /// What it holds.
        allocation: Allocation,
        /// Its time limit; `None` is unlimited.
        limit: Option<Seconds>,
        /// Set once its end was decided while processes of it still live.
        ending: Option<Ending>,
        /// Set once it was suspended, or stopped by a signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suspension: Option<Box<Suspension>>,
        /// Set while it is held: queued again it would wait held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<HeldBy>,
        /// By how many milliseconds its end lies behind that of its limit, where a moment was set
        /// (`scontrol update EndTime=`). A resume forgets it.
        #[serde(default, skip_serializing_if = "is_zero")]
        end_moved_ms: i64,
    },
    /// Over.
    Ended {
        /// How.
        outcome: Outcome,
        /// When.
        at: Timestamp,
        /// `None`: it never started.
        ran: Option<Ran>,
    },
}

/// The decision that ends a running job once its processes are gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It will be `Ended` with this outcome.
    End(Outcome),
    /// It will be `Pending` again; `hold` as `scontrol requeuehold` asks.
    Requeue {
        /// Whether it waits for its release then.
        hold: RequeueHold,
        /// It lost a node: its start is recorded so.
        #[serde(default, skip_serializing_if = "is_false")]
        node_failed: bool,
    },
    /// Another job takes its place.
    Preempted {
        /// It will be `Pending` again, not `Ended`.
        requeue: bool,
        /// Until then it may end by itself, and counts as running; `None`: it is being killed.
        grace: Option<Timestamp>,
        /// When it lost its place.
        #[serde(default)]
        at: Timestamp,
    },
}

/// The last stretch of a job that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Its start.
    pub since: Timestamp,
    /// What it held.
    pub allocation: Allocation,
    /// Its time limit.
    pub limit: Option<Seconds>,
    /// For how many milliseconds of it the job was suspended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspended_ms: i64,
}

fn is_zero(count: &i64) -> bool {
    *count == 0
}

/// That a running job is suspended (`scontrol suspend`, a preemption), or was, or that its steps were sent SIGSTOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// It is suspended now: its processes are stopped.
    pub is_now: bool,
    /// When it was last suspended or resumed; as it was first stopped, where it never was.
    pub at: Timestamp,
    /// For how many milliseconds it had been suspended before that, in all.
    pub before_ms: i64,
    /// Another job has its place: it goes on by itself once that is free again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_preempted: bool,
    /// Its steps were sent SIGSTOP, and no SIGCONT since. It keeps all that it has, and its time goes on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_stopped: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Suspension {
    /// Whether it ever was suspended, and not only stopped by a signal.
    #[must_use]
    pub fn was_suspended(self) -> bool {
        self.is_now || self.before_ms > 0
    }

    /// How long it was suspended by some moment, in milliseconds.
    #[must_use]
    pub fn until(self, now: Timestamp) -> i64 {
        if self.is_now {
            self.before_ms.saturating_add(now.since(self.at).max(0))
        } else {
            self.before_ms
        }
    }
}

/// Who holds a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    /// Its owner, or `scontrol uhold`.
    User,
    /// An operator: its owner can't release it.
    Admin,
}

impl HeldBy {
    /// The reason that such a job waits for.
    #[must_use]
    pub fn reason(self) -> PendingReason {
        match self {
            HeldBy::User => PendingReason::JobHeldUser,
            HeldBy::Admin => PendingReason::JobHeldAdmin,
        }
    }
}

/// Why a job waits; the names are Slurm's (squeue's `%r`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingReason {
    /// Just submitted.
    None,
    /// Nothing free of what it needs.
    Resources,
    /// Another job comes first.
    Priority,
    /// `--hold`, `scontrol uhold`, `scontrol hold` of its owner.
    JobHeldUser,
    /// `scontrol hold` of an operator.
    JobHeldAdmin,
    /// `scontrol requeuehold`.
    RequeuedHeld,
    /// `scontrol requeue State=SpecialExit`.
    SpecialExit,
    /// `scontrol requeuehold State=SpecialExit`.
    HeldSpecialExit,
    /// `--begin` lies ahead, or the requeue delay.
    BeginTime,
    /// Waits for other jobs.
    Dependency,
    /// What it waits for can no longer happen.
    DependencyNeverSatisfied,
    /// `%N` of its array.
    JobArrayTaskLimit,
    /// Was requeued after its start failed.
    LaunchFailedRequeuedHeld,
    /// Its partition starts no jobs.
    PartitionDown,
    /// Its partition neither takes nor starts jobs.
    PartitionInactive,
    /// Its partition is no longer for its user, or for the host that it came from.
    PartitionConfig,
    /// It asks for more nodes than its partition gives a job, or for fewer.
    PartitionNodeLimit,
    /// It asks for a longer time than its partition gives.
    PartitionTimeLimit,
    /// Nodes that it needs are down or drained; which.
    NodesUnavailable(String),
    /// Too few nodes of its partition are up and not kept for jobs of others.
    NodesDownOrReserved,
    /// No nodes of the cluster would do, any more.
    BadConstraints,
    /// Others have the licences that it asks for.
    Licenses,
    /// Its reservation has not begun, or has no place for it.
    Reservation,
    /// Its reservation ended before it could start: it is held.
    ReservationDeleted,
    /// Nodes that it needs are reserved for maintenance before it would end.
    ReservedForMaintenance,
    /// Nodes that it names are reserved for others before it would end.
    ReservedForOthers,
    /// It would be over a limit of its QOS, account or user, by Slurm's name of that limit.
    OverLimit(String),
}

/// How a job ended. Slurm's state names follow from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Exit status 0.
    Completed,
    /// A non-zero exit, or a signal from outside.
    Failed {
        /// What `wait` said of the batch script.
        status: WaitStatus,
    },
    /// `scancel`.
    Cancelled {
        /// Who did it, or [`Outcome::NO_USER`].
        by: u32,
        /// What `wait` said of the batch script; 0 when it never ran.
        status: WaitStatus,
        /// What it waited for, where it had not started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_for: Option<PendingReason>,
    },
    /// The time limit.
    Timeout {
        /// What `wait` said of the batch script.
        status: WaitStatus,
    },
    /// Another job took its place.
    Preempted {
        /// What `wait` said of the batch script.
        status: WaitStatus,
    },
    /// The node, or its supervisor, was lost.
    NodeFail,
    /// Its script was lost with a node without which the job itself would have gone on (`--no-kill`).
    ScriptLost,
    /// The kernel killed it for memory.
    OutOfMemory,
    /// It waited until it could no longer end before its `--deadline`: it never started.
    Deadline,
    /// It could not be started: an output folder is missing, say.
    LaunchFailed {
        /// What the system said.
        message: String,
    },
}

impl PendingReason {
    /// Whether it stays until the job is released.
    #[must_use]
    pub fn is_hold(&self) -> bool {
        matches!(
            self,
            PendingReason::JobHeldUser
                | PendingReason::JobHeldAdmin
                | PendingReason::RequeuedHeld
                | PendingReason::SpecialExit
                | PendingReason::HeldSpecialExit
                | PendingReason::LaunchFailedRequeuedHeld
                | PendingReason::ReservationDeleted
        )
    }
}

impl Outcome {
    /// Who cancels a job that can't start any more: no user (Slurm has the number -1 there).
    pub const NO_USER: u32 = u32::MAX;

    /// The end of a job that was started and cancelled, as `wait` said of its batch script.
    #[must_use]
    pub fn cancelled(by: u32, status: WaitStatus) -> Outcome {
        Outcome::Cancelled {
            by,
            status,
            waited_for: None,
        }
    }

    /// How the job ended, as Slurm shows it in `ExitCode=`.
    #[must_use]
    pub fn exit(&self) -> WaitStatus {
        match self {
            Outcome::Completed | Outcome::NodeFail => WaitStatus::default(),
            Outcome::Failed { status }
            | Outcome::Cancelled { status, .. }
            | Outcome::Timeout { status }
            | Outcome::Preempted { status } => *status,
            Outcome::ScriptLost => WaitStatus::signal(9),
            Outcome::OutOfMemory => OUT_OF_MEMORY,
            Outcome::Deadline => WaitStatus::signal(1),
            // As a batch script that its node could not start.
            Outcome::LaunchFailed { .. } => WaitStatus::signal(53),
        }
    }
}

/// What stands for the end of a task that was killed for memory: Slurm's pseudo signal, `0:125`.
pub const OUT_OF_MEMORY: WaitStatus = WaitStatus(125);

/// A `wait(2)` status word: exit code in bits 8–15, signal in bits 0–6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WaitStatus(pub i32);

impl WaitStatus {
    /// The status of a normal exit.
    #[must_use]
    pub fn exit(code: u8) -> WaitStatus {
        WaitStatus(i32::from(code) << 8)
    }

    /// The status of a death by signal.
    #[must_use]
    pub fn signal(signal: i32) -> WaitStatus {
        WaitStatus(signal & 0x7f)
    }

    /// The exit code; 0 after a signal.
    #[must_use]
    pub fn code(self) -> u8 {
        ((self.0 >> 8) & 0xff) as u8
    }

    /// The signal that ended it; 0 for none.
    #[must_use]
    pub fn signal_number(self) -> i32 {
        self.0 & 0x7f
    }

    /// Ended by itself with 0.
    #[must_use]
    pub fn success(self) -> bool {
        self.0 == 0
    }
}

impl JobState {
    /// Whether it is over for good, but for processes that are still being ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let is_over = matches!(self, JobState::Ended { .. }) || self.is_ending();
        is_over && JobStateName::base_of(self) != JobStateName::Pending
    }

    /// Whether its processes are stopped, and its CPUs another job's.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        let JobState::Running { suspension, .. } = self else {
            return false;
        };
        suspension.as_ref().is_some_and(|it| it.is_now)
    }

    /// Whether the steps of a running job were sent SIGSTOP, and no SIGCONT since.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let JobState::Running { suspension, .. } = self else {
            return false;
        };
        suspension.as_ref().is_some_and(|it| it.is_stopped)
    }

    /// Whether the end of a running job was decided, and its processes are being ended: not yet in
    /// its grace time.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        let JobState::Running {
            ending: Some(ending),
            ..
        } = self
        else {
            return false;
        };
        !matches!(ending, Ending::Preempted { grace: Some(_), .. })
    }

    /// When the time limit of a running job is over: never where it has none, and not while it is
    /// suspended.
    #[must_use]
    pub fn limit_ends(&self) -> Option<Timestamp> {
        self.shown_end().filter(|_| !self.is_suspended())
    }

    /// The same, as Slurm shows it also of a suspended job: its end as if it went on now.
    #[must_use]
    pub fn shown_end(&self) -> Option<Timestamp> {
        let JobState::Running {
            since,
            limit: Some(limit),
            suspension,
            end_moved_ms,
            ..
        } = self
        else {
            return None;
        };
        let before_ms = suspension.as_ref().map_or(0, |it| it.before_ms);
        let moved = before_ms.saturating_add(*end_moved_ms);
        Some(Timestamp((*since + *limit).0.saturating_add(moved)))
    }

    /// For how many milliseconds it was suspended, so far or in all.
    #[must_use]
    pub fn suspended_ms(&self, now: Timestamp) -> i64 {
        match self {
            JobState::Running { suspension, .. } => {
                suspension.as_ref().map_or(0, |it| it.until(now))
            }
            JobState::Ended { ran, .. } => ran.as_ref().map_or(0, |ran| ran.suspended_ms),
            JobState::Pending { .. } => 0,
        }
    }

    /// Waiting or running: not over.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !matches!(self, JobState::Ended { .. })
    }
}
