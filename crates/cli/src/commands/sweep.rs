//! `yard sweep`

use super::resource_flags::ResourceFlags;
use super::run;
use super::run_request::command_line;
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;
use runs::{RunRequest, WandbSweep, places};
use std::path::PathBuf;
use std::time::Instant;

/// Run trials of a sweep of Weights & Biases, as one array of agents
///
/// Each trial is `wandb agent --count 1` with the resources, the environment and the container of the
/// run file. A sweep that the run file's command names wins over --wandb, with a note.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run file, or a folder that holds a yard.toml
    file: Option<PathBuf>,
    /// The sweep
    #[arg(long, value_name = "ENTITY/PROJECT/ID")]
    wandb: String,
    /// How many trials
    #[arg(long, alias = "count", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    trials: u32,
    /// So many run at once; 10 unless the run file says otherwise
    #[arg(long, value_name = "N")]
    at_once: Option<String>,
    /// The cluster: local for the embedded engine, or the name of the Slurm that answers here
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    /// The run's name
    #[arg(long, short = 'J', alias = "job-name", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    resources: ResourceFlags,
    /// Submit and return
    #[arg(long, short)]
    detach: bool,
}

/// Runs `yard sweep`.
pub fn run(args: Args, printer: &Printer) -> Outcome {
    let begun = Instant::now();
    let places = places()?;
    let request = RunRequest {
        file: args.file,
        on: args.on,
        name: args.name,
        repeat: Some(args.trials.to_string()),
        at_once: args.at_once,
        resources: args.resources.into_given(),
        sweep: Some(WandbSweep::new(&args.wandb)?),
        command_line: command_line(),
        ..RunRequest::default()
    };
    run::submit(request.plan(&places)?, args.detach, begun, &places, printer)
}
