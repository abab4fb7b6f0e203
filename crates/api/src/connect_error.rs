//! Why no engine could be talked to.

use std::io;
use std::path::PathBuf;

/// Why [`crate::Client::connect`] gave no client. Shown as three parts: what was asked, what there
/// is, what to do ([`ConnectError::todo`]).
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its folder can't be made or used.
    #[error("engine folder {folder} can't be used: {source}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No engine answers and this program's own file can't be started as one.
    #[error("engine can't be started from {program}: {source}")]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The engine that was started gave up, in its own words.
    #[error("{asked}: {there}")]
    Failed {
        /// What was asked.
        asked: String,
        /// What there is.
        there: String,
        /// What to do.
        todo: String,
        /// It may be over in a while: a disk that has no room gets some.
        may_pass: bool,
    },
    /// The engine that was started ended without giving a reason.
    #[error("engine started for {folder} ended at once: {last}")]
    Died {
        /// The folder.
        folder: PathBuf,
        /// Last line of its log.
        last: String,
    },
    /// Its lock is held, but it does not answer.
    #[error("engine in {folder} does not answer: {last}")]
    Silent {
        /// The folder.
        folder: PathBuf,
        /// The last attempt's error.
        last: String,
    },
    /// The engine is newer and speaks another protocol.
    #[error(
        "this yard ({ours}, protocol {}) can't talk to the running engine: it is newer ({theirs}, protocol \
         {protocol})",
        crate::PROTOCOL
    )]
    Newer {
        /// This program's version.
        ours: String,
        /// The engine's version.
        theirs: String,
        /// The engine's protocol.
        protocol: u32,
        /// The engine's program, where this user may execute it.
        program: Option<PathBuf>,
    },
    /// The engine is older, speaks another protocol and belongs to another user.
    #[error(
        "this yard ({ours}, protocol {}) can't talk to the running engine: it is older ({theirs}, protocol \
         {protocol}), and belongs to user {owner}",
        crate::PROTOCOL
    )]
    Foreign {
        /// This program's version.
        ours: String,
        /// The engine's version.
        theirs: String,
        /// The engine's protocol.
        protocol: u32,
        /// Whose engine it is.
        owner: u32,
    },
}

impl ConnectError {
    /// Whether an engine may be reached in a while.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, ConnectError::Failed { may_pass: true, .. })
    }

    /// What to do about it.
    #[must_use]
    pub fn todo(&self) -> String {
        match self {
            ConnectError::Folder { .. } => {
                "set TRAINYARD_HOME to a folder on a local disk that you may write".to_owned()
            }
            ConnectError::Spawn { .. } => "install yard where it can be executed".to_owned(),
            ConnectError::Failed { todo, .. } => todo.clone(),
            ConnectError::Died { folder, .. } | ConnectError::Silent { folder, .. } => format!(
                "see {}, end that process, and try again",
                folder.join("engine.log").display()
            ),
            ConnectError::Foreign { protocol, .. } => format!(
                "use a yard of protocol {protocol}, or unset TRAINYARD_HOME to use an engine of your own"
            ),
            ConnectError::Newer {
                program: Some(program),
                ..
            } => {
                let program = program.display();
                format!("use {program}, or end that engine: {program} engine stop")
            }
            ConnectError::Newer { protocol, .. } => format!(
                "use a yard of protocol {protocol}, or end that engine with its own `yard engine stop`"
            ),
        }
    }
}
