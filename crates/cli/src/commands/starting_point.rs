//! The checkpoint at which `yard run --from` starts.

use crate::failure::{Failure, FailureKind};
use crate::printer::Printer;
use folder::{Index, Naming, StartingPoint};
use job::StartingPointError;
use runs::{Run, indexed_runs, places};
use std::path::Path;

/// The checkpoint that `--from` means: of a path that is there, else of a run. Of several runs of a name it is
/// the newest that has saved one.
pub fn starting_point(text: &str, printer: &Printer) -> Result<StartingPoint, Failure> {
    let path = Path::new(text);
    let found = if path.exists() {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        job::starting_point(&path, None)
    } else {
        let (named, name) = match text.split_once('/') {
            Some((run, name)) => (run, Some(name)),
            None => (text, None),
        };
        if named.is_empty() || named.starts_with(['.', '~']) {
            return Err(no_starting_point(text));
        }
        let selected = runs::select(named).map_err(|failure| match failure.kind {
            FailureKind::Failed => Failure {
                there: failure.there,
                mistakes: failure.mistakes,
                ..no_starting_point(text)
            },
            _ => failure.asked(format!("--from {text}")),
        })?;
        let Some(run) = selected.run else {
            return Err(
                Failure::new(FailureKind::Usage, format!("{named} is a job of no run"))
                    .asked(format!("--from {text}"))
                    .todo("name a run, or the path of a checkpoint"),
            );
        };
        let found = of_run(&run, name);
        match &found {
            Err(StartingPointError::None { .. }) => {
                older(named, name, &run, printer)?.map_or(found, Ok)
            }
            _ => found,
        }
    };
    found.map_err(|error| {
        let failure =
            Failure::new(FailureKind::Usage, error.to_string()).asked(format!("--from {text}"));
        match error {
            StartingPointError::None {
                there, unusable, ..
            } => failure
                .there(match (there.as_slice(), unusable.as_slice()) {
                    ([], []) => "no checkpoint was saved".to_owned(),
                    ([], unusable) => unusable.join("; "),
                    (there, _) => there.join(", "),
                })
                .todo("name a run that has saved one"),
            StartingPointError::Unclear { path, there } => failure
                .there(there.join(", "))
                .todo(format!(
                    "name one of them: {}; a folder that is one checkpoint is one by a name with its step, \
                     such as step-100",
                    path.join(there.last().map_or("", String::as_str)).display()
                )),
            _ => failure.todo("name a complete checkpoint, or a run that has saved one"),
        }
    })
}

/// Neither a run nor a path is called so.
fn no_starting_point(text: &str) -> Failure {
    let what = format!("there is no run, file or folder {text}");
    Failure::new(FailureKind::Usage, what)
        .asked(format!("--from {text}"))
        .todo("name a run of yard ls, RUN/CHECKPOINT, or the path of a checkpoint")
}

/// A run's newest complete checkpoint, or the one of that name.
fn of_run(run: &Run, name: Option<&str>) -> Result<StartingPoint, StartingPointError> {
    job::starting_point(&run.entry.folder, name).map(|found| StartingPoint {
        was_resumed: run.has_resumed_from(&found.manifest.name),
        ..found
    })
}

/// That of an older run which `text` means too, where the newest has not saved it.
fn older(
    text: &str,
    name: Option<&str>,
    newest: &Run,
    printer: &Printer,
) -> Result<Option<StartingPoint>, Failure> {
    let mut all = indexed_runs(&places()?)?;
    all.reverse();
    let meant = Index::choose(&all, text, Naming::OrBeginning).into_iter();
    let found = meant
        .filter_map(|entry| Run::read(entry).ok())
        .find_map(|run| of_run(&run, name).ok());
    if let Some(found) = &found {
        printer.say(&format!(
            "note: {} has not saved {}; it is taken of {}",
            newest.entry.id,
            name.unwrap_or("a checkpoint"),
            found.of
        ));
    }
    Ok(found)
}

/// How far it is known that a checkpoint is complete, in words.
pub fn proof(from: &StartingPoint) -> &'static str {
    if from.manifest.proven {
        "complete"
    } else if from.was_resumed {
        "that run resumed from it"
    } else {
        "could not verify that it is complete"
    }
}
