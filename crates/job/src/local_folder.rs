//! The node-local folder of one start: `<node_local>/trainyard-<uid>/<run>.<job>.<restart>/`, the
//! same path on every node. Where another user took `trainyard-<uid>`, it is `trainyard-<uid>.1`.

use crate::agent::{any_lives, kept, unseen};
use folder::Attempt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::lock::FileLock;
use thiserror::Error;

/// How the name of a file ends that has events which found no room in the run folder.
const EVENTS: &str = ".events";
/// How the name of a folder's lock ends.
const LOCK: &str = ".lock";
/// How often the folder is made again that another job has removed.
const ATTEMPTS: u32 = 100;

/// Where things stand on a node's own disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalFolder {
    root: PathBuf,
    name: String,
}

/// A node-local folder that is ours while this lives.
#[derive(Debug)]
pub struct Owned {
    /// Held by one agent of each disk; agents of virtual nodes share the folder.
    _lock: Option<FileLock>,
}

/// Why the node's disk can't be used.
#[derive(Debug, Error)]
pub enum LocalFolderError {
    /// Someone else's folder has the name.
    #[error(
        "{path:?} is needed for node-local files, and is not a private folder of user {uid} (owner {owner}, mode {mode:o}); remove it, or choose another node_local folder"
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// Who we are.
        uid: u32,
        /// Whose it is.
        owner: u32,
        /// Its permissions.
        mode: u32,
    },
    /// It can't be made.
    #[error(
        "{path:?} is needed for node-local files and can't be made: {source}; choose another node_local folder"
    )]
    System {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl LocalFolder {
    /// Of one start of a run, below the plan's node-local folder. Nothing is made.
    #[must_use]
    pub fn new(node_local: &Path, run: &str, attempt: Attempt) -> LocalFolder {
        LocalFolder {
            root: LocalFolder::root_in(node_local),
            name: format!("{run}.{attempt}"),
        }
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    /// What the program writes checkpoints to.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        checkpoints(&self.path())
    }

    /// What it resumes from; empty at the first start.
    #[must_use]
    pub fn resume(&self) -> PathBuf {
        self.path().join("resume")
    }

    /// Staged data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Event files, where the run file wants them here.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.path().join("logs")
    }

    /// Links to complete checkpoints that are not copied yet.
    #[must_use]
    pub fn held(&self) -> PathBuf {
        self.path().join("held")
    }

    /// The program's notice that its job is about to end, where the run file wants a file.
    #[must_use]
    pub fn stop_file(&self) -> PathBuf {
        self.path().join("stop")
    }

    /// Which of `{checkpoints}` are out, with what their files were.
    #[must_use]
    pub fn out_list(&self) -> PathBuf {
        self.path().join("out.json")
    }

    /// By which rule what stands in `{checkpoints}` is complete, for as long as no agent has looked at it.
    #[must_use]
    pub fn unseen_note(&self) -> PathBuf {
        self.path().join("unseen.json")
    }

    /// By which variables a node's agent, whose step has all GPUs of the job there, knows them: nodes of
    /// a virtual cluster share the folder.
    #[must_use]
    pub fn gpus_note(&self, node_index: u32) -> PathBuf {
        gpus_note(&self.path(), node_index)
    }

    /// Which CPUs are near each of them, as the agent knows.
    #[must_use]
    pub fn near_gpus_note(&self, node_index: u32) -> PathBuf {
        near_gpus_note(&self.path(), node_index)
    }

    /// Notes that the ranks may write files which are to be collected.
    ///
    /// # Errors
    /// The node's disk can't be written.
    pub fn note_uncollected(&self) -> io::Result<()> {
        fs::write(self.uncollected(), b"")
    }

    /// Whether it may have files that were to be collected and were not.
    #[must_use]
    pub fn has_uncollected(&self) -> bool {
        self.uncollected().exists()
    }

    /// Takes the note of [`LocalFolder::note_uncollected`] back.
    pub fn all_collected(&self) {
        // One that stays has the folder looked at once more.
        let _ = fs::remove_file(self.uncollected());
    }

    fn uncollected(&self) -> PathBuf {
        self.path().join("uncollected")
    }

    /// Leaves events that found no room in the run folder to the run's next start here: beside the
    /// folder, which may be removed before.
    ///
    /// # Errors
    /// The node's disk takes nothing either.
    pub fn leave_events(&self, lines: &[u8]) -> io::Result<()> {
        self.prove_ours().map_err(io::Error::other)?;
        let path = self.root.join(format!("{}{EVENTS}", self.name));
        let mut file = File::options().append(true).create(true).open(path)?;
        file.write_all(lines)
    }

    /// What [`LocalFolder::leave_events`] left of the same run, by start.
    #[must_use]
    pub fn left_events(&self) -> Vec<(Attempt, PathBuf)> {
        if self.prove_ours().is_err() {
            return Vec::new();
        }
        let run = self.owner().map(|(run, _)| run);
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let mut left: Vec<(Attempt, PathBuf)> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let root = self.root.clone();
                let name = name.strip_suffix(EVENTS)?.to_owned();
                let other = LocalFolder { root, name };
                let (owner, attempt) = other.owner()?;
                (Some(owner) == run).then(|| (attempt, entry.path()))
            })
            .collect();
        left.sort();
        left
    }

    /// The folders of all the user's jobs below a plan's node-local folder: where another user took
    /// the name, a numbered one.
    #[must_use]
    pub fn root_in(node_local: &Path) -> PathBuf {
        let name = format!("trainyard-{}", sys::process::user());
        sys::private_folder::of_user(node_local, &name)
    }

    /// Whose folder it is: the run's id, and which start of it.
    #[must_use]
    pub fn owner(&self) -> Option<(&str, Attempt)> {
        let mut parts = self.name.rsplitn(3, '.');
        let (restart, job, run) = (parts.next()?, parts.next()?, parts.next()?);
        Some((run, format!("{job}.{restart}").parse().ok()?))
    }

    /// The folders in the folder of all the user's jobs.
    #[must_use]
    pub fn all(root: &Path) -> Vec<LocalFolder> {
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut all: Vec<LocalFolder> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .map(|name| LocalFolder {
                root: root.to_owned(),
                name,
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// What earlier starts of the same run left here, the newest first.
    #[must_use]
    pub fn earlier(&self) -> Vec<LocalFolder> {
        let Some((run, now)) = self.owner() else {
            return Vec::new();
        };
        let mut earlier: Vec<(Attempt, LocalFolder)> = LocalFolder::all(&self.root)
            .into_iter()
            .filter_map(|other| {
                let (owner, attempt) = other.owner()?;
                (owner == run && attempt < now).then_some((attempt, other.clone()))
            })
            .collect();
        earlier.sort_by_key(|(attempt, _)| std::cmp::Reverse(*attempt));
        earlier.into_iter().map(|(_, local)| local).collect()
    }

    /// Removes locks of earlier starts of the same run that have no folder: their agents were killed
    /// between the two. Those of other runs may be of one that is just about to make its folder.
    pub fn remove_earlier_locks(&self) {
        let Some((run, now)) = self.owner() else {
            return;
        };
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_suffix(LOCK)) else {
                continue;
            };
            let other = LocalFolder {
                root: self.root.clone(),
                name: name.to_owned(),
            };
            let is_earlier = |(owner, attempt)| owner == run && attempt < now;
            if other.owner().is_some_and(is_earlier)
                && !other.path().exists()
                && let Some(_held) = other.take()
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Takes a folder that no job uses any more; `None` where one does: its agent holds the lock, or
    /// has been killed and left ranks that live.
    #[must_use]
    pub fn take(&self) -> Option<FileLock> {
        let lock = FileLock::try_acquire(&self.lock_of(&self.name)).ok()?;
        lock.filter(|_| !any_lives(&self.path()))
    }

    /// Removes what makes no checkpoint: staged data and what was resumed from.
    pub fn remove_bulk(&self) {
        let _ = fs::remove_dir_all(self.data());
        let _ = fs::remove_dir_all(self.resume());
    }

    fn lock_of(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}{LOCK}"))
    }

    /// Makes it, private to the user, and removes what dead jobs of the user left beside it.
    ///
    /// # Errors
    /// Its parent belongs to someone else, or the disk can't be written.
    pub fn make(&self) -> Result<Owned, LocalFolderError> {
        let system = |source| LocalFolderError::System {
            path: self.path(),
            source,
        };
        let mut attempts = 0;
        let lock = loop {
            attempts += 1;
            match self.claim().and_then(|lock| {
                self.make_parts().map_err(system)?;
                Ok(lock)
            }) {
                // The user's last other job here has removed the folder of all in between.
                Err(LocalFolderError::System { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && attempts < ATTEMPTS => {}
                claimed => break claimed?,
            }
        };
        self.remove_orphans();
        Ok(Owned { _lock: lock })
    }

    fn make_parts(&self) -> io::Result<()> {
        let parts = [
            self.path(),
            self.checkpoints(),
            self.resume(),
            self.data(),
            self.held(),
            self.logs(),
        ];
        parts.iter().try_for_each(|folder| make_private(folder))
    }

    /// Makes the folder of all the user's jobs here, and locks the name in it: before the folder of
    /// that name, because whoever finds that without a held lock may take it for a dead job's.
    fn claim(&self) -> Result<Option<FileLock>, LocalFolderError> {
        let system = |source| LocalFolderError::System {
            path: self.path(),
            source,
        };
        make_private(&self.root).map_err(system)?;
        self.prove_ours()?;
        FileLock::try_acquire(&self.lock_of(&self.name)).map_err(system)
    }

    fn prove_ours(&self) -> Result<(), LocalFolderError> {
        LocalFolder::check_root(&self.root)
    }

    /// In a folder like `/tmp` anyone can make our name first, or a link of that name.
    ///
    /// # Errors
    /// The folder of all the user's jobs is not a private folder of this user.
    pub fn check_root(root: &Path) -> Result<(), LocalFolderError> {
        let system = |source| LocalFolderError::System {
            path: root.to_owned(),
            source,
        };
        let facts = fs::symlink_metadata(root).map_err(system)?;
        let (uid, owner, mode) = (sys::process::user(), facts.uid(), facts.mode() & 0o7777);
        if facts.is_dir() && owner == uid && mode & 0o077 == 0 {
            return Ok(());
        }
        Err(LocalFolderError::NotOurs {
            path: root.to_owned(),
            uid,
            owner,
            mode,
        })
    }

    /// Folders of other runs that no job uses. One that has the only copy of a complete checkpoint
    /// stays, without what makes no checkpoint: it is its own run's, or `yard clean --force`'s. So
    /// does what can't be removed: it is not worth a job.
    fn remove_orphans(&self) {
        let own = self.owner().map(|(run, _)| run);
        for other in LocalFolder::all(&self.root) {
            // What this run left is looked at when it is known what is resumed from.
            if other.owner().map(|(run, _)| run) == own {
                continue;
            }
            if let Some(_held) = other.take() {
                if other.has_uncollected() {
                    let _ = fs::remove_dir_all(other.resume());
                } else if kept::in_folder(&other).is_empty()
                    && unseen::may_be_complete(&other).is_empty()
                    && unseen::unspeakable(&other).is_empty()
                {
                    let _left = other.remove();
                } else {
                    other.remove_bulk();
                }
            }
        }
    }

    /// Removes it: everything is saved.
    ///
    /// # Errors
    /// What the system says; another try goes on from there.
    pub fn remove(&self) -> io::Result<()> {
        for removed in [
            fs::remove_dir_all(self.path()),
            fs::remove_file(self.lock_of(&self.name)),
        ] {
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        // Only when no other job of the user is here.
        let _others = fs::remove_dir(&self.root);
        Ok(())
    }
}

/// As [`LocalFolder::checkpoints`], in the folder at `path`.
#[must_use]
pub fn checkpoints(path: &Path) -> PathBuf {
    path.join("checkpoints")
}

/// As [`LocalFolder::gpus_note`], in the folder at `path`.
#[must_use]
pub fn gpus_note(path: &Path, node_index: u32) -> PathBuf {
    path.join(format!("gpus.{node_index}.json"))
}

/// As [`LocalFolder::near_gpus_note`], in the folder at `path`.
#[must_use]
pub fn near_gpus_note(path: &Path, node_index: u32) -> PathBuf {
    path.join(format!("near-gpus.{node_index}.json"))
}

/// Whether an agent holds the folder at `path`; also where that can't be known.
#[must_use]
pub fn has_agent(path: &Path) -> bool {
    let mut lock = path.as_os_str().to_owned();
    lock.push(LOCK);
    File::open(Path::new(&lock)).map_or(true, |file| file.try_lock_shared().is_err())
}

fn make_private(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent()
        && !parent.exists()
    {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "local_folder_tests.rs"]
mod tests;
