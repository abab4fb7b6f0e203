//! A job as the engine tells of it.

use crate::records::JobState;
use crate::requests::Request;
use crate::values::{ArraySpec, JobId, RestartCount, Timestamp};
use serde::{Deserialize, Serialize};

/// One job: what it asked for and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Its number.
    pub id: JobId,
    /// Its place in an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayPlace>,
    /// Owner.
    pub uid: u32,
    /// Owner's group.
    pub gid: u32,
    /// Owner's name.
    pub user: String,
    /// Owner's group's name.
    pub group: String,
    /// What it asked for.
    pub request: Request,
    /// The partitions that it asked for, where it asked for several and has started: the one that
    /// it is or was in stands in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<String>,
    /// Where it stands.
    pub state: JobState,
    /// Submission, or the last requeue.
    pub submitted: Timestamp,
    /// Since when it may start; `None` while held or dependent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<Timestamp>,
    /// 0 is held.
    pub priority: u32,
    /// How often it was requeued.
    pub restarts: RestartCount,
    /// Whether it has a batch script; an allocation (`salloc`, `srun`) has none.
    pub batch: bool,
    /// The script's path as given, for `Command=` of `scontrol show job`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Host name of the submission.
    pub submit_host: String,
    /// Version of this row: grows with every change in the store.
    pub version: u64,
}

/// A job's place in its array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayPlace {
    /// The array's id: the id that `sbatch` answered.
    pub array_job: JobId,
    /// Which element.
    pub task: ArrayTask,
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
