//! `yard requeue`

use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use folder::Naming;
use model::counted;
use runs::{Repeats, Requeued, RunState, select_repeats, select_to_change};

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
    if let Some(several) = select_repeats(&args.run, Naming::Whole)? {
        return requeue_all(&several, printer);
    }
    let selected = super::selected(select_to_change(&args.run), printer)?;
    let requeued = runs::requeue(&selected)?;
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

/// All repeats of a run but those that are done. One that can't be requeued holds none of the others up.
fn requeue_all(several: &Repeats, printer: &Printer) -> Outcome {
    let id = &several.entry.id;
    let (views, note) = several.views()?;
    if let Some(note) = note {
        printer.say(&format!("note: {note}"));
    }
    let mut failures: Vec<Failure> = Vec::new();
    let (mut back, mut waiting, mut done) = (0, 0, 0);
    for (run, state) in several.runs.iter().zip(several.states(&views)) {
        if matches!(state, RunState::Done { .. }) {
            done += 1;
            continue;
        }
        let requeued = select_to_change(&run.entry.id).and_then(|one| runs::requeue(&one));
        match requeued {
            Ok(Requeued::Waits) => waiting += 1,
            Ok(Requeued::SameJob(_) | Requeued::NextJob(_)) => back += 1,
            Err(failure) => failures.push(failure),
        }
    }
    let goes = if back == 1 { "goes" } else { "go" };
    let mut parts = vec![format!(
        "{} {goes} back into the queue",
        counted(back, "run")
    )];
    if waiting > 0 {
        parts.push(format!("{waiting} waiting already"));
    }
    if done > 0 {
        parts.push(format!("{done} done, which stay"));
    }
    printer.show_line(&format!("{id}: {}", parts.join(", ")));
    if back > 0 {
        printer.show_line(&row("code", SAME_CODE));
    }
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else {
        return Ok(exit_code::DONE);
    };
    let others = failures.map(|one| format!("error: {}\n", one.line()));
    Err(first.mistakes(others.collect()))
}
