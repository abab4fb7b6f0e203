//! What becomes of an output file that exists.

use serde::{Deserialize, Serialize};

/// `--open-mode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenMode {
    /// Keep what the file holds.
    Append,
    /// Empty it first (Slurm's default).
    Truncate,
}
