//! A run file of a batch script.

use super::folder;
use super::secret_values::{is_secret, without_secrets};
use crate::failure::{Failure, FailureKind};
use lint::{Activated, Body, Container, Start, Starter, Variable};
use model::script_lines::{LineKind, script_lines};
use model::{SlurmVersion, Surroundings, Timestamp, first_error, sbatch};
use runs::input_file;
use std::path::Path;
use train::{Launcher, NewRunFile, RunFile, ScriptStart, TORCH_VARIABLES, toml_text, toml_texts};

/// Reads a script: what it asks for, what it prepares and what it starts.
pub fn read(path: &Path) -> Result<NewRunFile, Failure> {
    let text = input_file::read(path)?.into_text();
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
            Failure::new(FailureKind::Refused, format!("sbatch would refuse {name}"))
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
    let failure = Failure::new(FailureKind::Usage, format!("{name} is not a batch script"))
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

/// What a command starts and by which launcher, where it is a call of one.
pub fn launched<T: AsRef<str>>(words: &[T]) -> Option<ScriptStart> {
    let line: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    let body = Body::read(&format!("#!/bin/bash\n{}\n", line.join(" ")));
    let start = body.start?;
    let by_launcher = !matches!(
        start.by,
        Starter::Script | Starter::Srun | Starter::Other(_)
    );
    by_launcher.then(|| started(&start))
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What the script starts, as a run file starts it.
fn started(start: &Start) -> ScriptStart {
    let (launcher, ranks_per_node) = match start.by {
        Starter::Script => (Launcher::None, None),
        Starter::Srun | Starter::Other(_) => (Launcher::Srun, None),
        Starter::Mpi => (Launcher::Mpi, None),
        Starter::Horovod => (Launcher::Horovod, None),
        Starter::Accelerate => (Launcher::Accelerate, None),
        Starter::Deepspeed => (Launcher::Deepspeed, None),
        Starter::Torchrun(count) => (Launcher::Torchrun, count),
    };
    let of_python = !matches!(launcher, Launcher::None | Launcher::Srun)
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
            let why = match body.gaps.first() {
                Some((line, gap)) => format!(
                    "Line {line} has a gap of a template, {gap}: fill it in and make this file again, or \
                     write the command here."
                ),
                None => "No command that trains was found in the script: write yours.".to_owned(),
            };
            file.set_with("", "command", toml_texts(&["python", "train.py"]), why);
        }
        Some(Start {
            by: Starter::Other(name),
            line,
            ..
        }) => file.notes.push(format!(
            "line {line}: which program {name} starts was not found: write it as command, with the \
             launcher of that name."
        )),
        Some(_) => {}
    }
    if let Some(line) = body.requeues {
        file.set_with(
            "resume",
            "own_checkpoints",
            "true".to_owned(),
            format!(
                "Line {line} of the script queues its job again, and so does a run, by itself."
            ),
        );
    }
    for (line, text) in &body.others {
        let text = without_secrets(text);
        file.notes.push(format!(
            "line {line}: a further command that computes is left out, since a run starts one: {text}"
        ));
    }
}

/// The container of what the script starts, where a run file can have it as it is said there.
fn container(file: &mut NewRunFile, container: &Container) {
    let before = file.values.len();
    let section = "environment.container";
    file.set(section, "image", toml_text(&image(&container.image)));
    if let Some(mounts) = &container.mounts {
        let mounts = mounts.split(',').map(own_path);
        let (known, unknown): (Vec<String>, Vec<String>) =
            mounts.partition(|mount| !mount.contains('$'));
        for mount in unknown {
            file.notes.push(format!(
                "--container-mounts={mount} is left out, since no shell reads a run file: write its path into \
                 [environment.container] mounts."
            ));
        }
        if !known.is_empty() {
            file.set(section, "mounts", toml_texts(&known));
        }
    }
    if let Some(workdir) = &container.workdir {
        file.set(section, "workdir", toml_text(workdir));
    }
    if container.image.contains('$') || !RunFile::parse(&file.text(), "yard.toml").1.is_empty() {
        file.values.truncate(before);
        file.notes.push(format!(
            "--container-image={} and what belongs to it is left out: write it into \
             [environment.container].",
            container.image
        ));
    }
}

/// A path as it is without a shell: what it has of the home folder and of the user's name is filled in.
fn own_path(text: &str) -> String {
    let home = || std::env::var("HOME").ok().filter(|value| !value.is_empty());
    let user = || Some(sys::users::this_user().to_owned());
    let mut path = text.to_owned();
    for (name, value) in [("HOME", home()), ("USER", user())] {
        let Some(value) = value else { continue };
        path = path.replace(&format!("${{{name}}}"), &value);
        let bare = format!("${name}");
        if path
            .split_once(&bare)
            .is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with(['/', ':']))
        {
            path = path.replacen(&bare, &value, 1);
        }
        if name == "HOME" && path.starts_with("~/") {
            path.replace_range(..1, &value);
        }
    }
    path
}

/// Pyxis' name of an image as a run file has it: without a scheme it is one of a registry.
fn image(pyxis: &str) -> String {
    let is_file = pyxis.starts_with(['/', '.']) || pyxis.ends_with(".sqsh");
    if is_file || pyxis.contains("://") {
        pyxis.replace('#', "/")
    } else {
        format!("docker://{}", pyxis.replace('#', "/"))
    }
}

fn prepared(file: &mut NewRunFile, body: &Body) {
    if let Some(found) = body
        .start
        .as_ref()
        .and_then(|start| start.container.as_ref())
    {
        container(file, found);
    }
    if !body.modules.is_empty() {
        file.set("environment", "modules", toml_texts(&body.modules));
    }
    variables(file, body);
    match &body.python {
        Some(Activated::Conda(name)) => file.set("environment", "conda", toml_text(name)),
        Some(Activated::Venv(folder)) => {
            file.set("environment", "venv", toml_text(&own_path(folder)))
        }
        None => folder::environment(file),
    }
    let is_conda = matches!(body.python, Some(Activated::Conda(_)));
    for (line, text) in &body.left {
        // What conda needs before it is done with [environment] conda.
        let is_done = is_conda && (text.ends_with("/conda.sh") || text.contains("conda shell."));
        if !is_done {
            file.notes.push(format!(
                "line {line} is left out: {} ({})",
                without_secrets(text),
                instead(text)
            ));
        }
    }
}

/// Secrets by their names alone, since the value would be copied with the code.
fn secrets(file: &mut NewRunFile, variables: &[(usize, &Variable, bool)]) {
    let mut names: Vec<&str> = Vec::new();
    for (line, Variable { name, .. }, _) in variables {
        if !names.contains(&&**name) {
            names.push(name);
            file.notes.push(format!(
                "line {line}: {name} seems to be a secret: its name is in [environment] secrets, and its \
                 value is not in this file. Export it in the shell in which yard run is started."
            ));
        }
    }
    if !names.is_empty() {
        file.set("environment", "secrets", toml_texts(&names));
    }
}

/// Variables that the script exports, or that the command reads; not those that a run file refuses, or that
/// the launcher sets.
fn variables(file: &mut NewRunFile, body: &Body) {
    let read = body.start.as_ref().filter(|start| start.expands);
    let read = read.map_or_else(Vec::new, |start| lint::variables_read(&start.text));
    let own = body.own.iter().filter(|(_, own)| read.contains(&own.name));
    let own = own.map(|(line, own)| (*line, own, false));
    let exported = body.variables.iter();
    let exported = exported.map(|(line, own)| (*line, own, true));
    // By line, and whether it is exported.
    let mut all: Vec<(usize, &Variable, bool)> = exported.chain(own).collect();
    all.sort_by_key(|(line, ..)| *line);
    let (hidden, all): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(_, own, _)| is_secret(&own.name));
    secrets(file, &hidden);
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for (line, Variable { name, value }, is_exported) in all {
        let needs_shell = !is_exported && own_path(value).contains(['$', '`', '*']);
        let pair = (&**name, format!("{name} = {}", toml_text(&own_path(value))));
        let alone = format!(
            "command = [\"true\"]\n[environment]\nvariables = {{ {} }}\n",
            pair.1
        );
        // A brace would begin a placeholder.
        let is_taken = !TORCH_VARIABLES.contains(&pair.0)
            && !value.contains('{')
            && !needs_shell
            && RunFile::parse(&alone, "yard.toml").1.is_empty();
        if is_taken {
            // The last one counts.
            pairs.retain(|(earlier, _)| *earlier != pair.0);
            pairs.push(pair);
        } else {
            let text = format!("{name}={value}");
            let why = instead(&format!("export {text}"));
            let export = if is_exported { "export " } else { "" };
            file.notes
                .push(format!("line {line} is left out: {export}{text} ({why})"));
        }
    }
    if !pairs.is_empty() {
        let pairs: Vec<String> = pairs.into_iter().map(|(_, pair)| pair).collect();
        let value = format!("{{ {} }}", pairs.join(", "));
        file.set("environment", "variables", value);
    }
}

/// What to do in place of a line that a run leaves out.
fn instead(line: &str) -> &'static str {
    let mut words = line.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let name = second
        .and_then(|word| word.split('=').next())
        .unwrap_or_default();
    let of_job = ["$(", "`", "SLURM"].iter().any(|mark| line.contains(mark));
    match first {
        "export" if TORCH_VARIABLES.contains(&name) => "the launcher sets it",
        "export" if of_job => {
            "only the job knows it: set it in the program, or in a script that is the command"
        }
        "export" => "export it before yard run, or write it into [environment] variables",
        "trap" => "[resume] notify says how the program learns that its job is about to end",
        "cd" => {
            "a run starts in its copy of the run file's folder: keep yard.toml where the code is"
        }
        "source" | "." | "module" | "ml" | "conda" | "mamba" | "micromamba" => {
            "do it in the shell in which yard run is started: its variables come along"
        }
        _ => "a run starts one command: do it before, or in a script that is the command",
    }
}
