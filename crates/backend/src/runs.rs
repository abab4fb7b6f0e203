//! Runs of this user, as their folders and clusters tell of them.

use crate::door::{Door, DoorError};
use crate::job_view::JobView;
use crate::run_state::{RunState, run_state};
use folder::{Attempt, Event, EventLine, EventTail, IndexEntry, Link, LinkState, RunFolder};
use model::{JobId, Timestamp};
use std::io;

/// A run, read from its folder.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its entry in the index.
    pub entry: IndexEntry,
    /// Its folder.
    pub folder: RunFolder,
    /// Its newest link; `None`: the folder is gone (scratch was purged), or it was never finished.
    pub link: Option<Link>,
    /// Its starts, in order, with what their conductors wrote.
    pub starts: Vec<Start>,
}

/// One start of a job of a run.
#[derive(Clone, Debug)]
pub struct Start {
    /// Which.
    pub attempt: Attempt,
    /// What its conductor wrote down.
    pub events: Vec<EventLine>,
}

impl Run {
    /// Reads a run's folder. A folder that is gone is a run without links.
    ///
    /// # Errors
    /// What the system says of files that are there.
    pub fn read(entry: IndexEntry) -> Result<Run, DoorError> {
        let folder = RunFolder::at(&entry.folder);
        let path = entry.folder.clone();
        let file = |source: io::Error| DoorError::File {
            path: path.clone(),
            source,
        };
        if !folder.links().is_dir() {
            return Ok(Run {
                entry,
                folder,
                link: None,
                starts: Vec::new(),
            });
        }
        let mut starts = Vec::new();
        for attempt in folder.attempts().map_err(file)? {
            let events = EventTail::new(folder.events(attempt))
                .read()
                .map_err(file)?;
            starts.push(Start { attempt, events });
        }
        let link = folder.read_links()?.pop();
        Ok(Run {
            entry,
            folder,
            link,
            starts,
        })
    }

    /// The run's newest job.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        match self.link.as_ref()?.state {
            LinkState::Submitted { job, .. } => Some(JobId(job)),
            LinkState::Intent { .. } | LinkState::Refused { .. } => None,
        }
    }

    /// All jobs that it is known to have had.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> {
        let started = self.starts.iter().map(|start| JobId(start.attempt.job));
        started.chain(self.job())
    }

    /// When its newest job was submitted.
    #[must_use]
    pub fn submitted(&self) -> Option<Timestamp> {
        match self.link.as_ref()?.state {
            LinkState::Submitted { at, .. } => Some(at),
            LinkState::Intent { .. } | LinkState::Refused { .. } => None,
        }
    }

    /// What the newest start of the newest job wrote down.
    #[must_use]
    pub fn last_events(&self) -> &[EventLine] {
        let own = |start: &&Start| self.job().is_none_or(|job| job.0 == start.attempt.job);
        self.starts
            .iter()
            .rev()
            .find(own)
            .map_or(&[], |start| &start.events)
    }

    /// Whether its cluster must be asked to know where it stands.
    #[must_use]
    pub fn needs_cluster(&self) -> bool {
        !matches!(
            self.state(None),
            RunState::NotSubmitted
                | RunState::Refused { .. }
                | RunState::Done { .. }
                | RunState::Failed { .. }
        )
    }

    /// Where it stands, with what its cluster says of its newest job.
    #[must_use]
    pub fn state(&self, job: Option<&JobView>) -> RunState {
        run_state(
            self.link.as_ref().map(|link| &link.state),
            self.last_events(),
            job,
        )
    }

    /// The newest checkpoint that came out: its name, its step and when.
    #[must_use]
    pub fn last_checkpoint(&self) -> Option<(&str, Option<u64>, Timestamp)> {
        let events = self
            .starts
            .iter()
            .rev()
            .flat_map(|start| start.events.iter().rev());
        events.into_iter().find_map(|line| match &line.event {
            Event::CheckpointOut { name, step, .. } => Some((name.as_str(), *step, line.at)),
            _ => None,
        })
    }
}

/// What one cluster says of several runs' newest jobs: one question for all of them.
///
/// # Errors
/// It does not answer.
pub fn ask_for(door: &mut dyn Door, runs: &[&Run]) -> Result<Vec<JobView>, DoorError> {
    let ids: Vec<JobId> = runs.iter().filter_map(|run| run.job()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    door.jobs(&ids)
}
