//! A step, and what became of it.

use crate::records::WaitStatus;
use crate::values::{JobId, NodeShare, RestartCount, StepId, Timestamp, Usage};
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
