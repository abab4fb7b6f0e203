//! `yard requeue`

use super::select::select;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;

/// Put a run or job back into the queue; it resumes from its newest checkpoint
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
}

/// Runs `yard requeue`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let mut selected = select(&args.run)?;
    let job = selected.job()?;
    let Some(view) = selected.view()? else {
        return Err(Failure::new(
            exit_code::FAILED,
            format!("{} can't be requeued", selected.name()),
        )
        .there(format!("its cluster no longer knows job {job}"))
        .todo("start it again with yard run"));
    };
    selected.door.requeue(job, Some(view.restarts))?;
    printer.line(&format!(
        "{} goes back into the queue (job {job})",
        selected.name()
    ));
    Ok(exit_code::DONE)
}
