//! What a partition says against a job that waits there.

use crate::values::Seconds;
use serde::{Deserialize, Serialize};

/// What a partition says against a job that waits there, whatever else runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionBound {
    /// The partition's name.
    pub partition: String,
    /// What it says.
    pub says: PartitionSays,
}

/// What a partition says against a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionSays {
    /// It starts no jobs.
    Closed,
    /// Jobs last no longer (`MaxTime`).
    Time {
        /// The longest.
        most: Seconds,
    },
    /// Jobs have so many nodes (`MinNodes`, `MaxNodes`).
    Nodes {
        /// No fewer.
        least: u32,
        /// No more; `None` is no limit.
        most: Option<u32>,
    },
    /// A job has no more CPUs than it has.
    Cpus {
        /// So many it asks for, of one node where they can't be of several.
        asked: u64,
        /// They are of one node: those of a task.
        on_one: bool,
        /// So many there are: on the largest node, or in all.
        there: u64,
    },
}
