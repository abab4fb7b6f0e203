//! `yard report`

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use jiff::tz::TimeZone;
use model::Timestamp;
use runs::{Run, RunState, report, select};
use std::path::PathBuf;

/// Write a page about a run: asked and used, scalars, checkpoints, what to ask next time
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
    /// Several runs beside each other
    #[arg(long, value_name = "RUN", num_args = 2.., conflicts_with = "run")]
    compare: Vec<String>,
    /// Where the page goes: report.html in the run folder, or comparison.html in the folder of the first
    /// run that is compared
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs `yard report`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let (named, is_compared) = match args.compare.as_slice() {
        [] => (std::slice::from_ref(&args.run), false),
        several => (several, true),
    };
    let mut output = args.output.clone();
    let mut runs = Vec::new();
    for text in named {
        let (run, state) = standing(text, printer)?;
        output.get_or_insert_with(|| {
            if is_compared {
                run.folder.comparison()
            } else {
                run.folder.report()
            }
        });
        runs.push((run, state));
    }
    let output = output.unwrap_or_default();
    let zone = TimeZone::system();
    let now = Timestamp(sys::now());
    let moment = model::moment_text(now, &zone).replace('T', " ");
    let made = format!("made by yard {} on {moment}", env!("CARGO_PKG_VERSION"));
    let runs: Vec<(&Run, &RunState)> = runs.iter().map(|(run, state)| (run, state)).collect();
    let html = report(&runs, &made, now)?;
    sys::atomic::write_relaxed(&output, html.as_bytes()).map_err(|error| {
        Failure::new(
            FailureKind::Io,
            format!("the report can't be written: {error}"),
        )
        .asked(output.display().to_string())
        .todo("name another file with --output")
    })?;
    printer.show_line(&output.display().to_string());
    Ok(exit_code::DONE)
}

/// A run, and where it stands.
fn standing(text: &str, printer: &Printer) -> Result<(Run, RunState), Failure> {
    let mut selected = super::selected(select(text), printer)?;
    let (view, note) = selected.view_or_note()?;
    if let Some(note) = note {
        printer.say(&format!("note: {note}"));
    }
    let Some(run) = &selected.run else {
        let what = format!("{} is no run: nothing of it was measured", selected.name());
        return Err(Failure::new(FailureKind::Usage, what)
            .asked(text)
            .todo("yard show and yard logs say what is known of it"));
    };
    let state = run.state(view.as_ref());
    Ok((run.clone(), state))
}
