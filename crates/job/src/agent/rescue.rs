//! An agent that takes the place of a lost one: it ends what is left of the ranks, and copies what
//! the lost one had not brought out.

use super::keeper::Keeper;
use super::kept::Kept;
use super::tree::Tree;
use super::{AgentError, hold, kept, loose_containers, ranks, tree, unseen};
use crate::hashed_copy;
use crate::local_folder::LocalFolder;
use folder::RunFolder;
use std::path::Path;
use std::time::{Duration, Instant};
use train::Complete;

/// How long killed ranks may take to be gone.
const LONGEST_DEATH: Duration = Duration::from_secs(2);

impl Keeper {
    /// Takes the place of a lost agent.
    pub(super) fn rescue(&mut self) -> Result<(), AgentError> {
        self.end_ranks();
        self.watching = self.copier;
        self.mirror_logs();
        self.rescuing = true;
        if !self.copier {
            return Ok(());
        }
        self.count = last_held(&self.local);
        for kept in still_needed(&self.at.run, &self.local) {
            self.take_over(kept);
        }
        self.compare_with_resumed();
        self.ending()
    }

    /// Kills the ranks of this node and waits until they are gone.
    pub(super) fn end_ranks(&self) {
        let living = || {
            if self.only_copier {
                ranks::on_disk(&self.local.path())
            } else {
                ranks::on_node(&self.local.path(), self.at.node_index)
            }
        };
        let begun = Instant::now();
        loop {
            let ranks = living();
            if ranks.is_empty() || begun.elapsed() > LONGEST_DEATH {
                break;
            }
            ranks::kill(&ranks);
            std::thread::sleep(Duration::from_millis(10));
        }
        let own = Some(self.at.node_index).filter(|_| !self.only_copier);
        loose_containers::end_left(&self.local.path(), own, loose_containers::LONGEST_END);
    }
}

/// The highest number under which something is held: the next is held under another one.
pub(super) fn last_held(local: &LocalFolder) -> u64 {
    let all = kept::entries(&local.held());
    all.iter()
        .filter_map(|path| kept::number(path))
        .max()
        .unwrap_or(0)
}

/// What a lost agent held that is not saved: the program may have removed it since, and of what an earlier start
/// left there is no other copy. All else that it held is given up.
fn still_needed(run: &RunFolder, local: &LocalFolder) -> Vec<Kept> {
    let mut needed: Vec<Kept> = kept::held_in(local).into_values().collect();
    needed.retain(|Kept { path, record }| {
        !tree::tree(path).is_ok_and(|tree| is_out(run, &record.name, path, &tree))
    });
    for entry in kept::entries(&local.held()) {
        // Its record stands beside it.
        let held = entry.with_extension("");
        if !needed.iter().any(|kept| kept.path == held) {
            hold::release(&entry);
        }
    }
    needed
}

/// Whether the run folder has all complete checkpoints of a node's folder, also those of which that could
/// not be noted on a disk that is full or read-only.
pub(crate) fn all_saved(run: &RunFolder, local: &LocalFolder) -> bool {
    kept::in_folder(local).iter().all(|kept| {
        let (name, path) = (&kept.record.name, &kept.path);
        tree::tree(path).is_ok_and(|tree| is_out(run, name, path, &tree))
    })
}

/// Whether the ranks of a folder's start left a complete checkpoint there that no agent had seen and that
/// is newer than all of the run folder.
pub(crate) fn has_newer(run: &RunFolder, local: &LocalFolder, rule: &Complete) -> bool {
    let out = run.look_at_checkpoints().unwrap_or_default().known();
    let done = kept::of_done(run, local, rule);
    done.iter().chain(&unseen::complete(local)).any(|kept| {
        let (name, path) = (&kept.record.name, &kept.path);
        !out.have_as_new(name) && !tree::tree(path).is_ok_and(|tree| is_out(run, name, path, &tree))
    })
}

/// Removes the folder of an earlier start from which all that is complete was taken. What may be complete, and is
/// newer than all that is saved, stays.
pub(super) fn remove_but_doubtful(run: &RunFolder, earlier: &LocalFolder) {
    let out = run.look_at_checkpoints().unwrap_or_default().known();
    let is_newest = |name: &String| {
        let path = earlier.checkpoints().join(name);
        let written = tree::tree(&path).ok().and_then(|tree| tree.written());
        !out.have_as_new(name) && written > out.last_written()
    };
    if unseen::may_be_complete(earlier).iter().any(is_newest) {
        earlier.remove_bulk();
    } else {
        let _left = earlier.remove();
    }
}

/// Whether all files of an entry, of which `tree` tells and which stand at `path`, are in the run
/// folder's checkpoint of that name with the same bytes.
pub(super) fn is_out(run: &RunFolder, name: &str, path: &Path, tree: &Tree) -> bool {
    let Ok(manifest) = run.read_manifest(name) else {
        return false;
    };
    if manifest.check_sizes(&run.checkpoint(name)).is_err() {
        return false;
    }
    tree.files.iter().all(|(place, facts)| {
        let published = manifest
            .contents
            .files
            .iter()
            .find(|file| file.path == *place);
        published.is_some_and(|file| {
            file.bytes == facts.len()
                && hashed_copy::hash(&file.below(path)).is_ok_and(|(_, hash)| hash == file.blake3)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::{Attempt, Contents, FileHash, Manifest};
    use model::Timestamp;
    use std::fs;
    use std::path::PathBuf;

    /// The lost agent held a checkpoint that the program had removed since, and one that it had taken over of an
    /// earlier start: both were nowhere else, and went.
    #[test]
    fn what_a_lost_agent_held_and_had_not_saved_is_not_given_up() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        run.make_checkpoint_folders().unwrap();
        let attempt = Attempt { job: 7, restart: 1 };
        let local = LocalFolder::new(root.path(), "digits-k3f9", attempt);
        let _owned = local.make().unwrap();
        let held = |number: u32, name: &str, start: Option<Attempt>| {
            let path = local.held().join(number.to_string());
            fs::write(&path, name).unwrap();
            let record = kept::Record::of(name, true, start, &path).unwrap();
            record.write(&path).unwrap();
        };
        held(1, "step-5", None);
        held(2, "step-8", Some(Attempt { job: 7, restart: 0 }));
        held(3, "step-7", None);
        fs::write(local.held().join("9"), "without a record").unwrap();
        fs::write(run.checkpoint("step-7"), "step-7").unwrap();
        let (bytes, blake3) = hashed_copy::hash(&run.checkpoint("step-7")).unwrap();
        let path = PathBuf::new();
        let files = vec![FileHash {
            path,
            bytes,
            blake3,
        }];
        let manifest = Manifest::new("step-7", Timestamp(0), true, Contents::from(files));
        run.write_manifest(&manifest).unwrap();
        assert_eq!(last_held(&local), 9);
        let needed = still_needed(&run, &local);
        let names: Vec<&str> = needed
            .iter()
            .map(|kept| kept.record.name.as_str())
            .collect();
        assert_eq!(names, ["step-5", "step-8"]);
        assert!(needed.iter().all(|kept| kept.path.exists()));
        assert_eq!(kept::entries(&local.held()).len(), 4);
    }
}
