//! `yard requeue`

use super::story::row;
use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;
use runs::{Requeued, select_live};

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
    let mut selected = super::selected(select_live(&args.run), printer)?;
    let requeued = runs::requeue(&mut selected)?;
    let name = selected.name();
    match requeued {
        Requeued::SameJob(job) => {
            let name = selected.name_and(job);
            printer.show_line(&format!("{name} goes back into the queue"));
        }
        Requeued::NextJob(next) => printer.show_line(&format!("{name} continues in job {next}")),
        Requeued::Waits => printer.show_line(&format!("{name} is already waiting")),
    }
    if selected.run.is_some() && requeued != Requeued::Waits {
        printer.show_line(&row("code", SAME_CODE));
    }
    Ok(exit_code::DONE)
}
