//! What `yard run` and `yard plan` are asked for.

use super::resource_flags::ResourceFlags;
use clap::Args as ClapArgs;
use runs::RunRequest;
use std::path::PathBuf;

/// A run: a run file, or a command
#[derive(Debug, ClapArgs)]
pub struct RequestArgs {
    /// A run file, a folder that holds a yard.toml, or a batch script
    file: Option<PathBuf>,
    /// The cluster: local for the embedded engine, or the name of the Slurm that answers here
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    /// The run's name
    #[arg(long, short = 'J', alias = "job-name", value_name = "NAME")]
    name: Option<String>,
    /// Who starts the ranks: srun, none, torchrun, jax, lightning, mpi, horovod, accelerate or deepspeed
    #[arg(long, value_name = "LAUNCHER")]
    launcher: Option<String>,
    /// So many runs, as one array: {repeat} is 1 to N
    #[arg(long, value_name = "N")]
    repeat: Option<String>,
    /// Of the repeats so many run at once
    #[arg(long, value_name = "N")]
    at_once: Option<String>,
    #[command(flatten)]
    resources: ResourceFlags,
    /// The command of a rank; instead of the run file's
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl From<RequestArgs> for RunRequest {
    fn from(asked: RequestArgs) -> RunRequest {
        RunRequest {
            file: asked.file,
            on: asked.on,
            name: asked.name,
            launcher: asked.launcher,
            repeat: asked.repeat,
            at_once: asked.at_once,
            resources: asked.resources.into_given(),
            command: asked.command,
            sweep: None,
            command_line: command_line(),
        }
    }
}

/// This process's words, for the run's record.
pub(super) fn command_line() -> Vec<String> {
    // One that is no text is refused when it is read.
    std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
