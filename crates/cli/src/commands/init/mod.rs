//! `yard init`

mod folder;
mod from_script;
mod secret_values;

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use train::{NewRunFile, RunFile, toml_text, toml_texts};

/// Write a commented yard.toml into this folder: from a batch script, a command, or what is there
///
/// A yard.toml that is there is never overwritten. Every other key stands in the file as a comment. What a
/// run file can't say of a script is a comment at its top; a file that it names and that is not there yet
/// has a comment that says so.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A batch script, whose resources, environment and command are taken; or a Python program
    #[arg(conflicts_with = "command")]
    script: Option<PathBuf>,
    /// The command of a rank
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The file that is written.
const RUN_FILE: &str = "yard.toml";

/// Runs `yard init`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let path = Path::new(RUN_FILE);
    // Before anything is read, and once more as it is written.
    if path.symlink_metadata().is_ok() {
        return Err(already_there());
    }
    let mut file = match &args.script {
        Some(script) if is_python(script) => {
            let words = ["python", &*script.to_string_lossy()];
            of_command(&words, &format!("of {}", script.display()))
        }
        Some(script) => from_script::read(script)?,
        None if args.command.is_empty() => folder::looked_at(),
        None => of_command(&args.command, "of a command"),
    };
    folder::say_what_is_missing(&mut file);
    let text = file.text();
    check(&text, printer)?;
    sys::atomic::create(path, text.as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => already_there(),
        _ => Failure::new(
            FailureKind::Io,
            format!("{RUN_FILE} can't be written: {error}"),
        )
        .asked("a run file in this folder")
        .todo("go to a folder that you may write"),
    })?;
    printer.line(&format!(
        "{RUN_FILE} written; yard plan shows what comes of it"
    ));
    for note in &file.notes {
        let mut shown = String::new();
        model::wrap(&mut shown, "note: ", "      ", note);
        printer.say(shown.trim_end());
    }
    Ok(exit_code::DONE)
}

fn of_command<T: AsRef<str>>(words: &[T], made: &str) -> NewRunFile {
    let mut file = folder::prepared(made);
    let Some(start) = from_script::launched(words) else {
        file.set("", "command", toml_texts(words));
        return file;
    };
    file.set("", "command", toml_texts(&start.words));
    file.set("", "launcher", toml_text(start.launcher.word()));
    if let Some(ranks) = start.ranks_per_node {
        file.set("resources", "ranks_per_node", ranks.to_string());
    }
    file
}

fn already_there() -> Failure {
    Failure::new(FailureKind::Io, format!("{RUN_FILE} is not overwritten"))
        .asked("a new run file in this folder")
        .there(format!("a {RUN_FILE}, which stays as it is"))
        .todo("edit it, or move it away first")
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py")
}

/// What is written can be read: a command can hold what a run file can't.
fn check(text: &str, printer: &Printer) -> Result<(), Failure> {
    let (_, problems) = RunFile::parse(text, RUN_FILE);
    let Some((last, others)) = problems.split_last() else {
        return Ok(());
    };
    for problem in others {
        printer.say(train::render(problem, text, RUN_FILE).trim_end());
    }
    let shown = train::render(last, text, RUN_FILE);
    let shown = shown.trim_end();
    let shown = shown.strip_prefix("error: ").unwrap_or(shown);
    Err(Failure::new(FailureKind::Usage, shown)
        .there("nothing was written")
        .todo("change what the run file is made of"))
}
