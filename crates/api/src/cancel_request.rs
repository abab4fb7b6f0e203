//! Which jobs a `scancel` means, and what it does to them.

use model::{JobId, StepId};
use serde::{Deserialize, Serialize};

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
