//! What is known of where scripts shall run.

use super::Args;
use crate::failure::{Failure, FailureKind};
use crate::printer::Printer;
use model::SlurmVersion;
use runs::{Described, ScriptPlace, places};

/// The cluster and the version of Slurm that a command line names.
pub(super) fn place(args: &Args, printer: &Printer) -> Result<ScriptPlace, Failure> {
    let version = match &args.slurm {
        None => None,
        Some(text) => Some(known_version(text, printer)?),
    };
    let cluster = match &args.on {
        Some(name) => {
            let (cluster, notes) = Described::named(name, &places()?)?;
            for note in notes {
                printer.say(&format!("note: {note}"));
            }
            Some(cluster.file()?)
        }
        None => None,
    };
    ScriptPlace::here(cluster, version)
}

/// A version of which the options are known; one that is newer than all is taken as the newest.
fn known_version(text: &str, printer: &Printer) -> Result<SlurmVersion, Failure> {
    let refuse =
        |there: String| Failure::new(FailureKind::Usage, there).asked(format!("--slurm {text}"));
    let version = text
        .parse::<SlurmVersion>()
        .map_err(|error| refuse(error.to_string()))?;
    let newest = SlurmVersion::V25_11;
    if version < SlurmVersion::V22_05 {
        let oldest = SlurmVersion::V22_05;
        return Err(refuse(format!(
            "Slurm {version} is not known: {oldest} is the oldest that is"
        ))
        .todo(format!("--slurm {oldest} is the nearest")));
    }
    if version > newest {
        printer.say(&format!(
            "note: Slurm {version} is not known, and taken as {newest}, the newest that is"
        ));
    }
    Ok(version.min(newest))
}
