//! Folders and records of ended jobs are removed after a while; their rows stay.

use super::Owner;
use api::EngineFolder;
use model::{JobId, Timestamp};
use std::collections::BTreeSet;
use std::thread;

/// How long a job's folder stays after its end, so that it can be queued again (Slurm's
/// `MinJobAge` default).
pub(super) const KEEP_MS: i64 = 300_000;
/// Folders of ended jobs that stay for that long at most: a thousand short jobs need no more room
/// than this, however quickly they come.
const MOST_FOLDERS: usize = 1000;
/// Rows that are removed at once: an answer must not wait for more.
const ROWS_AT_ONCE: usize = 1000;
/// Until the next rows go, where there were as many.
const ROWS_PAUSE_MS: i64 = 1000;
/// Jobs that end one by one are swept together: each time all records are looked through.
const APART_MS: i64 = 20_000;
/// Longest time between two sweeps.
const DAY_MS: i64 = 86_400_000;

impl Owner {
    /// So many jobs ended just now.
    pub(super) fn note_ended(&mut self, count: usize, now: Timestamp) {
        self.ended_since_sweep += count;
        let wait = if self.ended_since_sweep >= MOST_FOLDERS {
            0
        } else {
            KEEP_MS + APART_MS
        };
        self.sweep_by(Timestamp(now.0 + wait));
    }

    /// Removes what is due.
    pub(super) fn sweep(&mut self, now: Timestamp) {
        if self.sweep_at.is_none_or(|at| at > now) {
            return;
        }
        // Rows grow old though nothing happens.
        self.sweep_at = Some(Timestamp(now.0 + DAY_MS));
        self.ended_since_sweep = 0;
        self.sweep_folders(now);
        // A row stays as long as its folder.
        self.prune(now);
    }

    /// There is something to sweep at a moment.
    fn sweep_by(&mut self, moment: Timestamp) {
        self.sweep_at = Some(self.sweep_at.map_or(moment, |at| at.min(moment)));
    }

    fn sweep_folders(&mut self, now: Timestamp) {
        let found = self
            .store
            .folders_due(Timestamp(now.0 - KEEP_MS), MOST_FOLDERS);
        let (due, next) = match found {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!("old folders can't be looked for: {error}");
                self.sweep_by(Timestamp(now.0 + KEEP_MS));
                return;
            }
        };
        if let Some(ended) = next {
            self.sweep_by(Timestamp(ended.0 + KEEP_MS + APART_MS));
        }
        // The folder of an array's id holds the script of elements that may still live.
        let (kept, due): (Vec<JobId>, Vec<JobId>) = due.into_iter().partition(|job| {
            self.state.job(*job).is_some() || self.state.rows_of_array(*job).next().is_some()
        });
        if !kept.is_empty() {
            self.sweep_by(Timestamp(now.0 + KEEP_MS));
        }
        if due.is_empty() {
            return;
        }
        // Before the exit files go: what they said must be on disk.
        if let Err(error) = self.store.forget_folders(&due) {
            tracing::warn!("old folders stay: {error}");
            self.sweep_by(Timestamp(now.0 + KEEP_MS));
            return;
        }
        self.forget_job_files(&due);
        let engine = self.folder.clone();
        let due: BTreeSet<JobId> = due.into_iter().collect();
        let thread = thread::Builder::new()
            .name("sweeper".to_owned())
            .stack_size(128 << 10)
            .spawn(move || remove(&engine, &due));
        if let Err(error) = thread {
            tracing::warn!("old folders stay: {error}");
        }
    }
}

impl Owner {
    /// Removes rows of jobs that ended too long or too many jobs ago.
    fn prune(&mut self, now: Timestamp) {
        let before = Timestamp(now.0.saturating_sub(self.keep.millis));
        if let Err(error) = self.store.prune_accounting(before) {
            tracing::warn!("old events stay: {error}");
        }
        let below = self.state.next_id().saturating_sub(self.keep.jobs);
        match self.store.prune(before, JobId(below), ROWS_AT_ONCE) {
            Ok(count) if count == ROWS_AT_ONCE => {
                self.sweep_by(Timestamp(now.0 + ROWS_PAUSE_MS));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("old jobs stay: {error}"),
        }
    }
}

/// Removes what these jobs left. What is gone already, or can't be removed, is left for a person:
/// nothing depends on it.
fn remove(engine: &EngineFolder, jobs: &BTreeSet<JobId>) {
    for job in jobs {
        let _left = std::fs::remove_dir_all(engine.job(*job));
    }
    for entry in std::fs::read_dir(engine.steps())
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        if job_of(&name.to_string_lossy()).is_some_and(|job| jobs.contains(&job)) {
            let _left = std::fs::remove_file(entry.path());
        }
    }
}

/// Whose a file in the folder of records is. One that was being written when its writer was killed
/// begins with a point.
fn job_of(name: &str) -> Option<JobId> {
    let (job, _rest) = name.trim_start_matches('.').split_once('.')?;
    job.parse().ok().map(JobId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_a_job_left_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        std::fs::create_dir_all(engine.job(JobId(7))).unwrap();
        std::fs::create_dir_all(engine.job(JobId(77))).unwrap();
        std::fs::create_dir(engine.steps()).unwrap();
        let names = [
            "7.0.batch.0",
            "7.1.3.0.sock",
            "7.0.3.emptied",
            ".7.0.batch.0.99.1.new",
            "77.0.batch.0",
            "8.7.batch.0",
        ];
        for name in names {
            std::fs::write(engine.steps().join(name), "").unwrap();
        }
        remove(&engine, &BTreeSet::from([JobId(7)]));
        let left = |folder: std::path::PathBuf| -> Vec<String> {
            let entries = std::fs::read_dir(folder).unwrap();
            let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
            let mut names: Vec<String> = entries
                .map(|entry| name(entry).to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(left(engine.steps()), ["77.0.batch.0", "8.7.batch.0"]);
        assert_eq!(left(engine.jobs()), ["77"]);
    }
}
