//! Why a rank could not be started.

use super::container::ContainerError;
use super::prelude::PreludeError;
use super::program::ProgramError;
use crate::shell::ShellDataError;
use folder::FolderError;
use std::io;
use thiserror::Error;

/// Why a rank could not be started.
#[derive(Debug, Error)]
pub enum RankError {
    /// The launch file can't be read.
    #[error(
        "the launch file that the conductor writes is not there; this is no command for people"
    )]
    Launch(#[from] FolderError),
    /// Started outside a step, or by another srun.
    #[error(
        "{variable} is {there:?}, the launch file has {ranks} ranks; this is no command for people"
    )]
    Task {
        /// The variable with a rank's number.
        variable: &'static str,
        /// What it holds.
        there: Option<String>,
        /// How many the file has.
        ranks: u32,
    },
    /// On another node than it was planned for, where it would take others' GPUs.
    #[error(
        "task {task} was started on node {there} of the job, and is planned for node {planned}; submit the run again, or use a number of GPUs that the nodes divide"
    )]
    Elsewhere {
        /// Its number.
        task: u32,
        /// `SLURM_NODEID`
        there: u32,
        /// The node's index in the launch file.
        planned: u32,
    },
    /// The run was over, and its secrets were removed then.
    #[error(
        "the secret {name} of run {run} is not there: it was removed when the run was over; yard requeue {run} in a shell that has it brings it along"
    )]
    Secret {
        /// The variable.
        name: String,
        /// The run's id.
        run: String,
    },
    /// The environment can't be made.
    #[error(transparent)]
    Prelude(#[from] PreludeError),
    /// The program can't be started.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The container can't be started.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// A shell's data can't be staged.
    #[error(transparent)]
    Data(#[from] ShellDataError),
    /// The wrapper's own work failed.
    #[error("{what} failed")]
    System {
        /// What.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl RankError {
    /// The wrapper's exit code, as shells have it: 127 for a program that isn't there, 126 for one
    /// that can't be executed.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            RankError::Program(ProgramError::NotThere { .. }) => 127,
            RankError::Program(ProgramError::NotExecutable { .. }) => 126,
            RankError::Launch(_)
            | RankError::Task { .. }
            | RankError::Elsewhere { .. }
            | RankError::Secret { .. }
            | RankError::Prelude(_)
            | RankError::Container(_)
            | RankError::Data(_)
            | RankError::System { .. } => 1,
        }
    }
}
