//! The reference, made of the same definitions that the program runs by: `docs/run-file.md` of the
//! run file's table of keys, `docs/commands.md` of the commands' own, `docs/slurm-commands.md` of the
//! help of Slurm's.

mod man;
#[cfg(test)]
mod pages;

pub use man::pages as man_pages;

use clap::Command;

/// The command line, ready to be shown, whatever the width of a terminal.
fn built(command: Command) -> Command {
    let mut command = without_help(command).term_width(crate::commands::WIDEST);
    command.build();
    command
}

/// Without clap's own `help`, of which there is nothing to say.
fn without_help(command: Command) -> Command {
    command
        .disable_help_subcommand(true)
        .mut_subcommands(without_help)
}

/// Its subcommands.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}
