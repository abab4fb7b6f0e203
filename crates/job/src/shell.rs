//! A shell with what a run's ranks have: data, environment, container, variables and secrets.

use crate::local_folder::{LocalFolder, LocalFolderError, Owned};
use crate::stage::{self, StageError};
use folder::{Attempt, Event, LaunchFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;
use train::DataPlan;

/// Below a user's scratch folder: the folders of shells, each there for as long as its shell is.
#[must_use]
pub fn folder_in(scratch: &Path) -> PathBuf {
    scratch.join(".yard/shells")
}

/// What a shell's folder has its [`ShellFile`] in, until the node has read it.
pub const FILE: &str = "shell.json";

/// The lock of a shell's folder, which all share who need that: what no process holds is a killed shell's.
#[must_use]
pub fn lock_of(folder: &Path) -> PathBuf {
    folder.join("lock")
}

/// What a shell is started with: a launch of one rank, which is the shell.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShellFile {
    /// The shell in the place of a rank.
    pub launch: LaunchFile,
    /// Secret variables with their values.
    pub secrets: BTreeMap<String, String>,
    /// What is staged before; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<ShellData>,
}

/// What is staged for a shell, and where.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShellData {
    /// The sources.
    pub plan: DataPlan,
    /// Where nodes have a disk of their own.
    pub node_local: PathBuf,
    /// A name that no other shell and no run has.
    pub name: String,
    /// The folder that the launch names, which the node must have under the same path.
    pub folder: PathBuf,
}

/// Why a shell's data is not there.
#[derive(Debug, Error)]
pub enum ShellDataError {
    /// The node's disk can't be used.
    #[error(transparent)]
    Folder(#[from] LocalFolderError),
    /// Another user has the name of our folder, on one of the two machines.
    #[error(
        "the data of the shell is to be in {asked:?}, and this node has {there:?} for it, since another user took the name; remove what has it, or choose another node_local folder"
    )]
    Elsewhere {
        /// What the launch names.
        asked: PathBuf,
        /// What this node has.
        there: PathBuf,
    },
    /// It can't be brought.
    #[error(transparent)]
    Stage(#[from] StageError),
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

impl ShellData {
    /// Of a shell with a name of its own. Nothing is made.
    #[must_use]
    pub fn new(plan: DataPlan, node_local: PathBuf, name: String) -> ShellData {
        let folder = local(&node_local, &name).path();
        ShellData {
            plan,
            node_local,
            name,
            folder,
        }
    }

    /// Stages it on this node, and says so on stderr.
    pub(crate) fn bring(&self) -> Result<Brought, ShellDataError> {
        let local = local(&self.node_local, &self.name);
        if local.path() != self.folder {
            return Err(ShellDataError::Elsewhere {
                asked: self.folder.clone(),
                there: local.path(),
            });
        }
        let owned = local.make()?;
        // From here on it is removed, whatever fails.
        let brought = Brought {
            local,
            _owned: owned,
        };
        // A run has it in its own folder, which a shell has none of.
        let scratch = self.folder.join("scratch");
        fs::create_dir_all(&scratch).map_err(|source| LocalFolderError::System {
            path: scratch,
            source,
        })?;
        stage::run(&self.plan, &brought.local, None, &mut say)?;
        Ok(brought)
    }
}

/// Data that is on this node for as long as this lives.
pub(crate) struct Brought {
    local: LocalFolder,
    _owned: Owned,
}

impl Drop for Brought {
    fn drop(&mut self) {
        // What stays is removed by the user's next job here.
        let _ = self.local.remove();
    }
}

/// As a run's node-local folder: what a killed shell leaves there is found by the user's next job.
fn local(node_local: &Path, name: &str) -> LocalFolder {
    let only = Attempt { job: 0, restart: 0 };
    LocalFolder::new(node_local, &format!("shell-{name}"), only)
}

fn say(event: Event) {
    let line = match event {
        Event::Staging { what, done: 0, .. } => format!("stage in     {what}"),
        Event::Staged { bytes, took_ms, .. } => {
            let took = model::say_length(i64::try_from(took_ms).unwrap_or(i64::MAX));
            format!("stage in     {} in {took}", train::say_bytes(bytes))
        }
        _ => return,
    };
    // A terminal that is gone ends the shell by itself.
    let _ = writeln!(io::stderr(), "  {line}");
}
