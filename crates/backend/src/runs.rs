//! Runs of this user, as their folders and clusters tell of them.

use crate::door::{Door, DoorError};
use crate::job_view::JobView;
use crate::run_links;
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
    /// Its links, by number; none: the folder is gone (scratch was purged), or it was never
    /// finished.
    pub links: Vec<Link>,
    /// Whether a person cancelled it.
    pub cancelled: bool,
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
                links: Vec::new(),
                cancelled: false,
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
        Ok(Run {
            entry,
            links: folder.read_links()?,
            cancelled: folder.is_cancelled(),
            folder,
            starts,
        })
    }

    /// The link whose job speaks for the run.
    fn current(&self) -> Option<&Link> {
        let started = |job: u32| self.starts.iter().any(|start| start.attempt.job == job);
        run_links::current(&self.links, started)
    }

    /// The job that speaks for the run: the newest that has begun, or that a person started.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        match self.current()?.state {
            LinkState::Submitted { job, .. } => Some(JobId(job)),
            LinkState::Intent { .. } | LinkState::Refused { .. } => None,
        }
    }

    /// The jobs of which the cluster must be asked: that one, and one that waits to take over.
    #[must_use]
    pub fn live_jobs(&self) -> Vec<JobId> {
        run_links::asked(&self.links, self.current())
    }

    /// Of what the cluster says of [`Run::live_jobs`], what counts for the run.
    #[must_use]
    pub fn view(&self, views: &[JobView]) -> Option<JobView> {
        run_links::choose(&self.live_jobs(), views)
    }

    /// All jobs that it is known to have had, and one that waits to take over.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> {
        let started = self.starts.iter().map(|start| JobId(start.attempt.job));
        let linked = self.links.iter().filter_map(|link| match link.state {
            LinkState::Submitted { job, .. } => Some(JobId(job)),
            LinkState::Intent { .. } | LinkState::Refused { .. } => None,
        });
        started.chain(linked)
    }

    /// When the job that speaks for the run was submitted.
    #[must_use]
    pub fn submitted(&self) -> Option<Timestamp> {
        match self.current()?.state {
            LinkState::Submitted { at, .. } => Some(at),
            LinkState::Intent { .. } | LinkState::Refused { .. } => None,
        }
    }

    /// What the newest start of that job wrote down.
    #[must_use]
    pub fn last_events(&self) -> &[EventLine] {
        let own = |start: &&Start| self.job().is_none_or(|job| job.0 == start.attempt.job);
        let last = self.starts.iter().rfind(own);
        last.map_or(&[], |start| &start.events)
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

    /// Where it stands, with what its cluster says of it ([`Run::view`]).
    #[must_use]
    pub fn state(&self, job: Option<&JobView>) -> RunState {
        if self.links.is_empty() && !self.folder.path().is_dir() {
            return RunState::Unknown {
                what: "its run folder is gone; a job of it may go on".to_owned(),
            };
        }
        let link = self.current().map(|link| &link.state);
        // What an earlier start said counts no more when its job was queued again.
        let again = job.is_some_and(|job| {
            let last = self
                .starts
                .iter()
                .rfind(|start| start.attempt.job == job.id.0);
            job.state.is_live() && last.is_some_and(|last| last.attempt.restart < job.restarts)
        });
        let state = match again {
            true => run_state(
                link,
                &self.last_events()[..1.min(self.last_events().len())],
                job,
            ),
            false => run_state(link, self.last_events(), job),
        };
        match state {
            // The job that took over ended at once.
            RunState::Failed { .. } | RunState::Unknown { .. }
                if self.cancelled && !self.has_ended() =>
            {
                RunState::Cancelled
            }
            state => state,
        }
    }

    /// Whether a conductor said how it ended.
    fn has_ended(&self) -> bool {
        let is_end =
            |line: &EventLine| matches!(line.event, Event::Finished { .. } | Event::Failed { .. });
        self.last_events().iter().any(is_end)
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

/// What one cluster says of several runs' jobs: one question for all of them.
///
/// # Errors
/// It does not answer.
pub fn ask_for(door: &mut dyn Door, runs: &[&Run]) -> Result<Vec<JobView>, DoorError> {
    let ids: Vec<JobId> = runs.iter().flat_map(|run| run.live_jobs()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    door.jobs(&ids)
}
