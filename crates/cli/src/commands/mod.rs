//! `yard`'s own commands, one file each.

mod attach;
mod cache;
mod cancel;
mod clean;
mod cluster;
mod completions;
mod du;
mod engine;
mod examples;
mod follow;
mod follow_job;
mod init;
mod interrupt;
mod job_rows;
mod lint;
mod listed_cells;
mod logs;
mod ls;
mod making;
mod man;
mod notebook;
mod on_run;
mod plan;
mod port;
mod rank_lines;
mod repeats;
mod report;
mod requeue;
mod resource_flags;
mod rm;
mod run;
mod run_request;
mod script;
mod serve;
mod shell;
mod show;
mod show_job;
mod simulate;
mod stage;
mod starting_point;
mod stop_fold;
mod story;
mod sweep;
mod tensorboard;
mod top;
mod wait;
mod why;

#[cfg(test)]
pub use examples::calls as example_calls;

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome, Report as _};
use crate::printer::Printer;
use crate::usage_error;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use runs::Selected;
use std::ffi::OsString;

/// Runs AI training jobs, once described, everywhere, correctly, to their end
#[derive(Debug, Parser)]
#[command(name = "yard", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Sweep(sweep::Args),
    Plan(plan::Args),
    Init(init::Args),
    Lint(lint::Args),
    Ls(ls::Args),
    Top(top::Args),
    Serve(serve::Args),
    Show(show::Args),
    Logs(logs::Args),
    Wait(wait::Args),
    Why(why::Args),
    Cancel(cancel::Args),
    Requeue(requeue::Args),
    Report(report::Args),
    Tensorboard(tensorboard::Args),
    Notebook(notebook::Args),
    Rm(rm::Args),
    Du(du::Args),
    Clean(clean::Args),
    Cache(cache::Args),
    Stage(stage::Args),
    Attach(attach::Args),
    Shell(shell::Args),
    Engine(engine::Args),
    Cluster(cluster::Args),
    Port(port::Args),
    Simulate(simulate::Args),
    Completions(completions::Args),
    Man(man::Args),
    /// Slurm's own commands, by their names: sbatch, srun, squeue, sinfo, sacct and ten others
    #[command(name = "slurm")]
    Slurm {
        /// The command and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        words: Vec<OsString>,
    },
}

/// What was selected; engines that could not be asked are said.
fn selected(selected: Result<Selected, Failure>, printer: &Printer) -> Result<Selected, Failure> {
    let selected = selected?;
    for note in &selected.notes {
        printer.say(&format!("note: {note}"));
    }
    Ok(selected)
}

/// The widest that help is; a narrower terminal folds it further.
pub const WIDEST: usize = 100;

/// All commands with their options and examples: what is parsed, and what help, man pages,
/// completions and `docs/commands.md` are made of.
pub fn command() -> clap::Command {
    examples::add_to(Cli::command()).max_term_width(WIDEST)
}

/// `width`: the columns that help has.
fn parsed(args: &[OsString], width: usize) -> Result<Cli, clap::Error> {
    let mut command = command().term_width(width);
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Runs one of `yard`'s commands; its exit code.
pub fn main(args: Vec<OsString>, printer: &Printer) -> u8 {
    let code = answered(args, printer);
    printer.exit_code(code, exit_code::IO)
}

fn answered(args: Vec<OsString>, printer: &Printer) -> u8 {
    let cli = match parsed(&args, printer.width()) {
        Ok(cli) => cli,
        // A command that does nothing without a further word.
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            printer.say(help.to_string().trim_end());
            return exit_code::USAGE;
        }
        Err(error) if error.use_stderr() => {
            return usage_error::failure(&error, &args, command()).report(printer);
        }
        // --help and --version are answers, not errors.
        Err(answer) => {
            let answer = answer.render();
            let plain = || answer.to_string();
            let coloured = || answer.ansi().to_string();
            printer.data(&if printer.has_colour() {
                coloured()
            } else {
                plain()
            });
            return exit_code::DONE;
        }
    };
    match dispatch(cli.command, printer) {
        Ok(code) => code,
        Err(failure) => failure.report(printer),
    }
}

fn dispatch(command: Command, printer: &Printer) -> Outcome {
    match command {
        Command::Run(args) => run::run(args, printer),
        Command::Sweep(args) => sweep::run(args, printer),
        Command::Plan(args) => plan::run(args, printer),
        Command::Init(args) => init::run(&args, printer),
        Command::Lint(args) => lint::run(&args, printer),
        Command::Serve(args) => serve::run(&args, printer),
        Command::Top(args) => top::run(&args, printer),
        Command::Ls(args) => ls::run(&args, printer),
        Command::Show(args) => show::run(&args, printer),
        Command::Logs(args) => logs::run(&args, printer),
        Command::Wait(args) => wait::run(&args, printer),
        Command::Why(args) => why::run(&args, printer),
        Command::Cancel(args) => cancel::run(&args, printer),
        Command::Rm(args) => rm::run(&args, printer),
        Command::Du(args) => du::run(&args, printer),
        Command::Clean(args) => clean::run(&args, printer),
        Command::Tensorboard(args) => tensorboard::run(&args, printer),
        Command::Notebook(args) => notebook::run(&args, printer),
        Command::Cache(args) => cache::run(&args, printer),
        Command::Stage(args) => stage::run(&args, printer),
        Command::Report(args) => report::run(&args, printer),
        Command::Requeue(args) => requeue::run(&args, printer),
        Command::Attach(args) => attach::run(&args, printer),
        Command::Shell(args) => shell::run(args, printer),
        Command::Engine(args) => engine::run(&args, printer),
        Command::Cluster(args) => cluster::run(&args, printer),
        Command::Port(args) => port::run(&args, printer),
        Command::Simulate(args) => simulate::run(&args, printer),
        Command::Completions(args) => completions::run(&args, printer),
        Command::Man(args) => man::run(&args, printer),
        // Known names never come here: main takes them first.
        Command::Slurm { words } => Err(Failure::new(
            FailureKind::Usage,
            format!(
                "{} is none of Slurm's commands that yard knows",
                words[0].display()
            ),
        )
        .there(crate::slurm::NAMES.join(", "))),
    }
}
