//! The rank processes of this node, as their wrappers wrote them down, and signals to them.
//!
//! Signals go straight to processes: Slurm's srun turns a SIGTERM of its own into SIGKILL for the
//! tasks, and torchrun dies of a SIGUSR1 for its workers.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// A rank's processes, written by its wrapper into the node-local folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankProcess {
    /// The node's index in the job: virtual nodes share a folder.
    pub node_index: u32,
    /// The wrapper.
    pub wrapper: u32,
    /// The program that it started.
    pub child: u32,
    /// When the child started, in the kernel's ticks.
    pub start_time: u64,
}

const FOLDER: &str = "ranks";

impl RankProcess {
    /// Writes it down for rank `rank` below the node-local folder `local`.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, local: &Path, rank: u32) -> io::Result<()> {
        let folder = local.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let text = serde_json::to_vec(self).expect("invariant: numbers only");
        sys::atomic::write_relaxed(&folder.join(rank.to_string()), &text)
    }

    fn is_alive(&self) -> bool {
        sys::process::is_same(self.child, self.start_time)
    }
}

/// The living ranks of one node by their numbers: tasks of the ranks' step.
#[must_use]
pub fn numbered(local: &Path, node_index: u32) -> Vec<(u32, RankProcess)> {
    let mut ranks = read(local);
    ranks.retain(|(_, rank)| rank.node_index == node_index);
    ranks.sort_unstable_by_key(|(number, _)| *number);
    ranks
}

/// The living ranks of one node.
#[must_use]
pub fn on_node(local: &Path, node_index: u32) -> Vec<RankProcess> {
    let mut ranks = on_disk(local);
    ranks.retain(|rank| rank.node_index == node_index);
    ranks
}

/// The living ranks of all nodes that share a disk, and so a machine.
#[must_use]
pub fn on_disk(local: &Path) -> Vec<RankProcess> {
    read(local).into_iter().map(|(_, rank)| rank).collect()
}

fn read(local: &Path) -> Vec<(u32, RankProcess)> {
    let entries = fs::read_dir(local.join(FOLDER))
        .into_iter()
        .flatten()
        .flatten();
    let ranks = entries.filter_map(|entry| {
        // One that is being written has another name, which is no number.
        let number = entry.file_name().to_str()?.parse().ok()?;
        let rank: RankProcess = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
        rank.is_alive().then_some((number, rank))
    });
    ranks.collect()
}

/// Whether any rank of any node that shares the folder lives.
#[must_use]
pub fn any_lives(local: &Path) -> bool {
    let entries = fs::read_dir(local.join(FOLDER));
    let mut ranks = entries.into_iter().flatten().flatten().filter_map(|entry| {
        serde_json::from_slice::<RankProcess>(&fs::read(entry.path()).ok()?).ok()
    });
    ranks.any(|rank| rank.is_alive())
}

/// SIGTERM to the programs.
pub fn terminate(ranks: &[RankProcess]) {
    for rank in ranks {
        signal(rank.child, SIGTERM);
    }
}

/// SIGKILL to the programs and everything below them; the wrappers stay to write down the end.
pub fn kill(ranks: &[RankProcess]) {
    for rank in ranks {
        // Parents first, so that none starts another child for the one it lost.
        let below = sys::process::descendants(rank.child);
        signal(rank.child, SIGKILL);
        for process in below {
            signal(process, SIGKILL);
        }
    }
}

/// The notice that the run file asks for. `workers`: the program is a launcher, and its children
/// get it.
pub fn notify(ranks: &[RankProcess], number: i32, workers: bool) {
    for rank in ranks {
        if workers {
            for worker in sys::process::children(rank.child) {
                signal(worker, number);
            }
        } else {
            signal(rank.child, number);
        }
    }
}

fn signal(pid: u32, number: i32) {
    // One that has just ended needs no signal.
    let _ = sys::process::signal(pid, number);
}

use signal_hook::consts::{SIGKILL, SIGTERM};

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn reaches_the_ranks_of_its_own_node_only() {
        let local = tempfile::tempdir().unwrap();
        let mut children = Vec::new();
        for rank in 0..2 {
            let child = Command::new("sleep").arg("60").spawn().unwrap();
            let start_time = sys::process::start_time(child.id()).unwrap();
            let process = RankProcess {
                node_index: rank,
                wrapper: 1,
                child: child.id(),
                start_time,
            };
            process.write(local.path(), rank).unwrap();
            children.push(child);
        }
        let first = on_node(local.path(), 0);
        assert_eq!(first.len(), 1);
        terminate(&first);
        assert_eq!(children[0].wait().unwrap().signal(), Some(SIGTERM));
        assert_eq!(on_node(local.path(), 0), []);
        kill(&on_node(local.path(), 1));
        assert_eq!(children[1].wait().unwrap().signal(), Some(SIGKILL));
    }
}
