//! The node-local folder of one start: `<node_local>/trainyard-<uid>/<run>.<job>.<restart>/`, the
//! same path on every node.

use folder::Attempt;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::lock::FileLock;
use thiserror::Error;

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
        let root = node_local.join(format!("trainyard-{}", sys::process::user()));
        LocalFolder {
            root,
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
        self.path().join("checkpoints")
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

    fn lock_of(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.lock"))
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

    /// In a folder like `/tmp` anyone can make our name first, or a link of that name.
    fn prove_ours(&self) -> Result<(), LocalFolderError> {
        let system = |source| LocalFolderError::System {
            path: self.root.clone(),
            source,
        };
        let facts = fs::symlink_metadata(&self.root).map_err(system)?;
        let (uid, owner, mode) = (sys::process::user(), facts.uid(), facts.mode() & 0o7777);
        if facts.is_dir() && owner == uid && mode & 0o077 == 0 {
            return Ok(());
        }
        Err(LocalFolderError::NotOurs {
            path: self.root.clone(),
            uid,
            owner,
            mode,
        })
    }

    /// Folders whose lock no process holds. What can't be removed stays: it is not worth a job.
    fn remove_orphans(&self) {
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name == self.name || name.ends_with(".lock") {
                continue;
            }
            let lock = self.lock_of(&name);
            if let Ok(Some(_held)) = FileLock::try_acquire(&lock) {
                let _ = fs::remove_dir_all(entry.path());
                let _ = fs::remove_file(lock);
            }
        }
    }

    /// Removes it: everything is saved.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(self.path());
        let _ = fs::remove_file(self.lock_of(&self.name));
        // Only when no other job of the user is here.
        let _ = fs::remove_dir(&self.root);
    }
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
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn of(disk: &Path, restart: u32) -> LocalFolder {
        LocalFolder::new(disk, "digits-k3f9", Attempt { job: 7, restart })
    }

    #[test]
    fn private_shared_by_agents_and_gone_at_the_end() {
        let disk = tempfile::tempdir().unwrap();
        let local = of(disk.path(), 0);
        let first = local.make().unwrap();
        let second = local.make().unwrap();
        assert!(first._lock.is_some() && second._lock.is_none());
        let mode = fs::metadata(local.path()).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o700);
        local.remove();
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_what_the_dead_left_is_removed() {
        let disk = tempfile::tempdir().unwrap();
        let (dead, living, new) = (of(disk.path(), 0), of(disk.path(), 1), of(disk.path(), 2));
        drop(dead.make().unwrap());
        let held = living.make().unwrap();
        let _new = new.make().unwrap();
        assert!(!dead.path().exists());
        assert!(living.path().exists() && new.path().exists());
        drop(held);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_not_used() {
        let disk = tempfile::tempdir().unwrap();
        let local = of(disk.path(), 0);
        fs::create_dir(&local.root).unwrap();
        fs::set_permissions(&local.root, PermissionsExt::from_mode(0o755)).unwrap();
        let error = local.make().unwrap_err();
        assert!(error.to_string().contains("mode 755"), "{error}");
        fs::remove_dir(&local.root).unwrap();
        std::os::unix::fs::symlink(disk.path(), &local.root).unwrap();
        assert!(local.make().is_err());
    }
}
