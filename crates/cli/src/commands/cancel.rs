//! `yard cancel`

use super::select::select;
use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;

/// End runs or jobs; what is out of their checkpoints stays
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
}

/// Runs `yard cancel`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    for text in &args.runs {
        let mut selected = select(text)?;
        let job = selected.job()?;
        match selected.view()? {
            Some(view) if view.state.is_live() => {
                selected.door.cancel(job)?;
                printer.line(&format!(
                    "{} is being cancelled (job {job})",
                    selected.name()
                ));
            }
            // Asked twice, it is still what was wanted.
            _ => printer.line(&format!("{} is already over (job {job})", selected.name())),
        }
    }
    Ok(exit_code::DONE)
}
