//! What the ranks' environment is made of.

use crate::Resolved;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Modules and Python of the ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentPlan {
    /// Environment modules, loaded in this order before anything else.
    pub modules: Resolved<Vec<String>>,
    /// Which Python.
    pub python: Resolved<Python>,
}

/// Which Python the ranks get; paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Python {
    /// What the job finds.
    AsItIs,
    /// A virtual environment that exists.
    Venv(PathBuf),
    /// One that is made of this requirements file, once per content, before the job.
    Requirements(PathBuf),
    /// A conda environment by name.
    CondaName(String),
    /// A conda environment by folder.
    CondaFolder(PathBuf),
}

/// One thing to do, in order, before the ranks' command; crate `job` does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prelude {
    /// Lines for a login `bash`, whose resulting environment the ranks get. Stops at the first
    /// that fails.
    Shell {
        /// The lines.
        lines: Vec<String>,
    },
    /// `<path>/bin` first on `PATH`, `VIRTUAL_ENV` set, `PYTHONHOME` removed.
    Venv {
        /// The environment's folder.
        path: PathBuf,
    },
}
