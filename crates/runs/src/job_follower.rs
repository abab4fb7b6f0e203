//! A batch script's job, or an array, followed: on both transports alike.

use crate::failure::Failure;
use crate::job_output::JobOutput;
use crate::reach::{ClusterRef, poller};
use crate::wait::{Outage, Outages};
use backend::{JobView, Poller, Transport, ViewState};
use model::{ArrayTask, JobId, RestartCount, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use sys::Places;

/// A real Slurm tells times in whole seconds, by a clock that may lag behind the file server's.
const CLOCKS_DIFFER_MS: i64 = 2000;
/// Of the time at most this part goes by with asking where jobs write.
const SHARE: u32 = 10;
/// After a job's end it is asked so often where that wrote, if the cluster does not say.
const MOST_ASKED_AFTER_END: u32 = 3;

/// Something new of a followed job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobEvent {
    /// It waits, for another reason than before.
    Waiting {
        /// Slurm's word.
        reason: String,
    },
    /// It, or an array's first element, has begun.
    Began,
    /// Of an array more has ended than before.
    Elements {
        /// Elements that ended.
        ended: usize,
        /// All that are known.
        of: usize,
    },
    /// A file has another line.
    Output {
        /// The line.
        line: JobLine,
    },
    /// The line that a file ends with was drawn over, as progress bars do.
    Redrawn {
        /// The line as it is now.
        line: JobLine,
    },
    /// Its cluster does not answer, or answers again.
    Outage(Outage),
    /// It is over, and all that it wrote was returned.
    Over {
        /// How.
        end: JobEnd,
    },
}

/// A line of a file that jobs write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLine {
    /// The array's element that alone writes the file.
    pub element: Option<u32>,
    /// What stands in it.
    pub bytes: Vec<u8>,
}

/// How a job, or all elements of an array, ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// What its cluster said last, an array's rows in their order; none where it knows it no longer.
    pub jobs: Vec<JobView>,
    /// Whether it is a whole array.
    pub is_array: bool,
}

impl JobEnd {
    /// Whether all is known to have completed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        !self.jobs.is_empty() && self.failed().next().is_none()
    }

    /// The rows that did not complete.
    pub fn failed(&self) -> impl Iterator<Item = &JobView> {
        self.jobs.iter().filter(|view| !view.state.is_completed())
    }

    /// Its elements; 1 for a plain job.
    #[must_use]
    pub fn count(&self) -> usize {
        self.jobs.iter().map(elements).sum()
    }

    /// Those of them that did not complete.
    #[must_use]
    pub fn failed_count(&self) -> usize {
        self.failed().map(elements).sum()
    }
}

/// Follows a job, an array, or one element of it, from its first line.
pub struct JobFollower {
    job: JobId,
    element: Option<u32>,
    /// What asks where it stands.
    poller: Poller,
    /// Asked where it writes, beside the poller.
    transport: Box<dyn Transport>,
    output: JobOutput,
    /// The number of the last look at the cluster.
    looks: u64,
    outages: Outages,
    reason: Option<String>,
    /// The rows that have begun, each with whether it is over.
    begun: BTreeSet<(JobId, RestartCount, bool)>,
    /// When the first of them began; the beginning of all time where that is not known.
    began: Timestamp,
    /// The files of these are not asked about yet.
    has_new_files: bool,
    /// When it was last asked where jobs write, and how long the answer took.
    asked_files: Option<(Instant, Duration)>,
    /// How often that was asked in vain after the end.
    asked_in_vain: u32,
    /// Whether it is a whole array, as far as was seen.
    is_array: bool,
    ended: usize,
    over: Option<JobEnd>,
}

impl JobFollower {
    /// Follows it on that cluster. Two connections are opened, for as long as it is followed.
    ///
    /// # Errors
    /// The way to the cluster can't be opened.
    pub fn new(
        job: JobId,
        element: Option<u32>,
        cluster: &ClusterRef,
        places: &Places,
    ) -> Result<JobFollower, Failure> {
        Ok(JobFollower {
            job,
            element,
            poller: poller(cluster, places)?,
            transport: cluster.open(places)?,
            output: JobOutput::default(),
            looks: 0,
            outages: Outages::default(),
            reason: None,
            begun: BTreeSet::new(),
            began: Timestamp::default(),
            has_new_files: false,
            asked_files: None,
            asked_in_vain: 0,
            is_array: false,
            ended: 0,
            over: None,
        })
    }

    /// The name of its cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        self.poller.cluster()
    }

    /// Whether more is there already than the last [`JobFollower::poll`] returned: of a long file it
    /// returns one portion at a time.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.output.has_more()
    }

    /// Whether it is a whole array, as far as was seen.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.is_array
    }

    /// What is new since the last call. Ends with [`JobEvent::Over`].
    ///
    /// # Errors
    /// The embedded engine is gone for good.
    pub fn poll(&mut self) -> Result<Vec<JobEvent>, Failure> {
        let mut seen = Vec::new();
        let outage = self.outages.see(&self.poller);
        seen.extend(outage.map(JobEvent::Outage));
        self.poller.watch(&[self.job]);
        // The answer is taken before the files are read: when it says that the job ended, the files
        // then hold all there is.
        let look = self.poller.look(self.looks)?;
        // A controller is asked no oftener than the poller asks it, and not while it does not answer.
        let may_ask = look.is_some() || self.transport.is_embedded();
        if let Some(look) = look {
            self.looks = look.number;
            let views = self.own(&look.jobs);
            let lives = views.iter().any(|view| view.state.is_live());
            self.see(&views, &mut seen);
            if look.asked.contains(&self.job) && !lives && self.over.is_none() {
                self.over = Some(JobEnd {
                    is_array: self.is_array,
                    jobs: views,
                });
            }
        }
        if may_ask {
            self.see_files();
        }
        let knows_files = self.over.is_some() && !self.has_new_files;
        if knows_files {
            self.output.end();
        }
        let news = self.output.news();
        if !news.is_empty() {
            // What writes may be about to end.
            self.poller.hurry();
        }
        seen.extend(news);
        if knows_files && !self.output.has_more() {
            seen.extend(self.over.take().map(|end| JobEvent::Over { end }));
        }
        Ok(seen)
    }

    /// The rows of what is followed, an array's in the order of its elements.
    fn own(&self, jobs: &[JobView]) -> Vec<JobView> {
        let (job, element) = (self.job, self.element);
        let own = |view: &&JobView| view.id == job || view.array == Some(job);
        // Where the element of a row is not known, it may be any.
        let meant = |view: &&JobView| {
            element.is_none_or(|it| view.task.is_none() || view.is_element(job, it))
        };
        let mut own: Vec<JobView> = jobs.iter().filter(own).filter(meant).cloned().collect();
        own.sort_by_key(|view| (view.task.as_ref().and_then(ArrayTask::first), view.id));
        own
    }

    /// Tells what a look shows, and takes note of what has begun.
    fn see(&mut self, views: &[JobView], seen: &mut Vec<JobEvent>) {
        let in_array = views.iter().any(|view| view.array.is_some());
        self.is_array |= self.element.is_none() && in_array;
        let mut begun = BTreeSet::new();
        let mut reason = None;
        for view in views {
            match &view.state {
                ViewState::Waiting { reason: word } => reason = reason.or(Some(word)),
                ViewState::Running { .. } => drop(begun.insert((view.id, view.restarts, false))),
                ViewState::Ended { .. } => drop(begun.insert((view.id, view.restarts, true))),
                ViewState::NotAnswered | ViewState::Unknown { .. } => {}
            }
        }
        if begun != self.begun {
            if self.begun.is_empty() {
                self.reason = None;
                seen.push(JobEvent::Began);
            }
            // Where a job of a real Slurm writes does not change, and of its arrays only the count is
            // told: a question for each element would be many.
            self.has_new_files |=
                self.transport.is_embedded() || (self.begun.is_empty() && !self.is_array);
            self.began = began(views);
            self.begun = begun;
        }
        let reason = reason.filter(|_| self.begun.is_empty());
        if reason != self.reason.as_ref() {
            self.reason = reason.cloned();
            let reason = self.reason.clone();
            seen.extend(reason.map(|reason| JobEvent::Waiting { reason }));
        }
        if self.is_array {
            let over = views.iter().filter(|view| !view.state.is_live());
            let ended = over.map(elements).sum();
            if std::mem::replace(&mut self.ended, ended) != ended {
                let of = views.iter().map(elements).sum();
                seen.push(JobEvent::Elements { ended, of });
            }
        }
    }

    /// Asks where jobs write that have begun, unless that took long a moment ago.
    fn see_files(&mut self) {
        let is_due = |(at, took): (Instant, Duration)| at.elapsed() >= took * SHARE;
        let is_due = self.over.is_some() || self.asked_files.is_none_or(is_due);
        if !(self.has_new_files && is_due) {
            return;
        }
        let asked = Instant::now();
        let files = self.transport.output_files(self.job, self.element);
        self.asked_files = Some((Instant::now(), asked.elapsed()));
        // A cluster that does not answer now is asked again, after the end too: what was written is shown. One that
        // never says it keeps nobody waiting for ever.
        let Ok(files) = files else {
            self.asked_in_vain += u32::from(self.over.is_some());
            self.has_new_files = self.asked_in_vain < MOST_ASKED_AFTER_END;
            return;
        };
        // One that has just begun may not be listed yet.
        self.has_new_files = files.is_empty() && self.over.is_none();
        let since = Timestamp(self.began.0.saturating_sub(CLOCKS_DIFFER_MS));
        self.output.see(files, since);
    }
}

/// Since when the first of those runs that run; the beginning of all time where one is over already.
fn began(views: &[JobView]) -> Timestamp {
    let began = views.iter().filter_map(|view| match &view.state {
        ViewState::Running { since, .. } => Some(since.unwrap_or_default()),
        ViewState::Ended { .. } => Some(Timestamp::default()),
        _ => None,
    });
    began.min().unwrap_or_default()
}

/// How many elements a row stands for.
fn elements(view: &JobView) -> usize {
    view.task.as_ref().map_or(1, ArrayTask::count)
}
