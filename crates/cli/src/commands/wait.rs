//! `yard wait`

use super::select::{Selected, select_live};
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use crate::slurm::{connection, sbatch_wait};
use backend::{Run, RunState, ViewState};
use clap::Args as ClapArgs;
use model::JobId;
use std::time::Instant;

/// Wait until runs or jobs are over; exit 0 if all of them were done
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    runs: Vec<String>,
}

/// Runs `yard wait`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let mut code = exit_code::DONE;
    for text in &args.runs {
        let mut selected = select_live(text, printer)?;
        let mut elements_failed = false;
        if let (None, Some(job), None, true) = (
            &selected.run,
            selected.job,
            selected.element,
            selected.transport.is_embedded(),
        ) {
            elements_failed = wait_for_elements(job)?.is_some_and(|status| status != 0);
        }
        let (mut word, mut done) = wait_for(&mut selected)?;
        if done && elements_failed {
            (word, done) = (
                "ended, and not all of its elements completed".to_owned(),
                false,
            );
        }
        printer.show_line(&format!("{} {word}", selected.name()));
        if !done {
            code = exit_code::FAILED;
        }
    }
    Ok(code)
}

/// Waits for a plain job of the embedded engine, or for all elements of an array.
/// Returns the highest of their exit statuses.
fn wait_for_elements(job: JobId) -> Result<Option<u8>, Failure> {
    let ended = connection::connect().and_then(|mut client| sbatch_wait::wait(&mut client, job));
    ended.map_err(|failure| Failure::new(exit_code::UNREACHABLE, failure.to_string()))
}

/// How a run ended, as the end of a sentence that begins with its name.
fn outcome(state: &RunState) -> String {
    match state {
        RunState::Done { .. } => "is done".to_owned(),
        RunState::Failed { cause } => format!("failed: {cause}"),
        RunState::Cancelled => "was cancelled".to_owned(),
        RunState::Refused { why } => format!("was refused: {why}"),
        RunState::NotSubmitted => "was never submitted".to_owned(),
        RunState::Unknown { what } => format!("ended, how is unknown: {what}"),
        RunState::Waiting { .. } | RunState::Running { .. } | RunState::Resuming { .. } => {
            format!("is {}", state.word())
        }
    }
}

/// Waits for the end of one, and says how it ended and whether that is success.
fn wait_for(selected: &mut Selected) -> Result<(String, bool), Failure> {
    let begun = Instant::now();
    loop {
        let view = selected.view()?;
        let mut lives = view.as_ref().is_some_and(|view| view.state.is_live());
        if let (Some(run), Some(view)) = (&selected.run, &view) {
            // One that waits to take over from what is done is no reason to wait.
            lives &= run.job() == Some(view.id) || run.state(Some(view)).is_live();
        }
        if !lives {
            return match &selected.run {
                Some(run) => {
                    // Read again: its last words came while this waited.
                    let state = Run::read(run.entry.clone())?.state(view.as_ref());
                    let done = matches!(state, RunState::Done { .. });
                    Ok((outcome(&state), done))
                }
                None => Ok(match view.map(|view| view.state) {
                    Some(ViewState::Ended { how, exit, .. }) => {
                        (format!("ended: {how} (exit {exit})"), how == "COMPLETED")
                    }
                    Some(ViewState::Unknown { text }) => (format!("has the state {text}"), false),
                    _ => ("is no longer known to its cluster".to_owned(), false),
                }),
            };
        }
        std::thread::sleep(selected.transport.pause(begun.elapsed()));
    }
}
