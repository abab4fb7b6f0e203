//! Names of things: jobs, restarts, steps.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A job's number: counted up from 1, never used twice in one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u32);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How often a job was requeued before: 0 at its first start (`SLURM_RESTART_COUNT`).
pub type RestartCount = u32;

/// A step of a job: its batch script, or what one `srun` started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepId {
    /// The batch script itself (`<job>.batch`).
    Batch,
    /// The n-th `srun` of the job, counted from 0 (`<job>.0`).
    Number(u32),
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepId::Batch => f.write_str("batch"),
            StepId::Number(number) => number.fmt(f),
        }
    }
}
