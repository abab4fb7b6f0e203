//! What the ranks are started with.

use crate::Attempt;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use train::{ContainerStart, Prelude, RankCommand};

/// Ranks of one file. Each rank reads the file that it is in: with one file for all, what a thousand
/// ranks read at their start would be a million commands.
const RANKS_OF_FILE: u32 = 16;

/// What the ranks of a start are started with: written by the conductor before their step, in files
/// `links/<job>.<restart>.launch.<n>.json` of some ranks each; read by each rank wrapper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFile {
    /// Whose ranks they are.
    pub attempt: Attempt,
    /// Their working folder.
    pub cwd: PathBuf,
    /// What is done before the command.
    pub preludes: Vec<Prelude>,
    /// The container that the ranks start in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<ContainerStart>,
    /// Names of the secret variables that they have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// How many ranks there are, in all files.
    pub count: u32,
    /// What the first node runs where it is one process there that starts the ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<RankCommand>,
    /// One for each rank: in the order of `SLURM_PROCID`, or with a head of MPI's.
    pub ranks: Vec<RankCommand>,
}

impl LaunchFile {
    /// The number of the file that has a task.
    pub(crate) fn number_of(task: u32) -> u32 {
        task / RANKS_OF_FILE
    }

    /// The files, by number. One without ranks at least: the wrapper says what is wrong.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u32, LaunchFile)> {
        let numbers = 0..=LaunchFile::number_of(self.count.saturating_sub(1));
        numbers.map(|number| {
            let ranks = self.ranks.iter();
            let here = ranks.filter(|rank| LaunchFile::number_of(rank.task) == number);
            let file = LaunchFile {
                ranks: here.cloned().collect(),
                attempt: self.attempt,
                cwd: self.cwd.clone(),
                preludes: self.preludes.clone(),
                container: self.container.clone(),
                secrets: self.secrets.clone(),
                count: self.count,
                head: self.head.clone().filter(|_| number == 0),
            };
            (number, file)
        })
    }
}
