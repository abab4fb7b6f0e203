//! A run file of a batch script.

use super::folder;
use crate::exit_code;
use crate::failure::Failure;
use lint::{Activated, Body, Start, Starter};
use model::script_lines::{LineKind, script_lines};
use model::{SlurmVersion, Surroundings, Timestamp, first_error, sbatch};
use runs::{FailureKind, input_file};
use std::path::Path;
use train::{Launcher, NewRunFile, ScriptStart, toml_text, toml_texts};

/// Reads a script: what it asks for, what it prepares and what it starts.
pub fn read(path: &Path) -> Result<NewRunFile, Failure> {
    let usage = |failure| runs::Failure {
        kind: FailureKind::Usage,
        ..failure
    };
    let text = input_file::read(path).map_err(usage)?.into_text();
    if !text.starts_with("#!") && !asks(&text) {
        return Err(not_a_script(path));
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    let zone = sys::local_zone();
    let surroundings = Surroundings {
        // An option of Pyxis is one here, too, and named as what it is.
        pyxis: true,
        ..Surroundings::slurm(SlurmVersion::V25_11, Timestamp(sys::now()), &zone, &cwd)
    };
    let name = path.display().to_string();
    let words = std::slice::from_ref(&name);
    let (script, said) = sbatch::resolve(words, &|_| None, Some(&text), &surroundings);
    if let Some(wrong) = first_error(&said) {
        return Err(
            Failure::new(exit_code::REFUSED, format!("sbatch would refuse {name}"))
                .there(wrong.message.replace('\n', " "))
                .todo(format!("yard lint {name}")),
        );
    }
    let body = Body::read(&text);
    let start = body.start.as_ref().map(started);
    let mut file = train::from_script(&name, &script, start.as_ref());
    start_notes(&mut file, &body);
    prepared(&mut file, &body);
    Ok(file)
}

fn not_a_script(path: &Path) -> Failure {
    let name = path.display();
    let failure = Failure::new(exit_code::USAGE, format!("{name} is not a batch script"))
        .there("a batch script begins with #!, or has lines that begin with #SBATCH");
    if path
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        return failure.todo(format!("yard plan {name}, where it is a run file"));
    }
    failure.todo(format!("yard init -- {name}, where it is a program"))
}

/// Whether a file has options of sbatch.
pub fn has_directives(path: &Path) -> bool {
    let is_script = |text: String| text.starts_with("#!") && asks(&text);
    input_file::is_plain(path)
        && input_file::read(path).is_ok_and(|file| is_script(file.into_text()))
}

fn asks(text: &str) -> bool {
    let kinds = script_lines(text).kinds;
    kinds.contains(&LineKind::Directive)
}

/// What the script starts, as a run file starts it.
fn started(start: &Start) -> ScriptStart {
    let (launcher, ranks_per_node) = match start.by {
        Starter::Script => (Launcher::None, None),
        Starter::Srun | Starter::Other(_) => (Launcher::Srun, None),
        Starter::Torchrun(count) => (Launcher::Torchrun, count),
    };
    let of_python = launcher == Launcher::Torchrun
        && start
            .words
            .first()
            .is_some_and(|first| first.ends_with(".py") || first == "-m");
    let python = of_python.then_some("python");
    let words = python
        .map(str::to_owned)
        .into_iter()
        .chain(start.words.clone());
    let shell = start.expands.then(|| match python {
        Some(python) => format!("{python} {}", start.text),
        None => start.text.clone(),
    });
    ScriptStart {
        line: start.line,
        words: words.collect(),
        shell,
        launcher,
        ranks_per_node,
    }
}

fn start_notes(file: &mut NewRunFile, body: &Body) {
    match &body.start {
        None => {
            let why = "No command that trains was found in the script: write yours.";
            file.set_with("", "command", toml_texts(&["python", "train.py"]), why);
        }
        Some(Start {
            by: Starter::Other(name),
            line,
            ..
        }) => file.notes.push(format!(
            "line {line}: {name} is not supported as a launcher yet: start the program itself with \
             the launcher srun, which sets what it reads; or with torchrun."
        )),
        Some(_) => {}
    }
    for line in &body.others {
        file.notes.push(format!(
            "line {line}: a further command that computes is left out: a run starts one command."
        ));
    }
}

fn prepared(file: &mut NewRunFile, body: &Body) {
    if !body.modules.is_empty() {
        file.set("environment", "modules", toml_texts(&body.modules));
    }
    match &body.python {
        Some(Activated::Conda(name)) => file.set("environment", "conda", toml_text(name)),
        Some(Activated::Venv(folder)) => file.set("environment", "venv", toml_text(folder)),
        None => folder::environment(file),
    }
    for (line, text) in &body.left {
        file.notes.push(format!("line {line} is left out: {text}"));
    }
    if !body.left.is_empty() {
        file.notes.push(
            "What the left out lines set must be set in the shell in which yard run is started: its \
             variables come along."
                .to_owned(),
        );
    }
}
