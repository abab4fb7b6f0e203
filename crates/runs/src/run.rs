//! Runs of this user, as their folders and clusters tell of them.

use crate::engines::is_asked;
use crate::failure::{Failure, unusable};
use crate::known_runs::places;
use crate::run_links;
use crate::run_state::{RunState, run_state};
use backend::{JobView, Transport, TransportError};
use folder::{Attempt, Event, EventLine, EventTail, IndexEntry, Link, LinkState, RunFolder};
use model::{JobId, Timestamp};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// A run, read from its folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its entry in the index.
    pub entry: IndexEntry,
    /// Its folder.
    pub folder: RunFolder,
    /// Its links, by number; none: the folder is gone (scratch was purged), or it was never
    /// finished.
    pub links: Vec<Link>,
    /// Whether a person asked for it again after its end, and its next start has not begun.
    pub asked_again: bool,
    /// Whether a person cancelled it.
    pub cancelled: bool,
    /// Whether its cluster is an embedded engine that is asked whatever is listed: about one job more costs nothing.
    pub on_engine: bool,
    /// Its starts, in order, with what their conductors wrote.
    pub starts: Vec<Start>,
    /// The array and the element that its first job is, where it is one of several repeats.
    pub element: Option<Element>,
    /// The jobs that were to make its environment or image, the newest last.
    pub environment_jobs: Vec<JobId>,
}

/// An element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// The array.
    pub array: JobId,
    /// Which of its elements.
    pub number: u32,
    /// The job that it became when it began; it has the array's number where it began last.
    pub job: Option<JobId>,
}

/// One start of a job of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub fn read(entry: IndexEntry) -> Result<Run, Failure> {
        let folder = RunFolder::at(&entry.folder);
        let path = entry.folder.clone();
        let file = |error: io::Error| unusable(&path)(error);
        let mut run = Run {
            links: Vec::new(),
            asked_again: false,
            cancelled: false,
            on_engine: places().is_ok_and(|places| is_asked(&places, &entry.cluster)),
            starts: Vec::new(),
            element: None,
            environment_jobs: Vec::new(),
            folder,
            entry,
        };
        let folder = &run.folder;
        if !folder.links().is_dir() {
            return Ok(run);
        }
        for attempt in folder.attempts().map_err(file)? {
            let events = EventTail::new(folder.events(attempt))
                .read()
                .map_err(file)?;
            run.starts.push(Start { attempt, events });
        }
        run.links = folder.read_links()?;
        if let Some(of) = &run.entry.of {
            let all = RunFolder::at(&of.folder).read_links()?;
            let of_all = all.into_iter().find(|link| link.number == 1);
            let own = run.links.iter().find(|link| link.number == 1);
            run.element = of_all.as_ref().and_then(submitted).map(|array| Element {
                array,
                number: of.number,
                job: own.and_then(submitted),
            });
            // Its conductor writes its own: until then the array's holds for it.
            if own.is_none() {
                run.links.splice(0..0, of_all);
            }
        }
        run.asked_again = folder.is_asked_again();
        run.cancelled = folder.is_cancelled();
        run.environment_jobs = folder.environment_jobs().into_iter().map(JobId).collect();
        Ok(run)
    }

    /// The scratch folder that it lies in, below the folder of its project: what its nodes see.
    #[must_use]
    pub fn scratch(&self) -> Option<&Path> {
        let all = self.entry.of.as_ref();
        let folder = all.map_or(&self.entry.folder, |of| &of.folder);
        folder.parent()?.parent()
    }

    /// Whether a person cancelled it, and its job, which runs, has not ended yet.
    #[must_use]
    pub fn is_being_cancelled(&self, state: &RunState) -> bool {
        self.cancelled && matches!(state, RunState::Running { .. })
    }

    /// The link whose job speaks for the run.
    fn current(&self) -> Option<&Link> {
        let started = |job: u32| self.starts.iter().any(|start| start.attempt.job == job);
        run_links::current(&self.links, started)
    }

    /// The job that speaks for the run: the newest that has begun, or that a person started.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        submitted(self.current()?)
    }

    /// The jobs of which the cluster must be asked: that one, and one that waits to take over.
    #[must_use]
    pub fn live_jobs(&self) -> Vec<JobId> {
        run_links::asked(&self.links, self.current())
    }

    /// Of what the cluster says of [`Run::live_jobs`], what counts for the run.
    #[must_use]
    pub fn view(&self, views: &[JobView]) -> Option<JobView> {
        if let Some(Element {
            array,
            number,
            job: None,
        }) = self.element
            && self.job() == Some(array)
        {
            let own = |view: &&JobView| view.is_element(array, number);
            return views.iter().find(own).cloned();
        }
        run_links::choose(&self.live_jobs(), views)
    }

    /// The element that a job of it is, where it is one of an array.
    #[must_use]
    pub fn element_of(&self, job: JobId) -> Option<Element> {
        self.element
            .filter(|element| job == element.job.unwrap_or(element.array))
    }

    /// All jobs that it is known to have had, one that waits to take over, and those of its environment.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> {
        let started = self.starts.iter().map(|start| JobId(start.attempt.job));
        let linked = self.links.iter().filter_map(submitted);
        started
            .chain(linked)
            .chain(self.environment_jobs.iter().copied())
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

    /// The newest submission, where no answer to it was noted and a job may still come of it, and the folder that it
    /// stands in: who submitted was killed, or the answer was lost, and the cluster may have the job.
    fn unanswered(&self) -> Option<(RunFolder, &Link)> {
        let newest = self.links.last();
        let is_open = |link: &&Link| {
            matches!(
                link.state,
                LinkState::Intent {
                    given_up: false,
                    ..
                }
            )
        };
        let link = newest.filter(is_open)?;
        let own = self.folder.link(link.number).exists();
        let folder = match &self.entry.of {
            Some(all) if !own => RunFolder::at(&all.folder),
            _ => self.folder.clone(),
        };
        Some((folder, link))
    }

    /// Whether a submission of it was not answered, as far as its folder knows.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered().is_some()
    }

    /// Looks for the job of a submission of which no answer was noted, notes it where the cluster has it, and reads the
    /// run again.
    ///
    /// # Errors
    /// The cluster does not answer, or the folder can't be read or written.
    pub(crate) fn look_for_unanswered(
        &mut self,
        transport: &mut dyn Transport,
    ) -> Result<(), Failure> {
        let Some((folder, link)) = self.unanswered() else {
            return Ok(());
        };
        let now = Timestamp(sys::now());
        match transport.find(&link.token)? {
            Some(job) => folder.note_that_runs(link.number, job.0, now)?,
            // Where that can't be noted it is asked about again.
            None => drop(folder.give_up(link, now)),
        }
        *self = Run::read(self.entry.clone())?;
        Ok(())
    }

    /// Whether its cluster must be asked to know where it stands.
    #[must_use]
    pub fn needs_cluster(&self) -> bool {
        // Its files tell of the start before.
        if self.asked_again {
            return true;
        }
        match self.state(None) {
            RunState::Done { .. } => false,
            // It may wait again, put there by Slurm's own commands, of which its files have no word.
            RunState::Failed { .. } if self.on_engine => true,
            RunState::NotSubmitted | RunState::Refused { .. } | RunState::Failed { .. } => {
                self.is_unanswered()
            }
            _ => true,
        }
    }

    /// Where it stands, with what its cluster says of it ([`Run::view`]).
    #[must_use]
    pub fn state(&self, job: Option<&JobView>) -> RunState {
        // It is written before the run can be found, and nobody but a person or a purge removes it.
        if self.links.is_empty() && !self.folder.run_json().exists() {
            return RunState::Unknown {
                what: "its run folder was removed or moved; its job may still run; see yard ls"
                    .to_owned(),
            };
        }
        // Its files tell of the start before the one that was cancelled.
        if self.asked_again && self.cancelled && job.is_none_or(|job| !job.state.is_live()) {
            return RunState::Cancelled;
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
        let state = if again {
            run_state(
                link,
                &self.last_events()[..1.min(self.last_events().len())],
                job,
            )
        } else {
            run_state(link, self.last_events(), job)
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
}

fn submitted(link: &Link) -> Option<JobId> {
    match link.state {
        LinkState::Submitted { job, .. } => Some(JobId(job)),
        LinkState::Intent { .. } | LinkState::Refused { .. } => None,
    }
}

/// What one cluster says of several runs' jobs: one question for all of them.
///
/// # Errors
/// It does not answer.
pub(crate) fn ask_for(
    transport: &mut dyn Transport,
    runs: &[&Run],
) -> Result<Vec<JobView>, TransportError> {
    let mut ids: Vec<JobId> = runs.iter().flat_map(|run| run.live_jobs()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    transport.jobs(&ids)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use backend::ViewState;
    use folder::{ComingBack, EventLog, StopReason};

    pub(crate) struct World {
        _root: tempfile::TempDir,
        folder: RunFolder,
    }

    impl World {
        pub(crate) fn new() -> World {
            let root = tempfile::tempdir().unwrap();
            let folder = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
            std::fs::write(folder.run_json(), "{}").unwrap();
            World {
                _root: root,
                folder,
            }
        }

        pub(crate) fn link(&self, number: u32, job: u32, after: Option<u32>) {
            let at = Timestamp(0);
            let state = LinkState::Submitted { job, at };
            let link = Link {
                number,
                cluster: "local".to_owned(),
                token: "t".to_owned(),
                after,
                state,
            };
            self.folder.write_link(&link).unwrap();
        }

        pub(crate) fn events(&self, job: u32, restart: u32, events: &[Event]) {
            let attempt = Attempt { job, restart };
            let mut log = EventLog::open(&self.folder.events(attempt)).unwrap();
            for event in events {
                log.append(Timestamp(1), event.clone()).unwrap();
            }
        }

        pub(crate) fn run(&self) -> Run {
            let entry = IndexEntry {
                id: "digits-k3f9".to_owned(),
                name: "digits".to_owned(),
                cluster: "local".to_owned(),
                folder: self.folder.path().to_owned(),
                created: Timestamp(0),
                repeats: None,
                of: None,
            };
            Run::read(entry).unwrap()
        }

        #[track_caller]
        fn check(&self, views: &[(u32, u32, &str)], want: &str) {
            let view = |(id, restarts, how): &(u32, u32, &str)| JobView {
                id: JobId(*id),
                name: String::new(),
                restarts: *restarts,
                array: None,
                task: None,
                submitted: None,
                state: match *how {
                    "waits" => ViewState::Waiting {
                        reason: "Dependency".to_owned(),
                    },
                    "runs" => ViewState::Running {
                        since: None,
                        nodes: String::new(),
                    },
                    how => ViewState::Ended {
                        how: how.to_owned(),
                        exit: "0:0".to_owned(),
                        at: None,
                    },
                },
            };
            let views: Vec<JobView> = views.iter().map(view).collect();
            let run = self.run();
            let state = run.state(run.view(&views).as_ref());
            assert_eq!(state.word(), want, "{state:?}");
        }
    }

    fn started(job: u32) -> Event {
        Event::Started {
            job,
            restart: 0,
            nodes: vec![],
        }
    }

    #[test]
    fn one_run_over_several_jobs() {
        let world = World::new();
        world.link(1, 7, None);
        world.check(&[(7, 0, "waits")], "waiting");
        world.events(7, 0, &[started(7)]);
        world.link(2, 8, Some(7));
        world.check(&[(7, 0, "runs"), (8, 0, "waits")], "running");
        let how = ComingBack::Successor { job: 8 };
        world.events(7, 0, &[Event::ComingBack { how }]);
        world.check(&[(7, 0, "COMPLETED"), (8, 0, "waits")], "resuming");
        world.check(&[(7, 0, "COMPLETED"), (8, 0, "CANCELLED")], "cancelled");
        world.events(8, 0, &[started(8)]);
        world.link(3, 9, Some(8));
        world.check(&[(8, 0, "runs"), (9, 0, "waits")], "running");
        world.events(
            8,
            0,
            &[Event::Finished {
                status: 0,
                left: None,
            }],
        );
        world.check(&[(8, 0, "runs"), (9, 0, "waits")], "done");
        assert_eq!(world.run().jobs().map(|job| job.0).max(), Some(9));
    }

    #[test]
    fn cancelled_by_a_person() {
        let world = World::new();
        world.link(1, 7, None);
        world.events(7, 0, &[started(7)]);
        world.link(2, 8, Some(7));
        world.folder.write_cancelled().unwrap();
        world.check(&[(7, 0, "runs"), (8, 0, "CANCELLED")], "running");
        world.check(&[(7, 0, "FAILED"), (8, 0, "COMPLETED")], "cancelled");
        let reason = Some(StopReason::Cancelled);
        world.events(7, 0, &[Event::Terminated { reason }]);
        world.check(&[], "cancelled");
        // Taken up again by a person.
        world.folder.clear_cancelled().unwrap();
        world.link(3, 12, None);
        world.check(&[(12, 0, "waits")], "waiting");
    }

    #[test]
    fn what_was_said_before_a_requeue_counts_no_more() {
        let world = World::new();
        world.link(1, 7, None);
        let failed = Event::Failed {
            cause: "rank 1".to_owned(),
            status: Some(1),
        };
        world.events(7, 0, &[started(7), failed]);
        world.check(&[(7, 0, "FAILED")], "failed");
        world.check(&[(7, 1, "waits")], "resuming");
    }

    #[test]
    fn a_folder_that_was_removed_is_no_run_that_was_never_submitted() {
        let world = World::new();
        world.check(&[], "not submitted");
        world.link(1, 7, None);
        std::fs::remove_dir_all(world.folder.path()).unwrap();
        world.check(&[], "unknown");
        // A job of it goes on and makes folders.
        std::fs::create_dir_all(world.folder.incoming()).unwrap();
        world.check(&[], "unknown");
    }
}
