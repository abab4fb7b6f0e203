//! `docs/slurm-commands.md`

use crate::slurm::{NAMES, help_of};

/// The page.
pub fn page() -> String {
    let command = |name: &&str| format!("## `{name}`\n\n```\n{}```\n\n", help_of(name));
    let commands: String = NAMES.iter().map(command).collect();
    format!("{INTRO}{}\n", commands.trim_end())
}

const INTRO: &str = r"# Slurm's commands

<!-- Made of the options' own tables:
     UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference -->

The embedded engine answers to these commands: as `yard slurm NAME`, and by their own names inside a job
or through a link of that name to `yard`.
Options may be abbreviated, and come from the same variables, as with Slurm's own. What `yard run` takes
is in [commands.md](commands.md), what each option comes to here in [compatibility.md](compatibility.md).

";
