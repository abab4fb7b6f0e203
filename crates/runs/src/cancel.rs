//! Ends a run or a job.

use crate::failure::Failure;
use crate::{Element, Run, Selected};
use backend::Transport;

/// Ends it; whether it lived.
///
/// # Errors
/// It was never submitted, or its cluster does not answer.
pub fn cancel(selected: &Selected) -> Result<bool, Failure> {
    let mut selected = selected.clone();
    let job = selected.job()?;
    let mut transport = selected.open()?;
    let view = selected.view_through(&mut *transport)?;
    if !view.is_some_and(|view| view.state.is_live()) {
        // Asked twice, it is still what was wanted. One that scancel ended while it waited left its secrets.
        if let Some(run) = &selected.run {
            run.folder.remove_secrets()?;
        }
        return Ok(false);
    }
    match &selected.run {
        Some(run) => cancel_run(run, &mut *transport)?,
        None => transport.cancel(job, selected.element)?,
    }
    Ok(true)
}

/// First whatever would take over: it is noted in the run's folder, where a job that starts all the
/// same sees it.
pub(crate) fn cancel_run(run: &Run, transport: &mut dyn Transport) -> Result<(), Failure> {
    // A folder that can't be written is no reason to let the job go on.
    let noted = run.folder.write_cancelled();
    // The other repeats may wait for theirs still.
    let environment = run.environment_jobs.iter().copied();
    let environment = environment.filter(|_| !run.folder.is_repeat());
    for job in run.live_jobs().into_iter().rev().chain(environment) {
        if let Some(Element { array, number, .. }) = run.element_of(job) {
            let view = transport.element(array, number)?;
            if view.is_some_and(|view| view.state.is_live()) {
                transport.cancel(array, Some(number))?;
            }
            continue;
        }
        let live = transport
            .jobs(&[job])?
            .iter()
            .any(|view| view.state.is_live());
        if live {
            transport.cancel(job, None)?;
        }
    }
    // It comes back by no way but a person's.
    let removed = run.folder.remove_secrets();
    noted?;
    Ok(removed?)
}
