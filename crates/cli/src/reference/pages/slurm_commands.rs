//! `docs/slurm-commands.md`

use crate::slurm::{NAMES, help_of};
use model::option_table::{Command, Effect, options_of};

/// The page.
pub fn page() -> String {
    let command = |name: &&str| format!("## `{name}`\n\n```\n{}```\n\n", help_of(name));
    let commands: String = NAMES.iter().map(command).collect();
    format!("{INTRO}{commands}{}", without_effect())
}

const INTRO: &str = r"# Slurm's commands

<!-- Made of the options' own tables:
     UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference -->

The embedded engine answers to these commands: as `yard slurm NAME`, and by their own names inside a job.
Options may be abbreviated, and come from the same variables, as with Slurm's own. What `yard run` takes
is in [commands.md](commands.md).

";

/// Options that are understood and change nothing, or that are refused, with the reason.
fn without_effect() -> String {
    let mut rows = Vec::new();
    for (command, name) in [(Command::Sbatch, "sbatch"), (Command::Srun, "srun")] {
        for option in options_of(command) {
            let (what, why) = match option.effect {
                Effect::Sets(_) => continue,
                Effect::Nothing(why) => ("no effect", why),
                Effect::Refused(why) => ("refused", why),
            };
            let option = format!("`{name} --{}`", option.long);
            rows.push(vec![option, format!("{what}: {why}")]);
        }
    }
    let head = "## Options without an effect here\n\nUsing one of them says so: none is ignored in \
                silence.\n\n";
    let table = super::table(&["option", "what it does here"], &rows);
    format!("{head}{}", table.trim_end()) + "\n"
}
