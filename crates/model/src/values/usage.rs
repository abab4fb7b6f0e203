//! What processes used, as the kernel counted it.

use serde::{Deserialize, Serialize};

/// What the processes of a step, or of a job's start, used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in the processes' own code, in microseconds.
    pub user: u64,
    /// CPU time in the kernel on their behalf, in microseconds.
    pub system: u64,
    /// Most bytes of memory that one process held at once.
    pub peak_memory: u64,
    /// Most bytes of addresses that a task and all below it had when they were looked at, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<u64>,
}

impl Usage {
    /// Of both together: times add up, and of the peaks the higher one counts.
    #[must_use]
    pub fn and(self, other: Usage) -> Usage {
        Usage {
            user: self.user.saturating_add(other.user),
            system: self.system.saturating_add(other.system),
            peak_memory: self.peak_memory.max(other.peak_memory),
            addresses: self.addresses.max(other.addresses),
        }
    }

    /// CPU time in all, in microseconds.
    #[must_use]
    pub fn cpu(self) -> u64 {
        self.user.saturating_add(self.system)
    }
}
