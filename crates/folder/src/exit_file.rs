//! How a rank ended, as its wrapper writes it.

use model::Timestamp;
use serde::{Deserialize, Serialize};

const SIGTERM: i32 = 15;

/// `links/<job>.<restart>.exit.<rank>`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankExit {
    /// The task's number in the ranks' step.
    pub rank: u32,
    /// Its exit code, 128 + signal where one ended it.
    pub status: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// When, by that node's clock.
    pub at: Timestamp,
    /// The node's name.
    pub host: String,
    /// Whether SIGTERM had reached its wrapper before: an exit code of 0 is then no sign that the
    /// training is done.
    #[serde(default)]
    pub told_to_end: bool,
}

impl RankExit {
    /// Whether SIGTERM ended it, or had come before. The program may have ended of it before its wrapper had it.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.told_to_end || self.signal == Some(SIGTERM)
    }

    /// Whether the program failed by itself.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.status != 0 && !self.is_told()
    }
}
