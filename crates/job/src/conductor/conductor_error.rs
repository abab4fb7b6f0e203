//! Why a conductor could not begin or go on.

use super::AllocationError;
use folder::FolderError;
use std::io;
use thiserror::Error;
use train::UnknownPlaceholder;

/// Why a conductor could not begin or go on.
#[derive(Debug, Error)]
pub enum ConductorError {
    /// `run.json` can't be read.
    #[error(transparent)]
    RunJson(#[from] FolderError),
    /// Not inside a job.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A placeholder of a plan that this version doesn't know.
    #[error(transparent)]
    Placeholder(#[from] UnknownPlaceholder),
    /// The run folder can't be used.
    #[error(
        "{what} failed in the run folder {folder:?}; see that it can be written from the nodes and that the quota is not used up"
    )]
    Folder {
        /// What.
        what: &'static str,
        /// The run folder.
        folder: std::path::PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A step can't be started.
    #[error("{what} can't be started; a job's script needs it on PATH")]
    Start {
        /// The program.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}
