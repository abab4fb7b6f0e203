//! `yard cancel`

use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;
use folder::Naming;
use model::counted;
use runs::{select_repeats, select_to_change};

/// End runs or jobs; their saved checkpoints stay
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
}

/// Runs `yard cancel`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    for text in &args.runs {
        if let Some(several) = select_repeats(text, Naming::Whole)? {
            let id = &several.entry.id;
            printer.show_line(&match several.cancel()? {
                0 => format!("all of {id} have already ended"),
                count => format!("{} of {id} being cancelled", counted(count, "run")),
            });
            continue;
        }
        let selected = super::selected(select_to_change(text), printer)?;
        let job = selected.job()?;
        let how = if runs::cancel(&selected)? {
            "is being cancelled"
        } else {
            "has already ended"
        };
        printer.show_line(&format!("{} {how}", selected.name_and(job)));
    }
    Ok(exit_code::DONE)
}
