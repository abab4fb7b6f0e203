//! Runs and other jobs in one list, each with where it stands.

use crate::engines::engines_asked;
use crate::failure::Failure;
use crate::known_runs::{indexed_runs, unreadable_index};
use crate::plain_jobs::{PlainJob, plain_jobs};
use crate::repeats::{counts_in_words, together};
use crate::run::{Run, ask_for};
use crate::run_state::RunState;
use backend::{JobView, SlurmTransport, Transport, ViewState};
use folder::{Index, IndexEntry, RemovedRun};
use model::{JobId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use sys::Places;

/// What is said of a run that was cancelled and whose job has not ended.
pub const BEING_CANCELLED: &str = "being cancelled";

/// A run or another job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// What it is.
    pub what: ListedKind,
    /// Its cluster.
    pub cluster: String,
    /// Where it stands.
    pub state: RunState,
}

/// What is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListedKind {
    /// A run.
    Run {
        /// As its folder shows it.
        run: Arc<Run>,
        /// What its cluster says of it.
        view: Option<JobView>,
    },
    /// A job of no run.
    Job {
        /// The job.
        job: PlainJob,
        /// The run that it was of, where that was removed.
        removed: Option<String>,
    },
    /// Several repeats of one run.
    Repeats {
        /// The entry that stands for all of them.
        entry: IndexEntry,
        /// The array that they were submitted as.
        array: Option<JobId>,
        /// Each of them, in order.
        rows: Vec<Listed>,
    },
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// The newest last.
    pub rows: Vec<Listed>,
    /// What could not be asked or read, in words.
    pub problems: Vec<String>,
}

impl Listed {
    /// The run, where it is one.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        match &self.what {
            ListedKind::Run { run, .. } => Some(run),
            ListedKind::Job { .. } | ListedKind::Repeats { .. } => None,
        }
    }

    /// The job that speaks for it.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        match &self.what {
            ListedKind::Run { run, view } => view.as_ref().map(|view| view.id).or(run.job()),
            ListedKind::Job { job, .. } => Some(job.id),
            ListedKind::Repeats { array, .. } => *array,
        }
    }

    /// What a command takes for it: a run's id, or its cluster and number.
    #[must_use]
    pub fn key(&self) -> String {
        match &self.what {
            ListedKind::Run { run, .. } => run.entry.id.clone(),
            ListedKind::Job { job, .. } => format!("{}:{}", self.cluster, job.id),
            ListedKind::Repeats { entry, .. } => entry.id.clone(),
        }
    }

    /// When it was made.
    #[must_use]
    pub fn made(&self) -> Timestamp {
        match &self.what {
            ListedKind::Run { run, .. } => run.entry.created,
            ListedKind::Job { job, .. } => job.submitted,
            ListedKind::Repeats { entry, .. } => entry.created,
        }
    }

    /// Since when it stands where it stands.
    #[must_use]
    pub fn since(&self) -> Option<Timestamp> {
        let waits = matches!(
            self.state,
            RunState::Waiting { .. } | RunState::Resuming { .. }
        );
        match (&self.state, &self.what) {
            (RunState::Running { since: Some(since) }, _) => Some(*since),
            (RunState::Done { at, .. }, _) => Some(*at),
            (_, ListedKind::Run { run, view }) => {
                let ended = view.as_ref().and_then(|view| match view.state {
                    ViewState::Ended { at, .. } => at,
                    _ => None,
                });
                let submitted = view.as_ref().and_then(|view| view.submitted);
                let last = run.last_events().last().map(|line| line.at);
                let known = if waits { submitted } else { last.or(ended) };
                known.or(Some(run.entry.created))
            }
            (_, ListedKind::Job { job, .. }) => job.ended.or(Some(job.submitted)),
            (_, ListedKind::Repeats { entry, .. }) if waits => Some(entry.created),
            (_, ListedKind::Repeats { rows, .. }) => rows.iter().filter_map(Listed::since).max(),
        }
    }

    /// Why it stands there, where there is more to say.
    #[must_use]
    pub fn note(&self) -> String {
        let note = self.state.why();
        match &self.what {
            ListedKind::Run { run, .. } if run.is_being_cancelled(&self.state) => {
                BEING_CANCELLED.to_owned()
            }
            ListedKind::Repeats { rows, .. } if self.state.is_live() => {
                let counts = counts_in_words(&states(rows));
                let mut runs = rows.iter().filter_map(|row| Some((row.run()?, &row.state)));
                if runs.any(|(run, state)| run.is_being_cancelled(state)) {
                    format!("{counts}; {BEING_CANCELLED}")
                } else {
                    counts
                }
            }
            ListedKind::Job {
                removed: Some(id), ..
            } if note.is_empty() => format!("its run {id} was removed"),
            ListedKind::Job {
                removed: Some(id), ..
            } => format!("{note} (its run {id} was removed)"),
            _ => note,
        }
    }
}

fn states(rows: &[Listed]) -> Vec<RunState> {
    rows.iter().map(|row| row.state.clone()).collect()
}

/// Puts the repeats of a run, which stand one after the other, into one row.
fn with_repeats_as_one(rows: Vec<Listed>) -> Vec<Listed> {
    let mut all: Vec<Listed> = Vec::new();
    for row in rows {
        let whole = row.run().filter(|run| run.entry.of.is_some());
        let Some(entry) = whole.map(|run| run.entry.whole()) else {
            all.push(row);
            continue;
        };
        match all.last_mut().map(|last| &mut last.what) {
            Some(ListedKind::Repeats {
                entry: known, rows, ..
            }) if *known == entry => rows.push(row),
            _ => {
                let element = row.run().and_then(|run| run.element);
                all.push(Listed {
                    cluster: row.cluster.clone(),
                    state: row.state.clone(),
                    what: ListedKind::Repeats {
                        entry,
                        array: element.map(|element| element.array),
                        rows: vec![row],
                    },
                });
            }
        }
    }
    for row in &mut all {
        if let ListedKind::Repeats { rows, .. } = &row.what {
            row.state = together(states(rows));
        }
    }
    all
}

/// What one cluster said: of the runs' jobs, and all that are recent.
pub(crate) struct Answer<'a> {
    pub(crate) views: &'a [JobView],
    pub(crate) recent: &'a [JobView],
}

/// The lines of one cluster.
pub(crate) fn listed(
    cluster: &str,
    runs: &[Arc<Run>],
    answer: &Answer<'_>,
    removed: &[RemovedRun],
) -> Vec<Listed> {
    let mut rows = Vec::new();
    for job in plain_jobs(answer.recent, runs.iter().map(Arc::as_ref)) {
        let of = |run: &&RemovedRun| run.had(cluster, job.id.0);
        rows.push(Listed {
            cluster: cluster.to_owned(),
            state: job.state.clone(),
            what: ListedKind::Job {
                removed: removed.iter().find(of).map(|run| run.id.clone()),
                job,
            },
        });
    }
    for run in runs {
        let view = run.view(answer.views);
        rows.push(Listed {
            cluster: cluster.to_owned(),
            state: run.state(view.as_ref()),
            what: ListedKind::Run {
                run: Arc::clone(run),
                view,
            },
        });
    }
    rows
}

/// The runs that were removed.
pub(crate) fn removed_runs(places: &Places) -> Result<Vec<RemovedRun>, Failure> {
    let removed = Index::new(&places.index).removed();
    removed.map_err(|error| unreadable_index(places, &error))
}

/// Lists all, the repeats of a run as one. Asks once, one question a cluster, and none where nothing can have changed. Jobs of no run are
/// listed that live or ended since then.
///
/// # Errors
/// The index can't be read, or the embedded engine does not answer; what another cluster does not
/// answer is a problem of the listing.
pub fn list(places: &Places, since: Timestamp) -> Result<Listing, Failure> {
    let mut listing = Listing::default();
    let mut by_cluster: BTreeMap<String, Vec<Arc<Run>>> = BTreeMap::new();
    for entry in indexed_runs(places)? {
        let id = entry.id.clone();
        match Run::read(entry) {
            Ok(run) => by_cluster
                .entry(run.entry.cluster.clone())
                .or_default()
                .push(Arc::new(run)),
            Err(error) => listing.problems.push(format!("{id}: {}", error.line())),
        }
    }
    let engines = engines_asked(places);
    for engine in &engines {
        by_cluster.entry(engine.clone()).or_default();
    }
    // Jobs of batch scripts stand nowhere but in the queue.
    let slurm = SlurmTransport::here().ok().flatten();
    let slurm = slurm.map(|slurm| slurm.cluster().to_owned());
    if let Some(slurm) = &slurm {
        by_cluster.entry(slurm.clone()).or_default();
    }
    let removed = removed_runs(places)?;
    for (cluster, mut runs) in by_cluster {
        let mut views = Vec::new();
        let mut recent = Vec::new();
        let has_queue = engines.contains(&cluster) || slurm.as_ref() == Some(&cluster);
        if has_queue || runs.iter().any(|run| run.needs_cluster()) {
            match crate::reach::open(places, &cluster) {
                Ok(mut transport) => {
                    // Repeats are one submission.
                    let mut looked = BTreeSet::new();
                    for run in runs.iter_mut().filter(|run| run.is_unanswered()) {
                        if looked.insert(run.entry.shared_id().to_owned()) {
                            // One that does not answer says so to the next question.
                            let _ = Arc::make_mut(run).look_for_unanswered(&mut *transport);
                        } else if let Ok(read) = Run::read(run.entry.clone()) {
                            *run = Arc::new(read);
                        }
                    }
                    let asked = runs.iter().map(Arc::as_ref);
                    let asked: Vec<&Run> = asked.filter(|run| run.needs_cluster()).collect();
                    let answers = ask_for(&mut *transport, &asked)
                        .and_then(|views| Ok((views, transport.snapshot(since)?)));
                    match answers {
                        Ok(answers) => (views, recent) = answers,
                        Err(error) if transport.is_embedded() => return Err(error.into()),
                        Err(error) => {
                            let why = Failure::from(error).line();
                            let problem = format!("{cluster} does not answer: {why}");
                            listing.problems.push(problem);
                            let jobs = asked.iter().flat_map(|run| run.live_jobs());
                            views = jobs.map(JobView::not_answered).collect();
                        }
                    }
                }
                Err(failure) => listing.problems.push(failure.line()),
            }
        }
        let answer = Answer {
            views: &views,
            recent: &recent,
        };
        listing
            .rows
            .extend(listed(&cluster, &runs, &answer, &removed));
    }
    listing.rows = with_repeats_as_one(listing.rows);
    listing.rows.sort_by_key(Listed::made);
    Ok(listing)
}
