//! `yard cancel`

use super::select::select_live;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use backend::Transport;
use clap::Args as ClapArgs;
use runs::Run;

/// End runs or jobs; their saved checkpoints stay
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
}

/// First whatever would take over: it is noted in the run's folder, where a job that starts all the
/// same sees it.
fn cancel_run(run: &Run, transport: &mut dyn Transport) -> Result<(), Failure> {
    // A folder that can't be written is no reason to let the job go on.
    let noted = run.folder.write_cancelled();
    for job in run.live_jobs().into_iter().rev() {
        let live = transport
            .jobs(&[job])?
            .iter()
            .any(|view| view.state.is_live());
        if live {
            transport.cancel(job, None)?;
        }
    }
    Ok(noted?)
}

/// Runs `yard cancel`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    for text in &args.runs {
        let mut selected = select_live(text, printer)?;
        let job = selected.job()?;
        let view = selected.view()?;
        if let (Some(run), Some(true)) = (&selected.run, view.as_ref().map(|v| v.state.is_live())) {
            cancel_run(run, &mut *selected.transport)?;
            printer.show_line(&format!("{} is being cancelled", selected.name_and(job)));
            continue;
        }
        match view {
            Some(view) if view.state.is_live() => {
                selected.transport.cancel(job, selected.element)?;
                printer.show_line(&format!("{} is being cancelled", selected.name_and(job)));
            }
            // Asked twice, it is still what was wanted.
            _ => printer.show_line(&format!("{} has already ended", selected.name_and(job))),
        }
    }
    Ok(exit_code::DONE)
}
