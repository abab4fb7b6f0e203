//! Who submits a job of a run: one at a time.

use crate::{FolderError, RunFolder};
use std::io;
use std::time::{Duration, Instant};
use sys::lock::{FileLock, knows_no_locks};

/// How long another one's submission is waited for: a Slurm that is slow answers within its own minute.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(20);

/// The right to submit a job of a run, from the look at its links until the answer is noted; it ends with
/// the process at the latest. Two that looked at the same links would each submit the next job, and both would
/// train in one folder.
#[derive(Debug)]
pub struct SubmissionTurn {
    /// `None` on a file system that knows no locks.
    _lock: Option<FileLock>,
}

impl RunFolder {
    /// Waits for it.
    ///
    /// # Errors
    /// The folder can't be written, or another submission goes on and on.
    pub fn submission_turn(&self) -> Result<SubmissionTurn, FolderError> {
        self.submission_turn_within(PATIENCE)
    }

    /// The same, where no process has it.
    pub(crate) fn submission_turn_if_free(&self) -> Result<Option<SubmissionTurn>, FolderError> {
        match self.submission_turn_within(Duration::ZERO) {
            Ok(turn) => Ok(Some(turn)),
            Err(FolderError::Write { source, .. })
                if source.kind() == io::ErrorKind::WouldBlock =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn submission_turn_within(&self, patience: Duration) -> Result<SubmissionTurn, FolderError> {
        let path = self.submission_lock();
        let begun = Instant::now();
        loop {
            let source = match FileLock::try_acquire(&path) {
                Ok(Some(lock)) => return Ok(SubmissionTurn { _lock: Some(lock) }),
                Ok(None) if begun.elapsed() < patience => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Ok(None) => io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "another command or a job submits a job of this run, and does not end",
                ),
                Err(error) if knows_no_locks(&error) => return Ok(SubmissionTurn { _lock: None }),
                Err(error) => error,
            };
            return Err(FolderError::Write { path, source });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_submits_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        let turn = run.submission_turn().unwrap();
        let refused = run.submission_turn_within(Duration::ZERO).unwrap_err();
        assert!(refused.to_string().contains("another command"), "{refused}");
        drop(turn);
        run.submission_turn_within(Duration::ZERO).unwrap();
        assert_eq!(run.read_links().unwrap(), []);
    }
}
