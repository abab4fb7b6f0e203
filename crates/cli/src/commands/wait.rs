//! `yard wait`

use super::select::{Selected, select};
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use backend::{Run, RunState, ViewState};
use clap::Args as ClapArgs;
use std::time::Instant;

/// Wait until runs or jobs are over; exit 0 if all of them were done
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run's id or name, a job's id, or @ for the newest run
    #[arg(value_name = "RUN", default_value = "@")]
    runs: Vec<String>,
}

/// Runs `yard wait`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let mut code = exit_code::DONE;
    for text in &args.runs {
        let mut selected = select(text)?;
        let (word, done) = wait_for(&mut selected)?;
        printer.line(&format!("{} {word}", selected.name()));
        if !done {
            code = exit_code::FAILED;
        }
    }
    Ok(code)
}

/// Waits for the end of one, and says how it ended and whether that is success.
fn wait_for(selected: &mut Selected) -> Result<(String, bool), Failure> {
    let begun = Instant::now();
    loop {
        let view = selected.view()?;
        let lives = view.as_ref().is_some_and(|view| view.state.is_live());
        if !lives {
            return match &selected.run {
                Some(run) => {
                    // Read again: its last words came while this waited.
                    let state = Run::read(run.entry.clone())?.state(view.as_ref());
                    let done = matches!(state, RunState::Done { .. });
                    Ok((state.word().to_owned(), done))
                }
                None => Ok(match view.map(|view| view.state) {
                    Some(ViewState::Ended { how, exit, .. }) => {
                        (format!("{how} (exit {exit})"), how == "COMPLETED")
                    }
                    Some(ViewState::Unknown { text }) => (format!("is {text}"), false),
                    _ => ("is no longer known to its cluster".to_owned(), false),
                }),
            };
        }
        std::thread::sleep(selected.door.pause(begun.elapsed()));
    }
}
