//! What can be wrong with a run folder.

use std::io;
use std::path::PathBuf;

/// What can be wrong with a run folder; the text says what was tried, what there is, what to do.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A folder could not be made.
    #[error(
        "the run folder {} can't be made ({source}): make {} writable, or set TRAINYARD_HOME",
        path.display(),
        scratch.display()
    )]
    Make {
        /// The folder.
        path: PathBuf,
        /// Where run folders lie.
        scratch: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is a run of that id already.
    #[error("there is a run folder {} already: start the run again", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A file could not be written.
    #[error("{} can't be written ({source}): make room, or the folder writable", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("{} can't be read ({source}): is it a run folder, and yours to read?", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} is not what a run of this version writes ({source})", path.display())]
    Garbled {
        /// The file.
        path: PathBuf,
        /// Where it stops making sense.
        source: serde_json::Error,
    },
}

/// For those whose other failures are the system's own: the kind stays what it was.
impl From<FolderError> for io::Error {
    fn from(error: FolderError) -> io::Error {
        let kind = match &error {
            FolderError::Make { source, .. }
            | FolderError::Write { source, .. }
            | FolderError::Read { source, .. } => source.kind(),
            FolderError::Exists { .. } => io::ErrorKind::AlreadyExists,
            FolderError::Garbled { .. } => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
