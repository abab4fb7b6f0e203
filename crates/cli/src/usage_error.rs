//! A command line that can't be read, in the three parts that every failure of `yard` has.

use crate::failure::{Failure, FailureKind};
use crate::words::shortened;
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use model::option_table::{Command as SlurmCommand, Takes, options_of};
use std::error::Error as _;
use std::ffi::OsString;
use std::num::ParseIntError;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A longer line is cut.
const LONGEST_LINE: usize = 200;

/// Commands of other programs, and those that do the same here.
const OTHERS_WORDS: [(&str, &str); 5] = [
    (
        "status",
        "yard show says how a run stands, yard ls lists all",
    ),
    ("list", "yard ls lists runs and jobs"),
    ("ps", "yard ls lists runs and jobs"),
    ("stop", "yard cancel ends a run, yard engine stop an engine"),
    ("submit", "yard run --detach submits and does not wait"),
];

/// What `error` says of the command line `args`, whose first word is the program.
pub fn failure(error: &Error, args: &[OsString], mut command: Command) -> Failure {
    command.build();
    let command = named(&command, args);
    let (what, there) = (what(error, command), there(error, command));
    let line: Vec<_> = args
        .iter()
        .skip(1)
        .map(|arg| arg.to_string_lossy())
        .collect();
    let line = format!("yard {}", line.join(" "));
    Failure::new(FailureKind::Usage, what)
        .asked(shortened(&line, LONGEST_LINE))
        .there(there)
        .todo(todo(error, args, command))
}

/// The innermost command that the line names.
fn named<'a>(top: &'a Command, args: &[OsString]) -> &'a Command {
    let mut command = top;
    for arg in args.iter().skip(1) {
        match command.find_subcommand(arg) {
            Some(inner) => command = inner,
            None => break,
        }
    }
    command
}

/// As a person types it: `yard engine start`.
fn path(command: &Command) -> &str {
    command.get_bin_name().unwrap_or(command.get_name())
}

fn what(error: &Error, command: &Command) -> String {
    let path = path(command);
    let (arg, value) = (
        text(error, ContextKind::InvalidArg),
        text(error, ContextKind::InvalidValue),
    );
    match error.kind() {
        ErrorKind::UnknownArgument if arg.starts_with('-') => {
            format!("{path} has no option {arg}")
        }
        ErrorKind::UnknownArgument => format!("{path} does not take the word {arg}"),
        ErrorKind::InvalidSubcommand => {
            format!(
                "{path} has no command {}",
                text(error, ContextKind::InvalidSubcommand)
            )
        }
        ErrorKind::MissingRequiredArgument => format!("{path} needs {arg}"),
        ErrorKind::ArgumentConflict => {
            let prior = text(error, ContextKind::PriorArg);
            if prior == arg {
                format!("{arg} is given twice")
            } else {
                format!("{arg} and {prior} exclude each other")
            }
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{arg} has no value"),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            format!("{value} is not a value of {arg}")
        }
        _ => {
            let rendered = error.render().to_string();
            let first = rendered.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    }
}

fn there(error: &Error, command: &Command) -> String {
    let values = text(error, ContextKind::ValidValue);
    if !values.is_empty() {
        return values;
    }
    match (error.kind(), error.source()) {
        (ErrorKind::ValueValidation, Some(source)) if source.is::<ParseIntError>() => {
            "it takes a whole number".to_owned()
        }
        (ErrorKind::ValueValidation, Some(source)) => within(&source.to_string()),
        (ErrorKind::InvalidSubcommand, _) => {
            let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
            let names: Vec<&str> = shown.map(Command::get_name).collect();
            names.join(", ")
        }
        _ => {
            let usage = command.clone().render_usage().to_string();
            usage.trim_start_matches("Usage: ").to_owned()
        }
    }
}

/// A range as people say it: clap has `0 is not in 1..=4294967295`.
fn within(said: &str) -> String {
    let ends = said
        .split_once(" is not in ")
        .and_then(|(_, range)| range.split_once("..="));
    let most_of_all = [
        u64::from(u32::MAX).to_string(),
        u64::MAX.to_string(),
        i64::MAX.to_string(),
    ];
    match ends {
        Some((least, most)) if most_of_all.iter().any(|all| all == most) => {
            format!("it takes a whole number of at least {least}")
        }
        Some((least, most)) => format!("it takes a whole number from {least} to {most}"),
        None => said.to_owned(),
    }
}

fn todo(error: &Error, args: &[OsString], command: &Command) -> String {
    let suggested = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    let suggested = suggested.map(|kind| text(error, kind));
    let help = format!("{} --help", path(command));
    let takes_program = command.get_arguments().any(|arg| arg.is_last_set());
    if error.kind() == ErrorKind::UnknownArgument {
        let given = text(error, ContextKind::InvalidArg);
        let said = if given.starts_with('-') {
            runs_word(&given, command)
        } else {
            behind_dashes(&given, args, command)
        };
        if let Some(said) = said {
            return said;
        }
    }
    let word = text(error, ContextKind::InvalidSubcommand);
    if let Some((_, meant)) = OTHERS_WORDS.iter().find(|(other, _)| *other == word)
        && command.get_name() == "yard"
    {
        return format!("{meant}, or see {help}");
    }
    match suggested.into_iter().find(|text| !text.is_empty()) {
        Some(suggested) => format!("write {suggested}, or see {help}"),
        None if takes_program && error.kind() == ErrorKind::UnknownArgument => {
            format!("see {help}; what is your program's own comes after --")
        }
        None => format!("see {help}"),
    }
}

/// What stands for an option of sbatch where a run is described.
fn runs_word(option: &str, command: &Command) -> Option<String> {
    let describes_run = command.get_arguments().any(|arg| arg.get_id() == "sbatch");
    let name = option.trim_start_matches('-');
    let is_short =
        |one: &&model::option_table::Opt| one.short.is_some_and(|own| name == own.to_string());
    let of_sbatch = match option.strip_prefix("--") {
        Some(long) => model::option_table::find(long),
        None => options_of(SlurmCommand::Sbatch).find(is_short),
    };
    let of_sbatch = of_sbatch.filter(|_| describes_run)?;
    let help = format!("see {} --help", path(command));
    let ours = train::slurms_word(of_sbatch.long);
    let Some(ours) = ours.filter(|ours| !ours.starts_with("an option in")) else {
        let value = if of_sbatch.takes == Takes::No {
            ""
        } else {
            "=…"
        };
        return Some(format!(
            "write --sbatch=--{}{value}, or {help}",
            of_sbatch.long
        ));
    };
    let flag_of = |word: &str| {
        let word = word.trim_end_matches(',');
        let mut keys = train::resource_keys().into_iter();
        let long = keys
            .find_map(|row| row.flag.filter(|_| row.name == word))
            .map(|flag| flag.long);
        let known = |long: &str| {
            command
                .get_arguments()
                .any(|arg| arg.get_long() == Some(long))
        };
        let long = long.unwrap_or(word);
        known(long).then(|| format!("--{long}"))
    };
    let flags: Vec<String> = ours.split(' ').filter_map(flag_of).collect();
    let flags = if flags.is_empty() {
        String::new()
    } else {
        format!(": {}", flags.join(", "))
    };
    Some(format!(
        "Slurm's --{} is {ours} here{flags}; or {help}",
        of_sbatch.long
    ))
}

/// The same line with its command behind `--`.
fn behind_dashes(word: &str, args: &[OsString], command: &Command) -> Option<String> {
    let takes_program = command.get_arguments().any(clap::Arg::is_last_set);
    let words: Vec<&str> = args.iter().map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let at = words.iter().position(|one| *one == word)?;
    // The word before was taken for a file, or it is the value of an option.
    let first = at.checked_sub(1)?;
    let is_value = words.get(first.checked_sub(1)?)?.starts_with('-');
    if !takes_program || is_value || first < 2 || words[first].starts_with('-') {
        return None;
    }
    let (ours, own) = words[1..].split_at(first - 1);
    let by = words[first];
    let line = format!(
        "yard {} -- {}{}",
        ours.join(" "),
        started_by(by),
        own.join(" ")
    );
    Some(format!(
        "write what is to run after --: {}",
        shortened(&line, LONGEST_LINE)
    ))
}

/// What makes a command of a word that names a file here: `./`, or the program that reads it.
fn started_by(word: &str) -> &'static str {
    let path = Path::new(word);
    match path.metadata() {
        Ok(facts) if facts.is_file() => {
            if facts.permissions().mode() & 0o111 != 0 {
                if word.contains('/') { "" } else { "./" }
            } else if path.extension().is_some_and(|ending| ending == "py") {
                "python "
            } else {
                "bash "
            }
        }
        _ => "",
    }
}

/// What the error knows of that kind, several with commas.
fn text(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::commands::command;
    use crate::failure::Report as _;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = command().try_get_matches_from(&args).unwrap_err();
        let failure = failure(&error, &args, command());
        assert_eq!(failure.code(), 2);
        assert_eq!(failure.asked.as_deref(), Some(line));
        let part = |part: Option<String>| part.unwrap();
        let text = [
            failure.what.clone(),
            part(failure.there),
            part(failure.todo),
        ];
        want.assert_eq(&text.join("\n"));
    }

    #[test]
    fn every_usage_error_has_three_parts() {
        let mut said = String::new();
        check(
            "yard runn",
            expect![[r#"
            yard has no command runn
            run, sweep, plan, stage, init, lint, ls, top, serve, show, logs, report, tensorboard, notebook, wait, why, cancel, simulate, rm, du, clean, shell, cache, requeue, attach, engine, cluster, port, slurm, completions, man, help
            write run, or see yard --help"#]],
        );
        check(
            "yard logs --rnak 3",
            expect![[r#"
            yard logs has no option --rnak
            yard logs [OPTIONS] [RUN]
            write --rank, or see yard logs --help"#]],
        );
        check(
            "yard logs -r x",
            expect![[r#"
            x is not a value of --rank <RANK>
            it takes a whole number
            see yard logs --help"#]],
        );
        check(
            "yard show a b",
            expect![[r#"
            yard show does not take the word b
            yard show [OPTIONS] [RUN]
            see yard show --help"#]],
        );
        check(
            "yard run train.py --lr 3",
            expect![[r#"
            yard run has no option --lr
            yard run [OPTIONS] [FILE] [-- <COMMAND>...]
            see yard run --help; what is your program's own comes after --"#]],
        );
        check(
            "yard run --on rig python3 train.py",
            expect![[r#"
            yard run does not take the word train.py
            yard run [OPTIONS] [FILE] [-- <COMMAND>...]
            write what is to run after --: yard run --on rig -- python3 train.py"#]],
        );
        check(
            "yard run file --time 3 more",
            expect![[r#"
            yard run does not take the word more
            yard run [OPTIONS] [FILE] [-- <COMMAND>...]
            see yard run --help; what is your program's own comes after --"#]],
        );
        for option in [
            "--ntasks",
            "--gpus-per-task",
            "--gres",
            "--array",
            "-w",
            "--dependency",
            "--output",
            "-n",
            "--begin",
        ] {
            let args = ["yard", "plan", option].map(OsString::from);
            let error = command().try_get_matches_from(&args).unwrap_err();
            said.push_str(&format!(
                "{option}: {}\n",
                failure(&error, &args, command()).todo.unwrap()
            ));
        }
        expect![[r#"
            --ntasks: Slurm's --ntasks is [resources] nodes times ranks_per_node here: --nodes, --ntasks-per-node; or see yard plan --help
            --gpus-per-task: Slurm's --gpus-per-task is [resources] gpus_per_node, times the ranks of a node, here: --gpus-per-node; or see yard plan --help
            --gres: Slurm's --gres is [resources] gpus_per_node here: --gpus-per-node; or see yard plan --help
            --array: Slurm's --array is repeat here: --repeat; or see yard plan --help
            -w: write --sbatch=--nodelist=…, or see yard plan --help
            --dependency: Slurm's --dependency is [after] run, or an option in [resources] sbatch here: --sbatch; or see yard plan --help
            --output: Slurm's --output is yard logs, of a file for each rank, here; or see yard plan --help
            -n: Slurm's --ntasks is [resources] nodes times ranks_per_node here: --nodes, --ntasks-per-node; or see yard plan --help
            --begin: write --sbatch=--begin=…, or see yard plan --help
        "#]].assert_eq(&said);
        check(
            "yard engine start --nodes 0",
            expect![[r#"
            0 is not a value of --nodes <NUMBER>
            it takes a whole number from 1 to 100000
            see yard engine start --help"#]],
        );
        check(
            "yard run --time",
            expect![[r#"
            --time <TIME> has no value
            yard run [OPTIONS] [FILE] [-- <COMMAND>...]
            see yard run --help"#]],
        );
        check(
            "yard cluster show",
            expect![[r#"
            yard cluster show needs <CLUSTER>
            yard cluster show [OPTIONS] <CLUSTER>
            see yard cluster show --help"#]],
        );
        check(
            "yard ls --state bad",
            expect![[r#"
                bad is not a value of --state <STATE>
                not submitted, refused, waiting, running, resuming, done, unsaved, failed, cancelled, unknown
                see yard ls --help"#]],
        );
        check(
            "yard ls --newer 3",
            expect![[r#"
            3 is not a value of --newer <LENGTH>
            3 has no unit: write "3s", "3m" or "3h"
            see yard ls --help"#]],
        );
        check(
            "yard ls --json --json",
            expect![[r#"
            --json is given twice
            yard ls [OPTIONS]
            see yard ls --help"#]],
        );
        check(
            "yard cache nothing",
            expect![[r#"
            yard cache has no command nothing
            ls, prune, help
            see yard cache --help"#]],
        );
        check(
            "yard completions zsj",
            expect![[r#"
            zsj is not a value of <SHELL>
            bash, elvish, fish, powershell, zsh
            write zsh, or see yard completions --help"#]],
        );
    }
}
