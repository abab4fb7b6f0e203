//! `docs/compatibility.md`

use model::option_table::{Command, Effect, Opt, options_of};
use model::{CommandOption, OptionVerdict, commands_with_options, options_of_command};

/// The page.
pub fn page() -> String {
    let commands = [Command::Sbatch, Command::Salloc, Command::Srun];
    let asking = commands.map(|command| {
        let rows = options_of(command).map(row).collect();
        section(command.name(), rows)
    });
    let others = commands_with_options().map(|command| {
        let rows = options_of_command(command);
        section(command, rows.iter().map(row_of_other).collect())
    });
    let others: String = others.collect();
    format!("{INTRO}{}{OTHERS}{}\n", asking.concat(), others.trim_end())
}

const INTRO: &str = r"# Slurm's options on the embedded engine

<!-- Made of the options' own tables (crates/model/src/options/option_rows.rs and those of the commands
     in crates/model/src/commands):
     UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference -->

What each option of each command comes to on this machine's own engine. An option *works*,
works *on nodes* of a cluster file alone, is *accepted* since it can change no result here, or is *refused*. None
is ignored in silence: `crates/model/tests/option_verdicts.rs` and `crates/model/src/commands/option_tables.rs`
try each of them, and compare the tables with those of a real Slurm 22.05. An option that a command does not
know is refused in Slurm's words.

On a real Slurm `yard` leaves all of them to that Slurm.

With `sbatch`, `salloc` and `srun`, using an option that is accepted says so.

";

const OTHERS: &str = r"# Commands that look and manage

What they print is read by programs: using an option that is accepted says nothing.

`squeue` and `sacct` with `--json` or `--yaml` list the jobs that the filters beside them leave (`-u`, `-j`, `-t`, `-p`, `-w`, ...).
Slurm 22.05 reads those filters and applies none for `squeue` and only some for `sacct`; later versions apply them, and programs
that pass them expect it.

";

/// A command's options as a table: name, verdict, what it does or why not.
fn section(command: &str, rows: Vec<Vec<String>>) -> String {
    let count = |word: &str| rows.iter().filter(|row| row[1] == word).count();
    let kinds = [
        ("works", "work"),
        ("in part", "work in part"),
        ("on nodes", "work on nodes"),
        ("accepted", "are accepted"),
        ("refused", "are refused"),
    ];
    let counts = kinds.map(|(word, verb)| (count(word), verb));
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, verb)| match count {
            1 => format!(
                "1 {}",
                verb.replacen("are", "is", 1).replacen("work", "works", 1)
            ),
            _ => format!("{count} {verb}"),
        })
        .collect();
    let counts = format!("{} options: {}.", rows.len(), counts.join(", "));
    let table = super::table(&["option", "here", "what it does, or why not"], &rows);
    format!("## `{command}`\n\n{counts}\n\n{table}")
}

fn row_of_other(option: &CommandOption) -> Vec<String> {
    let long = (!option.long.is_empty()).then(|| format!("`--{}`", option.long));
    let letter = option.short.map(|letter| format!("`-{letter}`"));
    let name: Vec<String> = long.into_iter().chain(letter).collect();
    let (verdict, why) = match option.verdict {
        OptionVerdict::Works(help) => ("works", help.to_owned()),
        OptionVerdict::SameAs(name) => ("works", format!("the same as `--{name}`")),
        OptionVerdict::Accepted(why) => ("accepted", why.to_owned()),
        OptionVerdict::Refused(why) => ("refused", why.to_owned()),
    };
    [name.join(", "), verdict.to_owned(), why].to_vec()
}

fn row(option: &Opt) -> Vec<String> {
    let letter = option.short.map(|letter| format!(", `-{letter}`"));
    let name = format!("`--{}`{}", option.long, letter.unwrap_or_default());
    let (verdict, why) = match (option.effect, option.but) {
        (Effect::Refused(why), _) => ("refused", why),
        (Effect::Nothing(why), _) => ("accepted", why),
        (Effect::Sets(_), Some(but)) => match but.strip_prefix("refused: ") {
            Some(why) => ("refused", why),
            None => ("in part", but),
        },
        (Effect::Sets(_), None) => ("works", option.help),
    };
    let why = if option.on_nodes {
        format!("{}; this machine: {why}", option.help)
    } else {
        why.to_owned()
    };
    let verdict = if option.on_nodes { "on nodes" } else { verdict };
    [name, verdict.to_owned(), why].to_vec()
}
