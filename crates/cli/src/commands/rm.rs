//! `yard rm`

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use folder::{IndexEntry, Naming};
use model::{Timestamp, counted};
use runs::{Repeats, Run, select_only, select_repeats};
use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, stdin};

/// Remove runs that are over, with their checkpoints, logs and everything else in their folders
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Runs, by id or name
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Without asking
    #[arg(long, short)]
    yes: bool,
}

/// What is removed.
enum Doomed {
    Run(Box<Run>),
    Repeats(Repeats),
}

impl Doomed {
    fn entry(&self) -> &IndexEntry {
        match self {
            Doomed::Run(run) => &run.entry,
            Doomed::Repeats(repeats) => &repeats.entry,
        }
    }

    /// The ids of its runs.
    fn runs(&self) -> Vec<String> {
        match self {
            Doomed::Run(run) => vec![run.entry.id.clone()],
            Doomed::Repeats(repeats) => {
                let runs = repeats.runs.iter();
                runs.map(|run| run.entry.id.clone()).collect()
            }
        }
    }
}

/// Runs `yard rm`. Nothing is removed unless all can be.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let now = Timestamp(sys::now());
    let mut doomed: Vec<Doomed> = Vec::new();
    let mut known = BTreeSet::new();
    for text in &args.runs {
        let one = match select_repeats(text, Naming::Whole)? {
            Some(repeats) => {
                runs::repeats_to_remove(&repeats, now)?;
                Doomed::Repeats(repeats)
            }
            None => {
                let mut selected = super::selected(select_only(text), printer)?;
                Doomed::Run(Box::new(runs::to_remove(&mut selected, now)?))
            }
        };
        if known.insert(one.entry().id.clone()) {
            doomed.push(one);
        }
    }
    let all = doomed.iter().flat_map(Doomed::runs);
    runs::refuse_awaited(&all.collect())?;
    let sizes: Vec<u64> = doomed
        .iter()
        .map(|one| sys::tree_size(&one.entry().folder))
        .collect();
    if !args.yes {
        for (one, size) in doomed.iter().zip(&sizes) {
            let (id, folder) = (&one.entry().id, one.entry().folder.display());
            printer.say(&format!("  {id}  {:>8}  {folder}", words::bytes(*size)));
        }
        if !stdin().is_terminal() {
            let what = "there is no terminal to ask on, so nothing was removed";
            return Err(Failure::new(FailureKind::Usage, what).todo("add --yes"));
        }
        let all = words::bytes(sizes.iter().sum());
        let count = counted(doomed.len(), "run");
        printer.say(&format!("remove {count} ({all}) for good? [y/N]"));
        let mut answer = String::new();
        let read = stdin().lock().read_line(&mut answer);
        if read.is_err() || !answer.trim_start().starts_with(['y', 'Y']) {
            printer.say("nothing was removed");
            return Ok(exit_code::FAILED);
        }
    }
    for (one, size) in doomed.iter().zip(sizes) {
        match one {
            Doomed::Run(run) => runs::remove(run)?,
            Doomed::Repeats(repeats) => repeats.remove()?,
        }
        let id = &one.entry().id;
        printer.show_line(&format!("{id} removed ({})", words::bytes(size)));
    }
    Ok(exit_code::DONE)
}
