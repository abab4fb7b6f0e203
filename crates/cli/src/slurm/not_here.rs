//! Slurm's commands that the embedded engine does not answer to: each says what is there in its
//! place.

use crate::printer::Printer;

/// A command: its name, what there is, what to do.
type Row = (&'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    (
        "sreport",
        "no accounting database to report from",
        "squeue --states=all",
    ),
    (
        "strigger",
        "no triggers",
        "sbatch --dependency starts a job after another one",
    ),
    (
        "scrontab",
        "no table of jobs that come again",
        "a line in crontab -e that calls sbatch",
    ),
];

/// The row's name, for one of these commands.
pub fn named(name: &str) -> Option<&'static str> {
    let mut names = ROWS.iter().map(|(known, ..)| *known);
    names.find(|known| *known == name)
}

/// Says that a command is not here; `None` for any other command.
pub fn refuse(name: &str, args: &[String], printer: &Printer) -> Option<u8> {
    let (name, there, todo) = ROWS.iter().find(|(known, ..)| *known == name)?;
    printer.say(&format!(
        "{name}: error: {name} is not part of the embedded engine"
    ));
    let asked = [&[(*name).to_owned()], args].concat().join(" ");
    for (title, text) in [("asked", asked.as_str()), ("there", there), ("do", todo)] {
        printer.say(&format!("{name}:   {title:<7} {text}"));
    }
    Some(1)
}
