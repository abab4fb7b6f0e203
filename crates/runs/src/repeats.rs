//! The repeats of a run: the elements of one array, each a run with a folder of its own.

use crate::cancel::{cancel_noted, take_back};
use crate::engines::is_engine;
use crate::failure::{Failure, FailureKind};
use crate::known_runs::{places, unreadable_index};
use crate::reach::open;
use crate::run::ask_for;
use crate::{Run, RunState, SpokenName};
use backend::{JobView, LOCAL, Transport};
use folder::{Index, IndexEntry, Naming, RunFolder};
use model::JobId;
use serde::{Deserialize, Serialize};

/// All repeats of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// The entry that stands for all of them.
    pub entry: IndexEntry,
    /// Each of them, in order.
    pub runs: Vec<Run>,
}

impl Repeats {
    /// Reads them again.
    ///
    /// # Errors
    /// What the system says of a folder that is there.
    pub fn read(entry: IndexEntry) -> Result<Repeats, Failure> {
        let count = entry.repeats.unwrap_or(0);
        let read = || -> Result<Vec<Run>, Failure> {
            let runs = (1..=count).map(|number| Run::read(entry.repeat(number, count)));
            runs.collect()
        };
        let mut runs = read()?;
        // All of them are one submission. Where it can't be asked, what asks it next says so.
        if let Some(first) = runs.first_mut().filter(|run| run.is_unanswered())
            && let Ok(mut transport) = open(&places()?, &entry.cluster)
            && first.look_for_unanswered(&mut *transport).is_ok()
        {
            runs = read()?;
        }
        Ok(Repeats { entry, runs })
    }

    /// The array that they were submitted as.
    #[must_use]
    pub fn array(&self) -> Option<JobId> {
        let element = self.runs.iter().find_map(|run| run.element);
        element.map(|element| element.array)
    }

    /// Where each stands.
    #[must_use]
    pub fn states(&self, views: &[JobView]) -> Vec<RunState> {
        let state = |run: &Run| run.state(run.view(views).as_ref());
        self.runs.iter().map(state).collect()
    }

    /// Asks their cluster about those that its files don't settle; where it does not answer, what
    /// was seen, and views that say so.
    ///
    /// # Errors
    /// The way to the cluster can't be opened, or the embedded engine does not answer.
    pub fn views(&self) -> Result<(Vec<JobView>, Option<String>), Failure> {
        let asked: Vec<&Run> = self.runs.iter().filter(|run| run.needs_cluster()).collect();
        if asked.is_empty() {
            return Ok((Vec::new(), None));
        }
        let mut transport = self.open()?;
        match ask_for(&mut *transport, &asked) {
            Ok(views) => Ok((views, None)),
            Err(error) if transport.is_embedded() => Err(error.into()),
            Err(error) => {
                let jobs = asked.iter().flat_map(|run| run.live_jobs());
                let views = jobs.map(JobView::not_answered).collect();
                let cluster = &self.entry.cluster;
                let why = Failure::from(error).line();
                Ok((views, Some(format!("{cluster} does not answer: {why}"))))
            }
        }
    }

    /// The same of all of them, where their cluster answers: one whose files say that it is over may wait in the queue
    /// again, put there by Slurm's own commands.
    ///
    /// # Errors
    /// As [`Repeats::views`].
    pub(crate) fn all_views(&self) -> Result<Vec<JobView>, Failure> {
        let all: Vec<&Run> = self.runs.iter().collect();
        let asked = self.open().map(|mut way| ask_for(&mut *way, &all));
        match asked {
            Ok(Ok(views)) => Ok(views),
            Ok(Err(_)) | Err(_) => self.views().map(|(views, _)| views),
        }
    }

    fn open(&self) -> Result<Box<dyn Transport>, Failure> {
        open(&places()?, &self.entry.cluster)
    }

    /// Ends all that live; how many those were.
    ///
    /// # Errors
    /// Their cluster does not answer.
    pub fn cancel(&self) -> Result<usize, Failure> {
        let mut transport = self.open()?;
        let asked: Vec<&Run> = self.runs.iter().collect();
        let views = ask_for(&mut *transport, &asked)?;
        let lives = |run: &&Run| run.view(&views).is_some_and(|view| view.state.is_live());
        let live: Vec<&Run> = self.runs.iter().filter(lives).collect();
        // All are told before one ends, so that none starts in another's place.
        let were_noted: Vec<bool> = live.iter().map(|run| run.folder.is_cancelled()).collect();
        let noted: Vec<_> = live
            .iter()
            .map(|run| run.folder.write_cancelled())
            .collect();
        let is_of_array = |run: &Run| {
            let jobs = run.live_jobs();
            jobs.iter().all(|job| run.element_of(*job).is_some())
        };
        if let Some(array) = self.array()
            && live.len() == self.runs.len()
            && live.iter().all(|run| is_of_array(run))
        {
            if let Err(error) = transport.cancel(array, None) {
                for (run, _) in live.iter().zip(&were_noted).filter(|(_, was)| !**was) {
                    take_back(run, &error)?;
                }
                return Err(error.into());
            }
            for run in &live {
                run.folder.remove_secrets()?;
            }
        } else {
            for (at, run) in live.iter().enumerate() {
                let behind = live.iter().zip(&were_noted).skip(at + 1);
                let behind = behind.filter(|(_, was)| !**was).map(|(run, _)| *run);
                let behind: Vec<&Run> = behind.collect();
                cancel_noted(run, &mut *transport, were_noted[at], &behind)?;
            }
        }
        for noted in noted {
            noted?;
        }
        Ok(live.len())
    }

    /// Removes all of them, which are over, with the folder that holds theirs.
    ///
    /// # Errors
    /// Something can't be removed.
    pub fn remove(&self) -> Result<(), Failure> {
        for run in &self.runs {
            crate::removal::remove_folder(run.entry.folder.as_path(), &run.entry.id)?;
        }
        crate::removal::remove_folder(&self.entry.folder, &self.entry.id)?;
        let jobs = self.runs.iter().flat_map(Run::jobs).map(|job| job.0);
        crate::removal::forget(&self.entry, jobs.collect())
    }

    /// The folder that holds theirs.
    #[must_use]
    pub fn folder(&self) -> RunFolder {
        RunFolder::at(&self.entry.folder)
    }
}

/// The repeats that `text` means; none where it means one run, a job, or nothing.
///
/// # Errors
/// Several have that name, or the index of runs can't be read.
pub fn select_repeats(text: &str, naming: Naming) -> Result<Option<Repeats>, Failure> {
    let places = places()?;
    let index = Index::new(&places.index);
    let mut all = index
        .all()
        .map_err(|error| unreadable_index(&places, &error))?;
    all.reverse();
    let is_cluster = |name: &str| name == LOCAL || all.iter().any(|entry| entry.cluster == name);
    let name = SpokenName::parse(text, is_cluster);
    let mut named = Index::choose(&all, name.rest, naming);
    named.retain(|entry| name.is_on(&entry.cluster, |name| is_engine(&places, name)));
    match repeats_of(&named) {
        Some(entry) => Ok(Some(Repeats::read(entry)?)),
        None => Ok(None),
    }
}

/// The entry that stands for the newest of what a name was found to mean, where that is several
/// repeats and not one of them.
pub(crate) fn repeats_of(named: &[IndexEntry]) -> Option<IndexEntry> {
    let newest = named.first()?;
    let of = newest.of.as_ref()?;
    let same = named.iter().filter(|entry| entry.shared_id() == of.id);
    (same.count() == of.count as usize).then(|| newest.whole())
}

/// The refusal of several repeats where one run is needed.
pub(crate) fn one_is_needed(entry: &IndexEntry) -> Failure {
    let (id, count) = (&entry.id, entry.repeats.unwrap_or(0));
    Failure::new(FailureKind::Usage, format!("{id} stands for {count} runs"))
        .there(format!("{id}.1 to {id}.{count}"))
        .todo("name one of them")
}

/// Where several stand together: what runs speaks for all, then what waits, then what failed.
#[must_use]
pub fn together(mut all: Vec<RunState>) -> RunState {
    let failed = all
        .iter()
        .filter(|state| matches!(state, RunState::Failed { .. }))
        .count();
    let count = all.len();
    // Of those that are done, the last one's end.
    let done = all.iter().filter_map(|state| match state {
        RunState::Done { at, .. } => Some(*at),
        _ => None,
    });
    let last = done.max();
    let left = all.iter().find_map(|state| match state {
        RunState::Done { left, .. } => left.clone(),
        _ => None,
    });
    all.sort_by_key(|state| match state {
        RunState::Running { .. } => 0,
        RunState::Waiting { .. } | RunState::Resuming { .. } => 1,
        RunState::Unknown { .. } => 2,
        RunState::Failed { .. } => 3,
        RunState::Cancelled => 4,
        RunState::Done { .. } | RunState::NotSubmitted | RunState::Refused { .. } => 5,
    });
    match (all.into_iter().next(), count) {
        (Some(RunState::Failed { cause }), count) if count > 1 => RunState::Failed {
            cause: format!("{failed} of {count}, the first: {cause}"),
        },
        (Some(RunState::Done { at, .. }), _) => RunState::Done {
            at: last.unwrap_or(at),
            left,
        },
        (Some(first), _) => first,
        (None, _) => RunState::NotSubmitted,
    }
}

/// `3 done, 2 running, 1 failed`, in the order of [`RunState::WORDS`].
#[must_use]
pub fn counts_in_words(states: &[RunState]) -> String {
    let count = |word: &str| states.iter().filter(|state| state.word() == word).count();
    let counted = RunState::WORDS.iter().filter_map(|word| match count(word) {
        0 => None,
        count => Some(format!("{count} {word}")),
    });
    counted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    #[test]
    fn several_states_in_one() {
        let done = |at| RunState::Done {
            at: Timestamp(at),
            left: None,
        };
        let failed = || RunState::Failed {
            cause: "rank 1".to_owned(),
        };
        let running = RunState::Running { since: None };
        let all = vec![done(5), failed(), running.clone(), done(7)];
        assert_eq!(counts_in_words(&all), "1 running, 2 done, 1 failed");
        assert_eq!(together(all), running);
        assert_eq!(together(vec![done(7), done(5)]), done(7));
        let cause = "2 of 3, the first: rank 1".to_owned();
        let both = vec![failed(), done(1), failed()];
        assert_eq!(together(both), RunState::Failed { cause });
    }
}
