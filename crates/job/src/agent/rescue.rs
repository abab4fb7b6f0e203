//! An agent that takes the place of a lost one: it ends what is left of the ranks, and copies what
//! the lost one had not brought out.

use super::keeper::Keeper;
use super::tree::Tree;
use super::{AgentError, hold, kept, ranks, scan, tree, unseen};
use crate::hashed_copy;
use crate::local_folder::LocalFolder;
use folder::RunFolder;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use train::Complete;

/// How long killed ranks may take to be gone.
const LONGEST_DEATH: Duration = Duration::from_secs(2);

impl Keeper {
    /// `resume`: what `{resume}` holds.
    pub(super) fn rescue(&mut self, resume: Option<&str>) -> Result<(), AgentError> {
        self.end_ranks();
        self.watching = self.copier;
        self.mirror_logs();
        self.rescuing = true;
        if !self.copier {
            return Ok(());
        }
        // Links of the lost agent, whose names are not known any more.
        for entry in fs::read_dir(self.local.held())
            .into_iter()
            .flatten()
            .flatten()
        {
            hold::release(&entry.path());
        }
        if let Some(name) = resume
            && let Ok(tree) = tree::tree(&self.local.resume().join(name))
        {
            self.watcher.was_finished(name, scan::shape(&tree));
        }
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
                return;
            }
            ranks::kill(&ranks);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
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
