//! `yard cluster`

mod check;

mod import;
mod ls;
mod show;
mod sources;

use crate::failure::Outcome;
use crate::printer::Printer;
use clap::{Args as ClapArgs, Subcommand};

/// What clusters have and allow: list, show, check and import cluster files
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ls(ls::Args),
    Show(show::Args),
    Check(check::Args),
    Import(import::Args),
}

/// Runs `yard cluster`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    match &args.command {
        Command::Ls(args) => ls::run(args, printer),
        Command::Show(args) => show::run(args, printer),
        Command::Check(args) => check::run(args, printer),
        Command::Import(args) => import::run(args, printer),
    }
}
