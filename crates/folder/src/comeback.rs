//! Who brings a run back after a start whose batch step was killed: one process at a time, for as long as
//! it lives.

use crate::{Attempt, RunFolder};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A claim, held until dropped: then another may take it up, unless it was settled.
#[derive(Debug)]
pub struct ComebackClaim {
    _locked: File,
}

/// How it stands about the comeback of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComebackState {
    /// No process has claimed it.
    Unclaimed,
    /// A process that lives has.
    Held,
    /// One had that was killed over it.
    Abandoned,
    /// The cluster has accepted it.
    Settled,
}

/// What a claim's file says.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    settled: bool,
    /// Who holds it, for file systems without locks.
    boot_id: String,
    process: u32,
    started: u64,
    /// Where that number counts.
    #[serde(default)]
    namespace: u64,
}

impl Note {
    fn own(settled: bool) -> Note {
        let process = std::process::id();
        Note {
            settled,
            boot_id: sys::boot_id(),
            process,
            started: sys::process::start_time(process).unwrap_or(0),
            namespace: sys::process::pid_namespace(),
        }
    }

    fn read(mut file: &File) -> Option<Note> {
        let mut text = Vec::new();
        file.rewind().ok()?;
        file.read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn write(&self, mut file: &File) -> io::Result<()> {
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(self)?)
    }

    /// Whether its process is known to be gone.
    fn is_dead(&self) -> bool {
        self.boot_id == sys::boot_id()
            && [0, sys::process::pid_namespace()].contains(&self.namespace)
            && !sys::process::is_same(self.process, self.started)
    }
}

impl RunFolder {
    /// Takes it upon the caller to bring the run back; `None` where another that lives has, or has
    /// done so.
    ///
    /// # Errors
    /// What the system says.
    pub fn claim_comeback(&self, attempt: Attempt) -> io::Result<Option<ComebackClaim>> {
        let path = self.comeback(attempt);
        let (file, is_new) = match open(File::options().create_new(true), &path) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (open(&mut File::options(), &path)?, false)
            }
            Err(error) => return Err(error),
        };
        let is_ours = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            // Without locks whoever made the file holds it, and one after its death.
            Err(TryLockError::Error(_)) => {
                is_new || Note::read(&file).is_some_and(|note| note.is_dead())
            }
        };
        if !is_ours || Note::read(&file).is_some_and(|note| note.settled) {
            return Ok(None);
        }
        Note::own(false).write(&file)?;
        Ok(Some(ComebackClaim { _locked: file }))
    }

    /// Notes that the cluster has accepted the comeback.
    ///
    /// # Errors
    /// What the system says.
    pub fn settle_comeback(&self, attempt: Attempt) -> io::Result<()> {
        let path = self.comeback(attempt);
        Note::own(true).write(&open(File::options().create(true), &path)?)
    }

    /// How it stands about the comeback of a start.
    #[must_use]
    pub fn comeback_state(&self, attempt: Attempt) -> ComebackState {
        let Ok(file) = open(&mut File::options(), &self.comeback(attempt)) else {
            return ComebackState::Unclaimed;
        };
        let note = Note::read(&file);
        if note.as_ref().is_some_and(|note| note.settled) {
            return ComebackState::Settled;
        }
        match file.try_lock_shared() {
            Ok(()) => ComebackState::Abandoned,
            Err(TryLockError::WouldBlock) => ComebackState::Held,
            Err(TryLockError::Error(_)) => match note {
                Some(note) if note.is_dead() => ComebackState::Abandoned,
                _ => ComebackState::Held,
            },
        }
    }

    fn comeback(&self, attempt: Attempt) -> PathBuf {
        self.links().join(format!("{attempt}.comeback"))
    }
}

fn open(options: &mut fs::OpenOptions, path: &Path) -> io::Result<File> {
    options.read(true).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Attempt = Attempt { job: 7, restart: 0 };

    fn run() -> (tempfile::TempDir, RunFolder) {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        fs::create_dir_all(run.links()).unwrap();
        (root, run)
    }

    #[test]
    fn a_claim_lasts_as_long_as_its_holder() {
        let (_root, run) = run();
        assert_eq!(run.comeback_state(START), ComebackState::Unclaimed);
        let held = run.claim_comeback(START).unwrap();
        assert!(held.is_some() && run.claim_comeback(START).unwrap().is_none());
        assert_eq!(run.comeback_state(START), ComebackState::Held);
        // As when its process is killed.
        drop(held);
        assert_eq!(run.comeback_state(START), ComebackState::Abandoned);
        let next = run.claim_comeback(START).unwrap();
        run.settle_comeback(START).unwrap();
        assert!(next.is_some());
        assert_eq!(run.comeback_state(START), ComebackState::Settled);
        drop(next);
        assert_eq!(run.comeback_state(START), ComebackState::Settled);
        assert!(run.claim_comeback(START).unwrap().is_none());
    }

    #[test]
    fn what_the_conductor_itself_brought_back_is_settled() {
        let (_root, run) = run();
        run.settle_comeback(START).unwrap();
        assert_eq!(run.comeback_state(START), ComebackState::Settled);
        let other = Attempt { job: 7, restart: 1 };
        assert!(run.claim_comeback(other).unwrap().is_some());
    }

    #[test]
    fn a_holder_is_known_by_more_than_its_number() {
        let own = Note::own(false);
        assert!(!own.is_dead());
        let older = Note {
            started: own.started + 1,
            ..Note::own(false)
        };
        assert!(older.is_dead());
        let elsewhere = Note {
            boot_id: "another machine".to_owned(),
            ..older
        };
        assert!(!elsewhere.is_dead(), "nothing is known of it");
    }
}
