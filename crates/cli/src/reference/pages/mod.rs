//! The pages in `docs/` that are generated. They are checked in, so that only tests make them.

mod commands;
mod compatibility;
mod containers;
mod launchers;
mod run_file;
mod slurm_commands;
mod tests;

/// A row of a Markdown table.
fn table_row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

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
