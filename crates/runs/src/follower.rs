//! One run, followed: its files first, its cluster as seldom as that allows.

use crate::failure::{Failure, unusable};
use crate::reach::{ClusterRef, poller};
use crate::run_links;
use crate::run_state::{RunState, run_state};
use backend::{JobView, Poller, Reach, ViewState};
use folder::{Attempt, Event, EventLine, EventTail, LinkState, LogLine, LogTail, RunFolder};
use model::{JobId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use sys::Places;

/// How often the files are looked at.
pub const FILE_PAUSE: Duration = Duration::from_millis(50);

/// Something new of a followed run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEvent {
    /// It waits, for another reason than before.
    Waiting {
        /// The job that waits: the one that takes over is another than the one before.
        job: JobId,
        /// Slurm's word.
        reason: String,
    },
    /// A conductor wrote something down.
    Event {
        /// Which start of the run, from 1.
        ordinal: u32,
        /// When that job was submitted or requeued, where known.
        submitted: Option<Timestamp>,
        /// When.
        at: Timestamp,
        /// What.
        event: Event,
    },
    /// A rank failed by itself, the first of its start: the others are being ended for it. The cause
    /// comes as an event once they are.
    RankFailed {
        /// The task's number, as in [`RunEvent::Output`].
        rank: u32,
    },
    /// A rank wrote a line.
    Output {
        /// Which and what.
        line: LogLine,
    },
    /// A rank drew over the line that it is writing, as progress bars do.
    Redrawn {
        /// Which, and the line as it is now.
        line: LogLine,
    },
    /// Its cluster does not answer: the run may go on, and what ends it is not known.
    Outage {
        /// What was seen.
        why: String,
    },
    /// It answers again.
    OutageOver {
        /// After so long.
        lasted: Duration,
    },
    /// The run is over, and everything of it was shown.
    Over {
        /// How.
        state: RunState,
    },
}

/// Follows a run from its first line.
#[derive(Debug)]
pub struct Follower {
    /// What asks its cluster.
    poller: Poller,
    folder: RunFolder,
    link: LinkState,
    /// The job that speaks for the run.
    current: Option<JobId>,
    attempts: Vec<Followed>,
    view: Option<JobView>,
    /// The number of the last look at the cluster.
    looks: u64,
    /// The job that waits, and why.
    waits: Option<(JobId, String)>,
    has_more: bool,
    /// Since when the cluster does not answer, where that was said.
    outage: Option<Instant>,
    /// Whether the files were read before: what comes later happens now.
    has_read: bool,
    /// A conductor has said how the run ended, since this follows it.
    has_ended: bool,
}

/// One start.
#[derive(Debug)]
struct Followed {
    attempt: Attempt,
    events: EventTail,
    logs: LogTail,
    seen: Vec<EventLine>,
    /// Events that end the ranks, until all of the ranks' lines were shown.
    held: Vec<EventLine>,
    /// Ranks whose ends were read.
    ended: BTreeSet<u32>,
    /// Whether one of them had failed, which is said once.
    has_failed: bool,
    /// Whether all lines were read that the ranks had written at the last look: what comes now is new.
    is_read: bool,
}

impl Followed {
    /// The rank that failed first, once, and only after all that ranks had written at the look before.
    fn failed(&mut self, folder: &RunFolder) -> Option<u32> {
        if self.has_failed || !self.is_read {
            return None;
        }
        // One that can't be read now is read at the next look.
        let exits = folder.new_exits(self.attempt, &mut self.ended).ok()?;
        let first = exits.iter().find(|exit| exit.has_failed())?;
        self.has_failed = true;
        Some(first.rank)
    }
}

impl Follower {
    /// Follows the run in that folder whose job has this id on that cluster, which took it then. One
    /// connection to the cluster is opened, for as long as it is followed.
    ///
    /// # Errors
    /// The way to the cluster can't be opened.
    pub fn new(
        folder: RunFolder,
        cluster: &ClusterRef,
        job: JobId,
        at: Timestamp,
        places: &Places,
    ) -> Result<Follower, Failure> {
        Ok(Follower {
            poller: poller(cluster, places)?,
            folder,
            link: LinkState::Submitted { job: job.0, at },
            current: Some(job),
            attempts: Vec::new(),
            view: None,
            looks: 0,
            waits: None,
            has_more: false,
            outage: None,
            has_read: false,
            has_ended: false,
        })
    }

    /// The name of its cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        self.poller.cluster()
    }

    /// Whether more is there already than the last [`Follower::poll`] returned: of a long log it
    /// returns one portion at a time.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// The job that speaks for the run now.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        self.current
    }

    /// How many starts there were.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.attempts.len()
    }

    /// What is new since the last call. Ends with [`RunEvent::Over`] once.
    ///
    /// # Errors
    /// The embedded engine is gone for good, or a file can't be read.
    pub fn poll(&mut self) -> Result<Vec<RunEvent>, Failure> {
        // The cluster's answer is taken before the files are read: when it says that the job ended,
        // the files then hold all there is.
        let answered = self.take_look()?;
        let mut seen = Vec::new();
        self.see_reach(&self.poller.reach(), &mut seen);
        self.read_files(&mut seen)
            .map_err(unusable(self.folder.path()))?;
        if !seen.is_empty() {
            self.poller.hurry();
        }
        self.waiting(&mut seen);
        let last = self.attempts.last().map_or(&[][..], |last| &last.seen[..]);
        let state = run_state(Some(&self.link), last, self.view.as_ref());
        // A shared cluster is asked seldom: what the files say has to do. The engine here is asked
        // often enough to wait for the job's own end too.
        let is_over = if self.has_ended && !self.poller.is_embedded() {
            true
        } else {
            answered && !self.job_lives()
        };
        if is_over && !self.has_more && !state.is_live() {
            seen.push(RunEvent::Over { state });
        }
        Ok(seen)
    }

    /// Says an outage once, and its end once.
    fn see_reach(&mut self, reach: &Reach, seen: &mut Vec<RunEvent>) {
        match (reach, self.outage) {
            (Reach::DoesNotAnswer { since, why }, None) => {
                self.outage = Some(*since);
                seen.push(RunEvent::Outage { why: why.clone() });
            }
            (Reach::Answers, Some(since)) => {
                self.outage = None;
                let lasted = since.elapsed();
                seen.push(RunEvent::OutageOver { lasted });
            }
            (Reach::DoesNotAnswer { .. }, Some(_)) | (Reach::Answers, None) => {}
        }
    }

    /// A conductor says `finished` moments before its job is over: wait for that too, but not for
    /// one that waited to take over.
    fn job_lives(&self) -> bool {
        let own = |view: &&JobView| Some(view.id) == self.current;
        let view = self.view.as_ref().filter(own);
        view.is_some_and(|view| view.state.is_live())
    }

    /// The job that speaks for the run, and one that waits to take over.
    fn jobs(&self) -> Result<Vec<JobId>, Failure> {
        let links = self.folder.read_links()?;
        let started: Vec<u32> = self.folder.attempts().map_or(Vec::new(), |attempts| {
            attempts.iter().map(|attempt| attempt.job).collect()
        });
        let current = run_links::current(&links, |job| started.contains(&job));
        let jobs = run_links::asked(&links, current);
        if jobs.is_empty() {
            Ok(self.current.into_iter().collect())
        } else {
            Ok(jobs)
        }
    }

    /// Takes the cluster's newest answer, and says whether there was one about all of the run's jobs.
    fn take_look(&mut self) -> Result<bool, Failure> {
        let look = self.poller.look(self.looks)?;
        if look.is_none() && self.looks > 0 {
            return Ok(false);
        }
        let jobs = self.jobs()?;
        self.poller.watch(&jobs);
        let Some(look) = look else {
            return Ok(false);
        };
        self.looks = look.number;
        if !jobs.iter().all(|job| look.asked.contains(job)) {
            return Ok(false);
        }
        self.view = run_links::choose(&jobs, &look.jobs);
        self.current = jobs.first().copied();
        Ok(true)
    }

    fn read_files(&mut self, seen: &mut Vec<RunEvent>) -> std::io::Result<()> {
        for attempt in self.folder.attempts()? {
            if self.attempts.iter().all(|known| known.attempt != attempt) {
                self.attempts.push(Followed {
                    attempt,
                    events: EventTail::new(self.folder.events(attempt)),
                    logs: LogTail::new(&self.folder, attempt),
                    seen: Vec::new(),
                    held: Vec::new(),
                    ended: BTreeSet::new(),
                    has_failed: false,
                    is_read: false,
                });
            }
        }
        let submitted = self.view.as_ref().and_then(|view| view.submitted);
        let count = self.attempts.len();
        self.has_more = false;
        for (index, followed) in self.attempts.iter_mut().enumerate() {
            // Events are read first and told last where they end something, so that no rank's line
            // comes after the word that it ended.
            let events = followed.events.read()?;
            let over = index + 1 < count
                || events
                    .iter()
                    .chain(&followed.seen)
                    .any(|line| ends_ranks(&line.event));
            let (before, after) = if followed.held.is_empty() {
                split_at_end_of_ranks(events.clone())
            } else {
                (Vec::new(), events.clone())
            };
            followed.held.extend(after);
            let tell = |line: &EventLine| RunEvent::Event {
                ordinal: u32::try_from(index + 1).unwrap_or(u32::MAX),
                submitted,
                at: line.at,
                event: line.event.clone(),
            };
            seen.extend(before.iter().map(tell));
            let failed = followed.failed(&self.folder);
            seen.extend(failed.map(|rank| RunEvent::RankFailed { rank }));
            let lines = followed.logs.read(over)?;
            seen.extend(lines.into_iter().map(|line| RunEvent::Output { line }));
            let redrawn = followed.logs.redrawn().into_iter();
            seen.extend(redrawn.map(|line| RunEvent::Redrawn { line }));
            self.has_ended |= self.has_read && events.iter().any(|line| ends_run(&line.event));
            followed.seen.extend(events);
            followed.is_read = !followed.logs.has_more();
            if followed.logs.has_more() {
                self.has_more = true;
                // What a later start did comes after all of this one.
                break;
            }
            seen.extend(followed.held.drain(..).map(|line| tell(&line)));
        }
        self.has_read = true;
        Ok(())
    }

    /// Tells why the run waits, once a reason.
    fn waiting(&mut self, seen: &mut Vec<RunEvent>) {
        let waits = match &self.view {
            Some(JobView {
                id,
                state: ViewState::Waiting { reason },
                ..
            }) => Some((*id, reason.clone())),
            _ => None,
        };
        if waits != self.waits {
            self.waits.clone_from(&waits);
            seen.extend(waits.map(|(job, reason)| RunEvent::Waiting { job, reason }));
        }
    }
}

/// After this event no job of the run starts again by itself.
fn ends_run(event: &Event) -> bool {
    matches!(event, Event::Finished { .. } | Event::Failed { .. })
}

/// After this event the ranks write nothing more.
fn ends_ranks(event: &Event) -> bool {
    matches!(
        event,
        Event::RanksEnded { .. }
            | Event::ComingBack { .. }
            | Event::Finished { .. }
            | Event::Failed { .. }
    )
}

fn split_at_end_of_ranks(mut events: Vec<EventLine>) -> (Vec<EventLine>, Vec<EventLine>) {
    let end = events.iter().position(|line| ends_ranks(&line.event));
    let after = events.split_off(end.unwrap_or(events.len()));
    (events, after)
}
