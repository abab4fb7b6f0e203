//! A job as the engine tells of it, which Slurm's commands print from.

use crate::records::{JobProlog, JobState, Submitter};
use crate::requests::Request;
use crate::values::{ArraySpec, JobId, NodeName, RestartCount, Seconds, Timestamp};
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// When and where a job that waits is expected to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStart {
    /// The moment.
    pub at: Timestamp,
    /// Its nodes.
    pub nodes: Vec<NodeName>,
}

/// One job: whose it is, what it asked for and where it stands, whose fields are the record's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Whose it is, and where it came from; shared by all that one submission made.
    pub submitter: Arc<Submitter>,
    /// What it asked for, but for the elements of its array; shared by all elements, and never
    /// changed by what becomes of the job.
    pub request: Arc<Request>,
    /// The rest.
    pub standing: JobStanding,
}

/// Where a job stands. In messages it has short names: there may be a hundred thousand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStanding {
    /// Its number.
    pub id: JobId,
    /// Its place in an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayPlace>,
    /// The partition that it runs or ran in; `None` before its first start and while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// When it may start at the earliest: as asked for, or a moment after a start that it was
    /// queued again right after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// What it still waits for, each job with its condition and how that stands (`(unfulfilled)`, `(failed)`);
    /// what is met is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency: Option<String>,
    /// Its state.
    #[serde(rename = "is")]
    pub state: JobState,
    /// Submission, or the last requeue.
    #[serde(rename = "at")]
    pub submitted: Timestamp,
    /// Since when it may start; `None` while held or dependent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<Timestamp>,
    /// Since when it gains priority by its age, where a limit lets so many jobs alone do so; else since it
    /// may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accrues: Option<Timestamp>,
    /// Such a limit keeps it from that so far; of a live job in an answer alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_age_limited: bool,
    /// While it waits, its limit where it names none, and its first partition neither: what limits of QOS and
    /// accounts let; of a live job in an answer alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_by_rules: Option<Seconds>,
    /// When it last gave back nodes or lost some while it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resized: Option<Timestamp>,
    /// Its start by the scheduler's plan; of a live job in an answer alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<PlannedStart>,
    /// 0 is held.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: u32,
    /// The reservations in which it may run, or the one in which it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// How often it was requeued.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restarts: RestartCount,
    /// Whether it has a batch script; an allocation (`salloc`, `srun`) has none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub batch: bool,
    /// How it stands with the programs before it; of a live job in an answer alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prolog: Option<JobProlog>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Deref for JobRecord {
    type Target = JobStanding;

    fn deref(&self) -> &JobStanding {
        &self.standing
    }
}

impl DerefMut for JobRecord {
    fn deref_mut(&mut self) -> &mut JobStanding {
        &mut self.standing
    }
}

impl JobRecord {
    /// The partition that it runs or ran in, else those that it asked for.
    #[must_use]
    pub fn partitions(&self) -> Option<&str> {
        let asked = self.request.partition.as_deref();
        self.partition.as_deref().or(asked)
    }

    /// Its element of an array; the first of several that wait together.
    #[must_use]
    pub fn first_element(&self) -> Option<u32> {
        self.array.as_ref().and_then(|place| place.task.first())
    }

    /// Whether it is that element of its array, or several of which that is one; all are where none is
    /// meant.
    #[must_use]
    pub fn is_element(&self, meant: Option<u32>) -> bool {
        let place = self.array.as_ref();
        meant.is_none_or(|meant| place.is_some_and(|place| place.task.holds(meant)))
    }
}

/// A job's place in its array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayPlace {
    /// The array's id: the id that `sbatch` answered.
    pub array_job: JobId,
    /// Which element.
    pub task: ArrayTask,
    /// How many of its elements run at once at most (`%N`); as in Slurm only the row that has the
    /// array's id says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<u32>,
}

/// One element, or all that did not start yet (they share one row until they start).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrayTask {
    /// This element.
    One(u32),
    /// The elements that still wait.
    Waiting(ArraySpec),
}

impl ArrayTask {
    /// Whether that element is it, or among them.
    #[must_use]
    pub fn holds(&self, element: u32) -> bool {
        match self {
            ArrayTask::One(task) => *task == element,
            ArrayTask::Waiting(spec) => spec.indices.contains(&element),
        }
    }

    /// The first element of them.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        match self {
            ArrayTask::One(task) => Some(*task),
            ArrayTask::Waiting(spec) => spec.indices.first().copied(),
        }
    }

    /// How many elements it is.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            ArrayTask::One(_) => 1,
            ArrayTask::Waiting(spec) => spec.indices.len(),
        }
    }
}
