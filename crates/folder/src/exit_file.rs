//! How a rank ended, as its wrapper writes it.

use model::Timestamp;
use serde::{Deserialize, Serialize};

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
