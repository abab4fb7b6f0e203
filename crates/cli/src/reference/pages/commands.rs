//! `docs/commands.md`

use super::table;
use crate::reference::{built, shown};
use clap::{Arg, ArgAction, Command};

/// The page, of a command and everything below it.
pub fn page(command: Command) -> String {
    let command = built(command);
    let mut sections = String::new();
    let mut contents = Vec::new();
    for command in shown(&command) {
        section(command, command.get_name(), &mut contents, &mut sections);
    }
    format!(
        "{INTRO}{}{EXIT_CODES}{sections}",
        table(&["command", "what it does"], &contents)
    )
    .trim_end()
    .to_owned()
        + "\n"
}

const INTRO: &str = r"# Commands

<!-- Made of the commands' own definitions:
     UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference -->

`yard help COMMAND` and `yard COMMAND --help` print what stands here, `yard man` prints it as man pages,
and `yard completions SHELL` writes what a shell needs to complete it. What a [run file](run-file.md) can
hold has a page of its own, and so have the options of [Slurm's commands](slurm-commands.md). Every
command takes `--help`, and `yard` itself `--version`.

";

const EXIT_CODES: &str = r"Exit codes: 0 done, 1 the run failed or `lint` and `cluster check` found an error, 2 wrong usage, 3 it
could never start there, 4 the engine or the cluster can't be reached, 5 a file can't be read or
written, 6 the run is done and something of it could not be saved and stays on a node, 124 `wait` reached its `--timeout`, 130 interrupted before anything was submitted. Slurm's names keep Slurm's own.

";

fn section(command: &Command, path: &str, contents: &mut Vec<Vec<String>>, text: &mut String) {
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let anchor = format!("yard {path}").replace(' ', "-");
    contents.push(vec![format!("[`yard {path}`](#{anchor})"), about.clone()]);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    text.push_str(&format!(
        "## `yard {path}`\n\n{}\n\n",
        more(command, &about)
    ));
    text.push_str(&format!("```\n{usage}\n```\n\n"));
    let args = command.get_arguments().filter(|arg| is_shown(arg));
    let rows: Vec<Vec<String>> = args.map(row).collect();
    text.push_str(&table(&["argument", "what it is"], &rows));
    if let Some(examples) = command.get_after_help() {
        let examples = examples.to_string();
        let lines = examples.lines().skip(1).map(|line| line.trim_start());
        let lines: Vec<&str> = lines.collect();
        text.push_str(&format!("```\n{}\n```\n\n", lines.join("\n")));
    }
    for sub in shown(command) {
        let path = format!("{path} {}", sub.get_name());
        section(sub, &path, contents, text);
    }
}

/// Its long text, where there is one; the short one as a sentence.
fn more(command: &Command, about: &str) -> String {
    match command.get_long_about() {
        Some(long) => {
            let long = long.to_string();
            let (first, rest) = long.split_once("\n\n").unwrap_or((&long, ""));
            format!("{first}.\n\n{rest}").trim_end().to_owned()
        }
        None => format!("{about}."),
    }
}

fn is_shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version")
}

fn row(arg: &Arg) -> Vec<String> {
    let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let words = arg.get_possible_values();
    if !words.is_empty() && takes_value(arg) {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("`{}`", word.get_name()))
            .collect();
        help.push_str(&format!(": {}", words.join(", ")));
    }
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.display()))
        .collect();
    if !defaults.is_empty() && takes_value(arg) {
        help.push_str(&format!(" (default {})", defaults.join(" ")));
    }
    vec![name(arg), help]
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// `-t`, `--time TIME`; a positional as in the usage.
fn name(arg: &Arg) -> String {
    let value = match arg.get_value_names() {
        Some(names) if takes_value(arg) => names.join(" "),
        _ => String::new(),
    };
    if arg.is_positional() {
        return if arg.is_last_set() {
            format!("`-- {value}`")
        } else {
            format!("`{value}`")
        };
    }
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg
        .get_long()
        .map(|long| format!("`--{long} {value}`").replace(" `", "`"));
    let both: Vec<String> = short.into_iter().chain(long).collect();
    both.join(", ")
}
