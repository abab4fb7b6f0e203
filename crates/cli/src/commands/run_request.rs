//! What `yard run` and `yard plan` are asked for.

use super::resource_flags::ResourceFlags;
use clap::Args as ClapArgs;
use runs::{GivenResource, RunRequest};
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
    /// Who starts the ranks: srun, none, torchrun, jax, lightning
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
        let given = asked.resources.given.into_iter();
        let given = given.map(|(flag, key, text)| GivenResource {
            flag: flag.to_owned(),
            key: key.to_owned(),
            text,
        });
        RunRequest {
            file: asked.file,
            on: asked.on,
            name: asked.name,
            launcher: asked.launcher,
            repeat: asked.repeat,
            at_once: asked.at_once,
            resources: given.collect(),
            command: asked.command,
            // One that is no text is refused when it is read.
            command_line: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
        }
    }
}
