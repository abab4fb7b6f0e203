//! What a scheduler and its callers did since a moment.

use crate::values::Timestamp;
use serde::{Deserialize, Serialize};

/// What `sdiag` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchedulerStatistics {
    /// The moment of the answer.
    pub at: Timestamp,
    /// Since when it is counted.
    pub since: Timestamp,
    /// The engine's threads.
    pub threads: u64,
    /// Submissions; an array is one.
    pub submitted: u64,
    /// Starts of jobs.
    pub started: u64,
    /// Jobs that ended well.
    pub completed: u64,
    /// Jobs that were cancelled.
    pub canceled: u64,
    /// Jobs that ended otherwise.
    pub failed: u64,
    /// Jobs that wait now.
    pub pending: u64,
    /// Jobs that run now.
    pub running: u64,
    /// Passes over the queue.
    pub passes: Passes,
    /// Passes in which a job behind others that wait was tried.
    pub backfill: Passes,
    /// When the last of these was.
    pub last_backfill: Option<Timestamp>,
    /// Jobs that started before others ahead of them, since the engine started.
    pub backfilled_in_all: u64,
    /// The same since [`SchedulerStatistics::since`].
    pub backfilled: u64,
    /// Calls by kind: Slurm's name of the message and its number.
    pub by_kind: Vec<CallCount>,
    /// Calls by user: name and number.
    pub by_user: Vec<CallCount>,
}

/// Passes of one kind; lengths in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// How many.
    pub count: u64,
    /// Length of the last one.
    pub last: u64,
    /// Length of the longest.
    pub longest: u64,
    /// Lengths together.
    pub sum: u64,
    /// Jobs that the last one looked at.
    pub last_depth: u64,
    /// Jobs that all looked at.
    pub depth: u64,
    /// Jobs that waited after the last one.
    pub last_queue: u64,
    /// The same of all together.
    pub queue: u64,
    /// Jobs to which the last one promised a start.
    pub last_promised: u64,
    /// The same of all together.
    pub promised: u64,
}

/// Calls of one kind, or of one user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    /// What is counted.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// How many.
    pub count: u64,
    /// Time until their answers, together, in microseconds.
    pub time: u64,
}

impl SchedulerStatistics {
    /// Passes a minute, once it was counted for more than one.
    #[must_use]
    pub fn passes_per_minute(&self) -> Option<u64> {
        let seconds = self.at.seconds() - self.since.seconds();
        let minutes = u64::try_from(seconds / 60).ok().filter(|_| seconds > 60)?;
        self.passes.count.checked_div(minutes)
    }
}

impl Passes {
    /// What one pass has of a sum.
    #[must_use]
    pub fn mean(&self, sum: u64) -> u64 {
        sum.checked_div(self.count).unwrap_or(0)
    }
}

impl CallCount {
    /// Time until an answer, in microseconds.
    #[must_use]
    pub fn average(&self) -> u64 {
        self.time.checked_div(self.count).unwrap_or(0)
    }
}
