//! The store: tables in one SQLite file, which are the truth of the engine.
//!
//! What a client was answered is on disk (`synchronous = FULL` for its transaction); starts and
//! ends of jobs are in the file but not flushed by themselves: after a crash of the machine the
//! exit files, which carry the boot id, tell what became of them.

mod accounting;
mod batch;
mod committed;
mod contents;
mod ended;
mod hold;
mod job_row;
#[cfg(test)]
mod migration_kill_tests;
#[cfg(test)]
mod migration_tests;
mod migrations;
mod node_search;
mod open;
mod prune;
mod read;
mod rows;
mod sizes;
mod start_row;
mod stock;
mod store_error;
mod wal;
mod write;
#[cfg(test)]
mod write_one;

use crate::owner::Clock;
pub(crate) use batch::{Batch, EndedStart, NewStart, NewSubmission};
use committed::CommittedFile;
pub(crate) use contents::split_environment;
pub(crate) use ended::EndedQuery;
pub(crate) use read::StepRow;
pub(crate) use sizes::FormerSize;
pub(crate) use stock::Loss;
use stock::beside;
pub use store_error::StoreError;

use rusqlite::Connection;
use std::path::PathBuf;

/// An opened store; no other process has it open.
#[derive(Debug)]
pub(crate) struct Store {
    db: Connection,
    path: PathBuf,
    uuid: String,
    /// The mode that the connection is in, so that it is set only where it changes.
    durable: bool,
    /// What the file holds as the next id, once this process has written it.
    next_id: Option<u32>,
    /// The newest version of a row that was ever given out.
    version: u64,
    /// Jobs of lower ids were submitted before records had tags.
    untagged_below: u32,
    boot_id: String,
    /// The clock that the file holds, once this process has written it.
    clock: Option<Clock>,
    committed: CommittedFile,
}

impl Store {
    /// The store's identity.
    pub(crate) fn uuid(&self) -> &str {
        &self.uuid
    }

    fn failed(&self, error: &(dyn std::error::Error + 'static)) -> StoreError {
        if let Some(sqlite) = error.downcast_ref::<rusqlite::Error>()
            && sqlite.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt)
        {
            return self.garbage(error);
        }
        StoreError::Failed {
            path: self.path.clone(),
            what: error.to_string(),
        }
    }

    fn garbage(&self, error: &dyn std::fmt::Display) -> StoreError {
        StoreError::Garbage {
            path: self.path.clone(),
            what: error.to_string(),
        }
    }
}
