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
    /// What the first node runs where it is one process there that starts the ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<RankCommand>,
    /// One for each rank: in the order of `SLURM_PROCID`, or with a head of MPI's.
    pub ranks: Vec<RankCommand>,
}
