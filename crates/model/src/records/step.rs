//! A step, and what became of it.

use crate::records::WaitStatus;
use crate::values::{JobId, NodeShare, RestartCount, StepId, TasksUsage, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// A step as the engine tells of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Its job.
    pub job: JobId,
    /// Of which start of the job.
    pub restart: RestartCount,
    /// Its id.
    pub step: StepId,
    /// Its name.
    pub name: String,
    /// Its share of each node, tasks included, in rank order.
    pub nodes: Vec<NodeShare>,
    /// When it began.
    pub since: Timestamp,
    /// Where it stands.
    pub state: StepState,
    /// What its processes used, once it ended and where that was counted.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// What its tasks used one by one, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_usage: Option<Box<TasksUsage>>,
    /// The user who cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<u32>,
    /// The command line that asked for it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_line: Option<String>,
    /// The `srun` that asked for it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srun: Option<SrunProcess>,
}

/// An `srun`: `SrunHost:Pid`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SrunProcess {
    /// The machine, or the node of a job, on which it was called.
    pub host: String,
    /// Its process there.
    pub pid: u32,
}

impl SrunProcess {
    /// Reads it from what a request for a step is recognised by: `srun-HOST-PID-TIME-RANDOM`.
    #[must_use]
    pub fn of_token(token: &str) -> Option<SrunProcess> {
        let mut parts = token.strip_prefix("srun-")?.rsplitn(4, '-');
        let (_random, _time) = (parts.next()?, parts.next()?);
        let pid = parts.next()?.parse().ok()?;
        let host = parts.next()?.to_owned();
        Some(SrunProcess { host, pid })
    }
}

/// Where a step stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// At least one of its nodes has not reported its end.
    Running,
    /// Over.
    Ended {
        /// When the last node reported.
        at: Timestamp,
        /// The worst of its tasks.
        status: WaitStatus,
        /// Its time limit, or its job's, ended it.
        #[serde(default)]
        timed_out: bool,
    },
}
