//! What stands in the current folder that a run file can name.

use std::path::Path;
use train::{NewRunFile, toml_text, toml_texts};

/// Programs that a training is likely to be, the likeliest first.
const PROGRAMS: [&str; 3] = ["train.py", "main.py", "run.py"];
/// Folders of virtual environments.
const VENVS: [&str; 3] = [".venv", "venv", "env"];

/// A run file of what this folder holds.
pub fn looked_at() -> NewRunFile {
    let mut file = prepared("of what is in this folder");
    let program = PROGRAMS.into_iter().find(|name| Path::new(name).is_file());
    let words = ["python", program.unwrap_or("train.py")];
    file.set("", "command", toml_texts(&words));
    for script in batch_scripts() {
        file.notes.push(format!(
            "{script} is a batch script: yard init {script} takes over what it asks for."
        ));
    }
    file
}

/// A run file with the environment that this folder holds.
pub fn prepared(made: &str) -> NewRunFile {
    let mut file = NewRunFile {
        origin: format!("Made by yard init {made}."),
        ..NewRunFile::default()
    };
    environment(&mut file);
    file
}

/// The environment that this folder holds.
pub fn environment(file: &mut NewRunFile) {
    let is_venv = |name: &&str| Path::new(name).join("bin/python").exists();
    let conda = ["environment.yml", "environment.yaml"];
    if Path::new("requirements.txt").is_file() {
        file.set("environment", "requirements", toml_text("requirements.txt"));
    } else if let Some(venv) = VENVS.into_iter().find(is_venv) {
        file.set("environment", "venv", toml_text(venv));
    } else if let Some(conda) = conda.iter().find(|name| Path::new(name).is_file()) {
        file.notes.push(format!(
            "{conda}: make its environment (conda env create -f {conda}), and name it in \
             [environment] conda."
        ));
    }
}

/// The first few of the folder's batch scripts.
fn batch_scripts() -> Vec<String> {
    const MOST: usize = 3;
    const ENDINGS: [&str; 4] = [".sbatch", ".slurm", ".sh", ".job"];
    let entries = std::fs::read_dir(".").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| ENDINGS.iter().any(|ending| name.ends_with(ending)))
        .collect();
    names.sort();
    let is_script = |name: &String| super::from_script::has_directives(Path::new(name));
    names.into_iter().filter(is_script).take(MOST).collect()
}

/// Says in a comment what the file names that is not there.
pub fn say_what_is_missing(file: &mut NewRunFile) {
    for value in &mut file.values {
        let named = named_in(value.section, value.key, &value.value);
        let missing: Vec<String> = named
            .into_iter()
            .filter(|path| !Path::new(path).exists())
            .collect();
        if missing.is_empty() {
            continue;
        }
        let missing = format!("Not in this folder yet: {}.", missing.join(", "));
        value.comment = Some(match value.comment.take() {
            Some(comment) => format!("{comment} {missing}"),
            None => missing,
        });
    }
}

/// The paths that a value names.
fn named_in(section: &str, key: &str, value: &str) -> Vec<String> {
    let table = toml::from_str::<toml::Table>(&format!("value = {value}"));
    let texts = match table.ok().and_then(|mut table| table.remove("value")) {
        Some(toml::Value::String(text)) => vec![text],
        Some(toml::Value::Array(items)) => {
            let texts = items.iter().filter_map(|item| item.as_str());
            // A text for a shell holds several words.
            let words = texts.flat_map(str::split_whitespace);
            words.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let is_path = |text: &String| match (section, key) {
        ("", "command") => {
            let is_program = [".py", ".sh"].iter().any(|ending| text.ends_with(ending));
            is_program && !text.contains(['{', '$', '='])
        }
        ("environment", "venv" | "requirements") => true,
        ("environment", "conda") => text.contains('/'),
        _ => false,
    };
    texts.into_iter().filter(is_path).collect()
}
