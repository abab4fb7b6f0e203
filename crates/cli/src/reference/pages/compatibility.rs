//! `docs/compatibility.md`

use model::option_table::{Command, Effect, Opt, options_of};

/// The page.
pub fn page() -> String {
    let commands = [Command::Sbatch, Command::Salloc, Command::Srun];
    let sections: String = commands.into_iter().map(section).collect();
    format!("{INTRO}{sections}{OTHERS}")
}

const INTRO: &str = r"# Slurm's options on the embedded engine

<!-- Made of the options' own table (crates/model/src/options/option_rows.rs):
     UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference -->

What each option of `sbatch`, `salloc` and `srun` comes to on this machine's own engine. An option *works*,
works *on nodes* of a cluster file alone, is *accepted* since it can change no result here, or is *refused*. Using one that is accepted says so; none
is ignored in silence. `crates/model/tests/option_verdicts.rs` tries each of them.

On a real Slurm `yard` leaves all of them to that Slurm.

";

const OTHERS: &str = r"## Other commands

Their options are in [slurm-commands.md](slurm-commands.md), which names those that are taken without an
effect: nothing changes how the file of `sbcast` travels, since all nodes are on this machine; `sattach` shares what a step writes to its `srun`, and no files.
";

fn section(command: Command) -> String {
    let rows: Vec<Vec<String>> = options_of(command).map(row).collect();
    let count = |word: &str| rows.iter().filter(|row| row[1] == word).count();
    let counts = format!(
        "{} options: {} work, {} work in part, {} work on nodes, {} are accepted, {} are refused.",
        rows.len(),
        count("works"),
        count("in part"),
        count("on nodes"),
        count("accepted"),
        count("refused"),
    );
    let table = super::table(&["option", "here", "what it does, or why not"], &rows);
    format!("## `{}`\n\n{counts}\n\n{table}", command.name())
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
