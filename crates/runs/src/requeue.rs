//! Puts a run or a job back into the queue.

use crate::awaited::jobs_of;
use crate::environment_job::submit_environment;
use crate::failure::{Failure, FailureKind};
use crate::submit::submit_next;
use crate::{Run, RunState, Selected, secrets};
use backend::{JobView, Transport};
use folder::RunFolder;
use model::JobId;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requeued {
    /// Its job goes back into the queue.
    SameJob(JobId),
    /// Its job can't, and the run goes on in another one.
    NextJob(JobId),
    /// It waits already.
    Waits,
}

/// Brings it back; a run resumes from its newest checkpoint.
///
/// # Errors
/// It was never submitted, is done, its cluster does not answer, or refuses it.
pub fn requeue(selected: &Selected) -> Result<Requeued, Failure> {
    let mut selected = selected.clone();
    selected.job()?;
    // From the look at its links to the answer: two at once would each send a job into one folder.
    let run = selected.run.as_ref();
    let _turn = run.map(|run| run.folder.submission_turn()).transpose()?;
    let mut transport = selected.open()?;
    let view = selected.view_through(&mut *transport)?;
    let live = view.as_ref().is_some_and(|view| view.state.is_live());
    let mut written = None;
    let was_cancelled = selected
        .run
        .as_ref()
        .filter(|run| run.folder.is_cancelled());
    if let Some(run) = &selected.run {
        // One of which something is on a node only goes on, to bring it out.
        match run.state(view.as_ref()) {
            RunState::Done { left: None, .. } => return Err(is_done(&run.entry.id)),
            RunState::Done { .. } => {}
            _ if live => {}
            _ => check_what_was_made(run)?,
        }
        written = write_secrets(&run.entry.folder)?;
        run.folder.clear_cancelled()?;
        if !live && let Err(error) = run.folder.write_asked_again() {
            if was_cancelled.is_some() {
                let _ = run.folder.write_cancelled();
            }
            return Err(error.into());
        }
    }
    let put_back = put_back(&selected, &mut *transport, view);
    match (&put_back, written) {
        // It is over still. Of what did not answer it is not known whether its job is queued.
        (Err(failure), Some(folder)) if is_refusal(failure) => {
            let _ = folder.remove_secrets();
        }
        _ => {}
    }
    if let (Some(run), Err(failure)) = (&selected.run, &put_back)
        && is_refusal(failure)
    {
        let _none = run.folder.take_asked_again();
        if was_cancelled.is_some() {
            run.folder.write_cancelled()?;
        }
    }
    put_back
}

fn is_done(id: &str) -> Failure {
    Failure::new(FailureKind::Refused, format!("{id} is done"))
        .asked(format!("yard requeue {id}"))
        .there("it trained to its end: it would run again in place of what it has")
        .todo(format!(
            "yard run --from {id} begins a new run at its newest checkpoint"
        ))
}

/// Refuses a run whose environment or image was removed since: its ranks could not start.
fn check_what_was_made(run: &Run) -> Result<(), Failure> {
    let (_, json) = RunFolder::open(&run.entry.folder)?;
    let Some((what, place)) = json.no_longer_there() else {
        return Ok(());
    };
    let id = &run.entry.id;
    let message = format!("the {what} of {id} is not there any more");
    Err(Failure::new(FailureKind::Refused, message)
        .asked(format!("yard requeue {id}"))
        .there(format!(
            "nothing is in {}, where it was made: yard cache prune --all removes what no live run has",
            place.display()
        ))
        .todo(format!(
            "yard run makes it again; with --from {id} the new run begins at the newest checkpoint"
        )))
}

fn is_refusal(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::Refused | FailureKind::Failed)
}

/// The secrets of a run that was over, or was cancelled, were removed: they are read again, as when it was
/// submitted. Into which folder they were written.
fn write_secrets(folder: &Path) -> Result<Option<RunFolder>, Failure> {
    let (folder, json) = RunFolder::open(folder)?;
    let there = folder.read_secrets()?;
    let mut names = json.plan.environment.secrets.value.iter();
    if names.all(|name| there.contains_key(name)) {
        return Ok(None);
    }
    folder.write_secrets(&secrets(&json.plan)?)?;
    Ok(Some(folder))
}

/// Brings it back that stands so.
pub(crate) fn put_back(
    selected: &Selected,
    transport: &mut dyn Transport,
    view: Option<JobView>,
) -> Result<Requeued, Failure> {
    let (job, name) = (selected.job()?, selected.name());
    let live = view.as_ref().is_some_and(|view| view.state.is_live());
    let run = selected.run.as_ref();
    // Its job would find again that what it needs is not there.
    if let Some(run) = run.filter(|_| !live) {
        let (folder, json) = RunFolder::open(&run.entry.folder)?;
        let mut first = jobs_of(&json.after, transport)?;
        first.extend(submit_environment(transport, &folder, &json)?);
        if !first.is_empty() {
            let (next, _at) = submit_next(transport, &folder, &json, None, &first)?;
            return Ok(Requeued::NextJob(next));
        }
    }
    let refused = match &view {
        Some(view) if view.id == job => {
            let element = run.and_then(|run| run.element_of(job));
            let element = element.map(|element| (element.array, element.number));
            transport.requeue(job, element, Some(view.restarts)).err()
        }
        _ => None,
    };
    match (refused, run, view) {
        (None, _, Some(view)) if view.id == job => Ok(Requeued::SameJob(job)),
        // The job itself can't come back, the run can.
        (_, Some(run), _) if !live => {
            let (folder, json) = RunFolder::open(&run.entry.folder)?;
            let (next, _at) = submit_next(transport, &folder, &json, None, &[])?;
            Ok(Requeued::NextJob(next))
        }
        (Some(error), ..) => Err(error.into()),
        (None, _, Some(_)) => Ok(Requeued::Waits),
        (None, _, None) => Err(Failure::new(
            FailureKind::Failed,
            format!("{name} can't be requeued"),
        )
        .there(format!("its cluster no longer knows job {job}"))
        .todo("submit its script again")),
    }
}
