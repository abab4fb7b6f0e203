//! What is said of a job that waits, or that would: when it starts, and what is in its way.

use model::{JobId, NodeName, Timestamp};
use serde::{Deserialize, Serialize};

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
    /// What has yet to happen that it waits for.
    #[serde(default)]
    pub unmet: Vec<Unmet>,
    /// One of what has yet to happen is enough (`?` in its dependency).
    #[serde(default)]
    pub one_is_enough: bool,
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

/// A condition of a job's dependency that is not met yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unmet {
    /// `afterok:7`, `singleton`
    pub condition: String,
    /// When it is met, where that is known.
    pub met_at: Option<Timestamp>,
    /// Jobs that have to start or end first: those that wait, then those that end last.
    pub jobs: Vec<AwaitedJob>,
    /// So many more of them are not named.
    pub more: usize,
}

/// A job for which another waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AwaitedJob {
    /// The job, or the element of an array: `7`, `7_2`.
    pub job: String,
    /// Why it waits itself, as Slurm says it; `None` where it runs.
    pub waits: Option<String>,
    /// When its limit is over; `None` has no limit, waits, or is suspended.
    pub until: Option<Timestamp>,
    /// It is suspended, and its time stands still.
    pub is_suspended: bool,
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
