//! Ends a run or a job.

use crate::failure::Failure;
use crate::{Element, Run, Selected};
use backend::{Transport, TransportError};

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
    let was_noted = run.folder.is_cancelled();
    // A folder that can't be written is no reason to let the job go on.
    let noted = run.folder.write_cancelled();
    cancel_noted(run, transport, was_noted, &[])?;
    Ok(noted?)
}

/// Ends the jobs of a run in whose folder that is noted, before this call where `was_noted` says so. Those `behind` it
/// are noted by this call too, and are to be ended next.
pub(crate) fn cancel_noted(
    run: &Run,
    transport: &mut dyn Transport,
    was_noted: bool,
    behind: &[&Run],
) -> Result<(), Failure> {
    let mut ended = 0;
    if let Err(error) = cancel_jobs(run, transport, &mut ended) {
        let own = (ended == 0 && !was_noted).then_some(run);
        for run in own.iter().chain(behind) {
            take_back(run, &error)?;
        }
        return Err(error.into());
    }
    // It comes back by no way but a person's.
    Ok(run.folder.remove_secrets()?)
}

/// Takes the note back where the engine refused for sure: the run goes on, and may come back.
pub(crate) fn take_back(run: &Run, error: &TransportError) -> Result<(), Failure> {
    if matches!(error, TransportError::Store { .. }) {
        run.folder.clear_cancelled()?;
    }
    Ok(())
}

fn cancel_jobs(
    run: &Run,
    transport: &mut dyn Transport,
    ended: &mut u32,
) -> Result<(), TransportError> {
    // The other repeats may wait for theirs still.
    let environment = run.environment_jobs.iter().copied();
    let environment = environment.filter(|_| !run.folder.is_repeat());
    for job in run.live_jobs().into_iter().rev().chain(environment) {
        if let Some(Element { array, number, .. }) = run.element_of(job) {
            let view = transport.element(array, number)?;
            if view.is_some_and(|view| view.state.is_live()) {
                transport.cancel(array, Some(number))?;
                *ended += 1;
            }
            continue;
        }
        let live = transport
            .jobs(&[job])?
            .iter()
            .any(|view| view.state.is_live());
        if live {
            transport.cancel(job, None)?;
            *ended += 1;
        }
    }
    Ok(())
}
