//! The run after which another one comes.

use crate::failure::{Failure, FailureKind};
use crate::repeats::repeats_of;
use crate::run::ask_for;
use crate::{Run, RunState, indexed_runs};
use backend::Transport;
use folder::{AwaitedRun, Index, IndexEntry, Naming};
use model::{JobId, Timestamp};
use serde::{Deserialize, Serialize};
use sys::Places;
use train::Resolved;

/// What is waited for.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    /// The runs that have to be done.
    pub runs: Vec<AwaitedRun>,
    /// Their jobs that live.
    pub jobs: Vec<JobId>,
}

/// Finds what is to be waited for of the runs that were named, on the same cluster.
///
/// # Errors
/// There is none, it will never be done, or its cluster does not answer.
pub(crate) fn awaited(
    named: &NamedRuns,
    transport: &mut dyn Transport,
) -> Result<Awaited, Failure> {
    let NamedRuns { by, chosen, .. } = named;
    let text = by.value.as_str();
    let asked = format!("[after] run = {text:?} ({})", by.source);
    let Some(newest) = chosen.first() else {
        return Err(named.missing());
    };
    let (cluster, own) = (newest.cluster.clone(), transport.cluster().to_owned());
    let runs: Vec<Run> = chosen
        .iter()
        .cloned()
        .map(Run::read)
        .collect::<Result<_, _>>()?;
    let live: Vec<&Run> = runs.iter().filter(|run| run.needs_cluster()).collect();
    if cluster != own && !live.is_empty() {
        let what = format!("a run on {own} can't wait for one on {cluster}");
        return Err(Failure::new(FailureKind::Usage, what)
            .asked(asked)
            .there(format!("{} is not done yet", live[0].entry.id))
            .todo("start this one when that one is done, or both on one cluster"));
    }
    let views = ask_for(transport, &live)?;
    let mut awaited = Awaited::default();
    for run in &runs {
        let id = &run.entry.id;
        let why = match run.state(run.view(&views).as_ref()) {
            RunState::Done { .. } => continue,
            RunState::Waiting { .. } | RunState::Running { .. } | RunState::Resuming { .. } => {
                awaited.jobs.extend(run.live_jobs());
                awaited.runs.push(AwaitedRun {
                    id: id.clone(),
                    folder: run.entry.folder.clone(),
                });
                continue;
            }
            RunState::Failed { cause } => format!("{id} failed: {cause}"),
            RunState::Refused { why } => format!("{id} was refused: {why}"),
            RunState::Cancelled => format!("{id} was cancelled"),
            RunState::NotSubmitted => format!("{id} was never submitted"),
            RunState::Unknown { what } => format!("{id}: {what}"),
        };
        let what = format!("{id}, after which this run comes, will not be done");
        return Err(Failure::new(FailureKind::Failed, what)
            .asked(asked)
            .there(why)
            .todo(format!(
                "yard requeue {id}, or start it anew, then this one again"
            )));
    }
    awaited.jobs.sort_unstable();
    awaited.jobs.dedup();
    Ok(awaited)
}

/// The jobs that live of runs that have to be done before another: they may have been requeued.
///
/// # Errors
/// A run's folder can't be read, or its cluster does not answer.
pub(crate) fn jobs_of(
    runs: &[AwaitedRun],
    transport: &mut dyn Transport,
) -> Result<Vec<JobId>, Failure> {
    let cluster = transport.cluster().to_owned();
    let read = |awaited: &AwaitedRun| {
        Run::read(IndexEntry {
            id: awaited.id.clone(),
            name: awaited.id.clone(),
            cluster: cluster.clone(),
            folder: awaited.folder.clone(),
            created: Timestamp(0),
            repeats: None,
            of: None,
        })
    };
    let runs: Vec<Run> = runs.iter().map(read).collect::<Result<_, _>>()?;
    let views = ask_for(transport, &runs.iter().collect::<Vec<_>>())?;
    let lives = |run: &&Run| {
        let view = run.view(&views);
        view.is_some_and(|view| view.state.is_live())
    };
    Ok(runs.iter().filter(lives).flat_map(Run::live_jobs).collect())
}

/// What the name of a run before this one means: chosen once, when the run is planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NamedRuns {
    /// What names it.
    by: Resolved<String>,
    /// The newest run with that name or id, or all of its repeats; none where there is none.
    chosen: Vec<IndexEntry>,
    /// Older ones with that name, the newest first.
    others: Vec<IndexEntry>,
}

impl NamedRuns {
    /// Looks it up.
    ///
    /// # Errors
    /// The index of runs can't be read.
    pub(crate) fn of(by: &Resolved<String>, places: &Places) -> Result<NamedRuns, Failure> {
        let mut all = indexed_runs(places)?;
        all.reverse();
        let mut chosen = Index::choose(&all, &by.value, Naming::OrBeginning);
        let count = match repeats_of(&chosen) {
            Some(entry) => entry.repeats.unwrap_or(1) as usize,
            None => 1,
        };
        let others = chosen.split_off(count.min(chosen.len()));
        let by = by.clone();
        Ok(NamedRuns { by, chosen, others })
    }

    /// Refuses a name that no run has.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.chosen.is_empty() {
            return Err(self.missing());
        }
        Ok(())
    }

    fn missing(&self) -> Failure {
        let text = self.by.value.as_str();
        let what = format!("no run has the name or id {text}");
        Failure::new(FailureKind::Usage, what)
            .asked(format!("[after] run = {text:?} ({})", self.by.source))
            .todo("start that one first; yard ls shows all runs")
    }

    /// Which run comes before, and what else has its name; none where it is named by its id.
    pub(crate) fn note(&self) -> Option<String> {
        let text = self.by.value.as_str();
        let Some(newest) = self.chosen.first() else {
            return Some(format!(
                "no run has the name or id {text} yet: start it before this one"
            ));
        };
        let id = newest.shared_id();
        let which = match self.chosen.len() {
            1 if newest.id == text => return None,
            1 => format!("it starts when {} is done", newest.id),
            count => format!("it starts when all {count} repeats of {id} are done"),
        };
        let mut others: Vec<&str> = Vec::new();
        for entry in &self.others {
            let other = entry.shared_id();
            if other != id && !others.contains(&other) {
                others.push(other);
            }
        }
        if others.is_empty() {
            return Some(which);
        }
        let (named, more) = others.split_at(others.len().min(SHOWN));
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "{which}, the newest run named {text}; older: {}{more}; [after] run = \"ID\" names one of them",
            named.join(", ")
        ))
    }
}

/// So many older runs are named at most.
const SHOWN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use std::path::PathBuf;
    use train::Source;

    fn entry(id: &str) -> IndexEntry {
        IndexEntry {
            id: id.to_owned(),
            name: "prepare".to_owned(),
            cluster: "local".to_owned(),
            folder: PathBuf::from("/scratch").join(id),
            created: Timestamp(0),
            repeats: None,
            of: None,
        }
    }

    #[track_caller]
    fn check(text: &str, chosen: &[&str], others: &[&str], want: Option<&str>) {
        let entries = |ids: &[&str]| ids.iter().map(|id| entry(id)).collect();
        let named = NamedRuns {
            by: Resolved::new(text.to_owned(), Source::Default { why: String::new() }),
            chosen: entries(chosen),
            others: entries(others),
        };
        assert_eq!(named.note().as_deref(), want);
    }

    #[test]
    fn the_run_before_is_named_with_what_else_there_is() {
        check("prepare-a1", &["prepare-a1"], &[], None);
        let alone = "it starts when prepare-a1 is done";
        check("prepare", &["prepare-a1"], &[], Some(alone));
        check(
            "prepare",
            &["prepare-b2"],
            &["prepare-a1"],
            Some(
                "it starts when prepare-b2 is done, the newest run named prepare; older: prepare-a1; [after] run = \"ID\" names one of them",
            ),
        );
        check(
            "prepare",
            &[],
            &[],
            Some("no run has the name or id prepare yet: start it before this one"),
        );
    }
}
