//! What the ranks are started with.

use crate::Attempt;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use train::{Prelude, RankCommand};

/// `links/<job>.<restart>.launch.json`: written by the conductor before the ranks' step, read by
/// each rank wrapper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFile {
    /// Whose ranks they are.
    pub attempt: Attempt,
    /// Their working folder.
    pub cwd: PathBuf,
    /// What is done before the command.
    pub preludes: Vec<Prelude>,
    /// One for each task of the step, in the order of `SLURM_PROCID`.
    pub ranks: Vec<RankCommand>,
}
