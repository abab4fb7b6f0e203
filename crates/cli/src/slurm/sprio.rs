//! `sprio`: what the priorities of waiting jobs are made of.

use super::connection::{CommandError, connect};
use crate::printer::Printer;
use model::{SPRIO_USAGE, SprioArgs, SprioShow, SprioUsageError};

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match SprioArgs::parse("sprio", args, &super::variable) {
        Ok(asked) => asked,
        Err(error) => {
            if matches!(error, SprioUsageError::Operand(_)) {
                printer.data(SPRIO_USAGE);
            }
            printer.say(&error.to_string());
            return 1;
        }
    };
    match asked.show {
        Some(SprioShow::Help) => printer.data(&help()),
        Some(SprioShow::Usage) => printer.data(SPRIO_USAGE),
        Some(SprioShow::Version) => printer.line(&super::version_line()),
        None => {
            return list(&asked, printer).unwrap_or_else(|failure| {
                failure.say("sprio", printer);
                1
            });
        }
    }
    0
}

fn list(asked: &SprioArgs, printer: &Printer) -> Result<u8, CommandError> {
    if let Err(message) = super::refuse_other_clusters("sprio", asked.clusters.as_deref()) {
        printer.say(&format!("sprio: error: {message}"));
        return Ok(1);
    }
    let report = connect()?.priorities()?;
    let is_user = |name: &str| match name.parse() {
        Ok(id) => sys::users::user_by_id(id).is_ok_and(|user| user.is_some()),
        Err(_) => sys::users::user_by_name(name).is_ok_and(|user| user.is_some()),
    };
    let cluster = super::connection::engine_name().unwrap_or_default();
    let printed = asked.print(&report, &cluster, &is_user);
    printed.stderr.iter().for_each(|line| printer.say(line));
    printer.data(&printed.stdout);
    Ok(printed.status)
}

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: sprio [OPTIONS]
Shows what the priorities of jobs that wait in Trainyard's embedded engine are made of, as Slurm's
sprio shows them. Weights come from [priority] in the cluster's file.
";

/// `sprio --help`
pub(super) fn help() -> String {
    super::command_help("sprio", ABOUT, "")
}
