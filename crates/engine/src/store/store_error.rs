//! Why the store can't be opened or written.

use std::path::PathBuf;

/// Why the store can't be opened or written. Opening changes nothing where it is refused.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A network file system.
    #[error("{folder} lies on a network file system ({kind})")]
    Network {
        /// The engine's folder.
        folder: PathBuf,
        /// Which.
        kind: String,
    },
    /// It was written by a newer version.
    #[error("{path} was written by a newer yard (schema {found}, known up to {known})")]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest known one.
        known: u32,
    },
    /// It is no store, or a damaged one.
    #[error("{path} can't be read as a store: {what}")]
    Garbage {
        /// The store.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file of the engine's cluster was removed: its jobs are for nodes that nothing tells of.
    #[error("{path} is not there, which says what nodes this engine has")]
    NoCluster {
        /// The cluster's file.
        path: PathBuf,
    },
    /// The system or SQLite refused.
    #[error("{path}: {what}")]
    Failed {
        /// The store.
        path: PathBuf,
        /// What was said.
        what: String,
    },
}

impl StoreError {
    /// Whether it may be over in a while, as once a disk has room.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, StoreError::Failed { .. })
    }

    /// What to do about it.
    #[must_use]
    pub fn todo(&self) -> String {
        match self {
            StoreError::Network { .. } => {
                "set TRAINYARD_HOME to a folder on a local disk: locks and the store are not safe \
                 on a network file system"
                    .to_owned()
            }
            StoreError::Newer { .. } => {
                "use the newer yard; nothing was changed in the file".to_owned()
            }
            StoreError::Garbage { path, .. } => {
                let log = super::beside(path, "-wal");
                // Of the damaged store: it must not be taken for the backup's.
                let first = if log.exists() {
                    format!(
                        "move its log away (mv {0} {0}.damaged), then ",
                        log.display()
                    )
                } else {
                    String::new()
                };
                format!(
                    "{first}restore it from a backup, or move it away to begin anew without the \
                     jobs that it knew: mv {0} {0}.damaged",
                    path.display()
                )
            }
            StoreError::NoCluster { .. } => {
                "put it back, from a backup or the file that the engine was started with; its jobs \
                 are still there"
                    .to_owned()
            }
            StoreError::Failed { .. } => {
                "make room or give the rights that are missing, and try again".to_owned()
            }
        }
    }
}
