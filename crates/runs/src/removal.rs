//! Removes runs that are over, with all that their folders hold.

use crate::failure::{Failure, FailureKind, unusable};
use crate::known_runs::{indexed_runs, places};
use crate::repeats::Repeats;
use crate::run::Run;
use crate::run_state::RunState;
use crate::select::select_only;
use crate::selected::Selected;
use backend::ViewState;
use folder::{Event, Index, IndexEntry, RemovedRun, RunFolder};
use model::Timestamp;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Why a run stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stays {
    /// A job of it waits or runs.
    Live,
    /// Its cluster can't say whether a job of it runs.
    NotAnswered,
    /// It was made a moment ago, and may be about to be submitted.
    JustMade,
}

/// A run that was made so long ago and never submitted never will be, in milliseconds.
const SUBMISSION_MS: i64 = 3_600_000;

/// Whether a run may be removed that stands there, of whose job its cluster says `job`, and that was
/// made `age_ms` ago.
///
/// # Errors
/// Why it stays.
fn removable(state: &RunState, job: Option<&ViewState>, age_ms: i64) -> Result<(), Stays> {
    match (state, job) {
        (_, Some(ViewState::NotAnswered)) => Err(Stays::NotAnswered),
        (_, Some(job)) if job.is_live() => Err(Stays::Live),
        (state, _) if state.is_live() => Err(Stays::Live),
        (RunState::NotSubmitted, _) if age_ms < SUBMISSION_MS => Err(Stays::JustMade),
        _ => Ok(()),
    }
}

/// The run that may be removed, of what a person selected.
///
/// # Errors
/// It is no run, or it stays.
pub fn to_remove(selected: &mut Selected, now: model::Timestamp) -> Result<Run, Failure> {
    let name = selected.name();
    let refused = |why: &str, todo: &str| {
        Err(Failure::new(
            FailureKind::Refused,
            format!("{name} is not removed: {why}"),
        )
        .todo(todo))
    };
    let (view, outage) = selected.view_or_note()?;
    if let Some(of) = selected.run.as_ref().and_then(|run| run.entry.of.as_ref()) {
        let todo = format!("yard rm {} removes all of its {}", of.id, of.count);
        return refused("it is one of several repeats", &todo);
    }
    let Some(run) = selected.run.clone() else {
        return refused(
            "it is a job of no run",
            "its engine forgets it by itself after a while",
        );
    };
    let state = run.state(view.as_ref());
    let age = now.since(run.entry.created);
    let may_run = outage.is_some() && run.is_unanswered();
    let judged = removable(&state, view.as_ref().map(|view| &view.state), age);
    let judged = if may_run {
        Err(Stays::NotAnswered)
    } else {
        judged
    };
    match judged {
        Ok(()) => Ok(run),
        Err(Stays::Live) => refused("it waits or runs", "yard cancel it first, then again"),
        Err(Stays::NotAnswered) => refused(
            "its cluster does not answer, and a job of it may run there",
            "again when the cluster answers",
        ),
        Err(Stays::JustMade) => refused(
            "it was made a moment ago and is perhaps about to be submitted",
            "again in an hour; yard clean removes what submissions left behind",
        ),
    }
}

/// The repeats that may be removed, all of them.
///
/// # Errors
/// One of them stays.
pub fn repeats_to_remove(repeats: &Repeats, now: model::Timestamp) -> Result<(), Failure> {
    let views = repeats.all_views()?;
    for run in &repeats.runs {
        let view = run.view(&views);
        let age = now.since(run.entry.created);
        let job = view.as_ref().map(|view| &view.state);
        if removable(&run.state(view.as_ref()), job, age).is_err() {
            let id = &repeats.entry.id;
            let what = format!("{id} is not removed: {} may still run", run.entry.id);
            return Err(Failure::new(FailureKind::Refused, what)
                .todo(format!("yard cancel {id} first, then again")));
        }
    }
    Ok(())
}

/// Refuses to remove runs after which another one is still to start: that one would find none, and fail.
///
/// # Errors
/// There is such a one, or the index of runs can't be read.
pub fn refuse_awaited(doomed: &BTreeSet<String>) -> Result<(), Failure> {
    for entry in indexed_runs(&places()?)? {
        let Ok((_, json)) = RunFolder::open(&entry.folder) else {
            continue;
        };
        let Some(awaited) = json.after.iter().find(|one| doomed.contains(&one.id)) else {
            continue;
        };
        let mut waiting = select_only(&entry.id)?;
        let (view, outage) = waiting.view_or_note()?;
        // Of one whose cluster does not answer it is not known whether it waits.
        let is_open = |state: RunState| match state {
            RunState::Unknown { .. } | RunState::NotSubmitted => outage.is_some(),
            state => state.is_live(),
        };
        let may_start = |run: &Run| !was_launched(run) && is_open(run.state(view.as_ref()));
        if waiting.run.as_ref().is_some_and(may_start) {
            let (id, after) = (&awaited.id, &entry.id);
            let what = format!("{id} is not removed: {after} starts after it");
            return Err(Failure::new(FailureKind::Refused, what)
                .there(format!(
                    "{after} may wait still, and fails where {id} is gone"
                ))
                .todo(format!(
                    "again once {after} has begun, or yard cancel {after} first"
                )));
        }
    }
    Ok(())
}

/// Whether ranks of it were started: then it waits for no other run any more.
fn was_launched(run: &Run) -> bool {
    let mut events = run.starts.iter().flat_map(|start| &start.events);
    events.any(|line| matches!(line.event, Event::Launched { .. }))
}

/// Removes a run's folder, and then its place in the index, so that one which could not be removed
/// whole is still found.
///
/// # Errors
/// Something can't be removed.
pub fn remove(run: &Run) -> Result<(), Failure> {
    let jobs: Vec<u32> = run.jobs().map(|job| job.0).collect();
    remove_folder(&run.entry.folder, &run.entry.id)?;
    forget(&run.entry, jobs)
}

/// Takes what was removed out of the index, and notes its jobs, which an engine may still list.
pub(crate) fn forget(entry: &IndexEntry, jobs: Vec<u32>) -> Result<(), Failure> {
    let index = Index::new(&places()?.index);
    let jobs: BTreeSet<u32> = jobs.into_iter().collect();
    let removed = RemovedRun {
        id: entry.id.clone(),
        cluster: entry.cluster.clone(),
        jobs: jobs.into_iter().collect(),
        at: Timestamp(sys::now()),
    };
    // Without it its jobs are listed as others are.
    let _ = index.note_removed(&removed);
    index.remove(entry);
    Ok(())
}

/// Removes the folder of the run with that id.
pub(crate) fn remove_folder(path: &Path, id: &str) -> Result<(), Failure> {
    // Someone moved it there: what else that place holds, and whether others need it, they know.
    if let Ok(target) = fs::read_link(path) {
        let what = format!("{id} is not removed: its folder is a link");
        return Err(Failure::new(FailureKind::Refused, what)
            .there(format!("{} leads to {}", path.display(), target.display()))
            .todo("remove that folder and the link by hand, and yard rm forgets the run then"));
    }
    // What a damaged index names may be any folder.
    if path.exists() && RunFolder::open(path).is_ok_and(|(_, json)| json.id == id) {
        let run_json = RunFolder::at(path).run_json();
        // What it is goes last: until then it can be removed again.
        for entry in fs::read_dir(path).map_err(unusable(path))?.flatten() {
            let own = entry.path();
            if own != run_json {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let removed = if is_folder {
                    fs::remove_dir_all(&own)
                } else {
                    fs::remove_file(&own)
                };
                removed.map_err(unusable(&own))?;
            }
        }
        fs::remove_dir_all(path).map_err(unusable(path))?;
        if let Some(project) = path.parent() {
            // Where other runs are in it, it stays.
            let _ = fs::remove_dir(project);
        }
    } else if path.exists() {
        let what = format!("{id} is not removed: its folder is not that of this run");
        return Err(Failure::new(FailureKind::Refused, what)
            .there(path.display().to_string())
            .todo("look at that folder, and remove it by hand"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: RunState, job: Option<ViewState>, want: Result<(), Stays>) {
        assert_eq!(
            removable(&state, job.as_ref(), 10),
            want,
            "{state:?} {job:?}"
        );
    }

    #[test]
    fn what_may_run_stays() {
        let done = || RunState::Done {
            at: Timestamp(0),
            left: None,
        };
        let running = || ViewState::Running {
            since: None,
            nodes: String::new(),
        };
        let unknown = || RunState::Unknown {
            what: String::new(),
        };
        check(done(), None, Ok(()));
        check(RunState::Cancelled, None, Ok(()));
        check(RunState::Running { since: None }, None, Err(Stays::Live));
        // It says that it is done, and its job still cleans up.
        check(done(), Some(running()), Err(Stays::Live));
        // Its folder is gone and its job runs.
        check(unknown(), Some(running()), Err(Stays::Live));
        check(
            unknown(),
            Some(ViewState::NotAnswered),
            Err(Stays::NotAnswered),
        );
        check(unknown(), None, Ok(()));
        check(RunState::NotSubmitted, None, Err(Stays::JustMade));
        assert_eq!(
            removable(&RunState::NotSubmitted, None, SUBMISSION_MS),
            Ok(())
        );
    }
}
