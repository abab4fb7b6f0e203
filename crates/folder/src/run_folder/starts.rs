//! What each start of a run's jobs wrote: what its ranks were started with, and how they ended.

use super::RunFolder;
use crate::{Attempt, FolderError, LaunchFile, RankExit, json_file};
use model::Timestamp;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

impl RunFolder {
    /// Writes `links/<job>.<restart>.launch.<n>.json`, all of them.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_launch(&self, launch: &LaunchFile) -> Result<(), FolderError> {
        let mut files = launch.files();
        files.try_for_each(|(number, file)| {
            json_file::write(&self.launch(launch.attempt, number), &file)
        })
    }

    /// Reads what a task is started with, and some others beside it.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read_launch(&self, attempt: Attempt, task: u32) -> Result<LaunchFile, FolderError> {
        json_file::read(&self.launch(attempt, LaunchFile::number_of(task)))
    }

    /// Writes `links/<job>.<restart>.exit.<rank>`.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_exit(&self, attempt: Attempt, exit: &RankExit) -> Result<(), FolderError> {
        json_file::write(&self.exit(attempt, exit.rank), exit)
    }

    /// How the ranks of one start ended, as far as they wrote it down, the first one first.
    ///
    /// # Errors
    /// One can't be read.
    pub fn read_exits(&self, attempt: Attempt) -> Result<Vec<RankExit>, FolderError> {
        self.new_exits(attempt, &mut BTreeSet::new())
    }

    /// The same of the ranks that are not among `seen`, and adds them to it.
    ///
    /// # Errors
    /// One can't be read.
    pub fn new_exits(
        &self,
        attempt: Attempt,
        seen: &mut BTreeSet<u32>,
    ) -> Result<Vec<RankExit>, FolderError> {
        let start = format!("{attempt}.exit.");
        let names = self.names_in_links()?;
        let ranks = names
            .iter()
            .filter_map(|name| name.strip_prefix(&start)?.parse().ok());
        let new = ranks.filter(|rank| !seen.contains(rank));
        let read = |rank: u32| json_file::read(&self.exit(attempt, rank));
        let mut exits = new.map(read).collect::<Result<Vec<RankExit>, _>>()?;
        seen.extend(exits.iter().map(|exit| exit.rank));
        exits.sort_by_key(|exit| (exit.at, exit.rank));
        Ok(exits)
    }

    /// The starts of which a conductor wrote anything, in order: by job, then by restart.
    ///
    /// # Errors
    /// What the system says.
    pub fn attempts(&self) -> io::Result<Vec<Attempt>> {
        let mut attempts = Vec::new();
        for entry in fs::read_dir(self.links())? {
            let name = entry?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".events"));
            attempts.extend(stem.and_then(|stem| stem.parse::<Attempt>().ok()));
        }
        attempts.sort_unstable();
        Ok(attempts)
    }

    /// When a rank of that start last printed something; none where none did.
    #[must_use]
    pub fn last_output(&self, attempt: Attempt) -> Option<Timestamp> {
        let start = format!("{attempt}.");
        let logs = fs::read_dir(self.logs()).ok()?.flatten();
        let own = logs.filter(|entry| {
            let name = entry.file_name();
            let rank = name.to_str().and_then(|name| name.strip_prefix(&start));
            // Services and stacks have names that are no numbers.
            rank.is_some_and(|rank| rank.parse::<u32>().is_ok())
        });
        let written = own.filter_map(|entry| {
            let facts = entry.metadata().ok().filter(|facts| facts.len() > 0)?;
            let since = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
        });
        written.max()
    }

    /// The files below `monitor/` by their nodes, in order; none where nothing was sampled.
    #[must_use]
    pub fn monitor_files(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(self.monitor()).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_suffix(".csv")?.to_owned(), entry.path()))
        });
        let mut files: Vec<(String, PathBuf)> = files.collect();
        files.sort();
        files
    }
}
