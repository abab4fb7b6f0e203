//! Folders of ended jobs are removed after a while; their rows stay.

use super::Owner;
use model::{JobId, Timestamp};
use std::thread;

/// How long a job's folder stays after its end, so that it can be queued again (Slurm's
/// `MinJobAge` default).
const KEEP_MS: i64 = 300_000;

impl Owner {
    /// Jobs ended just now.
    pub(super) fn note_ended(&mut self, now: Timestamp) {
        let due = Timestamp(now.0 + KEEP_MS);
        self.sweep_at = Some(self.sweep_at.map_or(due, |at| at.min(due)));
    }

    /// Removes what is due.
    pub(super) fn sweep(&mut self, now: Timestamp) {
        if self.sweep_at.is_none_or(|at| at > now) {
            return;
        }
        self.sweep_at = None;
        let found = self.store.folders_ended_before(Timestamp(now.0 - KEEP_MS));
        let (due, next) = match found {
            Ok(found) => found,
            Err(error) => {
                crate::log::line(&format!("old folders can't be looked for: {error}"));
                self.sweep_at = Some(Timestamp(now.0 + KEEP_MS));
                return;
            }
        };
        self.sweep_at = next.map(|ended| Timestamp(ended.0 + KEEP_MS + 1));
        // The folder of an array's id holds the script of elements that may still live.
        let (kept, due): (Vec<JobId>, Vec<JobId>) = due.into_iter().partition(|job| {
            self.state.job(*job).is_some() || self.state.rows_of_array(*job).next().is_some()
        });
        if !kept.is_empty() {
            let again = Timestamp(now.0 + KEEP_MS);
            self.sweep_at = Some(self.sweep_at.map_or(again, |at| at.min(again)));
        }
        if due.is_empty() {
            return;
        }
        // Before the exit files go: what they said must be on disk.
        if let Err(error) = self.store.forget_folders(&due) {
            crate::log::line(&format!("old folders stay: {error}"));
            self.sweep_at = Some(Timestamp(now.0 + KEEP_MS));
            return;
        }
        let folders: Vec<_> = due.iter().map(|job| self.folder.job(*job)).collect();
        let thread = thread::Builder::new()
            .name("sweeper".to_owned())
            .stack_size(128 << 10)
            .spawn(move || {
                for folder in folders {
                    // Gone already, or left for a person: nothing depends on it.
                    let _left = std::fs::remove_dir_all(folder);
                }
            });
        if let Err(error) = thread {
            crate::log::line(&format!("old folders stay: {error}"));
        }
    }
}
