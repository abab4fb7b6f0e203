//! A shell with what a run's ranks have: environment, container, variables and secrets.

use folder::LaunchFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What a shell is started with: a launch of one rank, which is the shell.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShellFile {
    /// The shell in the place of a rank.
    pub launch: LaunchFile,
    /// Secret variables with their values.
    pub secrets: BTreeMap<String, String>,
}

impl ShellFile {
    /// Writes it, for the user alone.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        sys::atomic::write_private(path, &bytes)
    }

    /// Reads it and removes it: what is secret stays nowhere.
    pub(crate) fn take(path: &Path) -> io::Result<ShellFile> {
        let bytes = std::fs::read(path)?;
        let file = serde_json::from_slice(&bytes)?;
        std::fs::remove_file(path)?;
        Ok(file)
    }
}
