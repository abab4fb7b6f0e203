//! The reference, made of the same definitions that the program runs by: `docs/run-file.md` of the
//! run file's table of keys, `docs/commands.md` of the commands' own.

#[cfg(test)]
mod commands;
mod man;
#[cfg(test)]
mod run_file;
#[cfg(test)]
mod tests;

pub use man::pages as man_pages;

use clap::Command;

/// The command line, ready to be shown, whatever the width of a terminal.
fn built(command: Command) -> Command {
    let mut command = command.term_width(crate::commands::WIDEST);
    command.build();
    command
}

/// Its subcommands, but for clap's own.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let own = |sub: &&Command| !sub.is_hide_set() && sub.get_name() != "help";
    command.get_subcommands().filter(own)
}

#[cfg(test)]
/// A row of a Markdown table.
fn table_row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
/// A Markdown table; without rows nothing.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rows: String = rows.iter().map(|row| table_row(row)).collect();
    format!(
        "{}{}{rows}\n",
        table_row(&head),
        "|---".repeat(head.len()) + "|\n"
    )
}
