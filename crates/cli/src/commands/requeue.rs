//! `yard requeue`

use super::select::{Selected, select_live};
use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use folder::RunFolder;
use runs::submit_next;

/// Put a run or job back into the queue; it resumes from its newest checkpoint
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
}

/// A run keeps the copy of the code that was made when it was submitted first.
const SAME_CODE: &str = "as first submitted; changes since then need a new yard run";

/// Runs `yard requeue`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let mut selected = select_live(&args.run, printer)?;
    let job = selected.job()?;
    let view = selected.view()?;
    let (name, name_and_job) = (selected.name(), selected.name_and(job));
    let is_run = selected.run.is_some();
    let Selected { run, transport, .. } = &mut selected;
    let live = view.as_ref().is_some_and(|view| view.state.is_live());
    if let Some(run) = run {
        run.folder.clear_cancelled()?;
        if !live {
            run.folder.write_asked_again()?;
        }
    }
    let refused = match &view {
        Some(view) if view.id == job => transport.requeue(job, Some(view.restarts)).err(),
        _ => None,
    };
    match (refused, run, view) {
        (None, _, Some(view)) if view.id == job => {
            printer.show_line(&format!("{name_and_job} goes back into the queue"));
            if is_run {
                printer.show_line(&row("code", SAME_CODE));
            }
            Ok(exit_code::DONE)
        }
        // The job itself can't come back, the run can.
        (_, Some(run), _) if !live => {
            let (folder, json) = RunFolder::open(&run.entry.folder)?;
            let (next, _at) = submit_next(&mut **transport, &folder, &json, None)?;
            printer.show_line(&format!("{name} continues in job {next}"));
            printer.show_line(&row("code", SAME_CODE));
            Ok(exit_code::DONE)
        }
        (Some(error), ..) => Err(error.into()),
        (None, _, Some(_)) => {
            printer.show_line(&format!("{name} is already waiting"));
            Ok(exit_code::DONE)
        }
        (None, _, None) => Err(Failure::new(
            exit_code::FAILED,
            format!("{name} can't be requeued"),
        )
        .there(format!("its cluster no longer knows job {job}"))
        .todo("submit its script again")),
    }
}
