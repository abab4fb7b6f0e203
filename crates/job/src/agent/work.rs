//! What takes long and must not keep the agent from hearing orders: a thread of its own does it,
//! one thing after the other.

use super::copy_out::{CopyOutError, copy_out};
use super::restore::{RestoreError, restore, restore_kept};
use folder::{IncomingPart, RunFolder};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Something to do.
#[derive(Debug)]
pub enum Work {
    /// Copy a held entry into the run folder.
    CopyOut {
        /// The entry's name.
        name: String,
        /// Where it is held.
        from: PathBuf,
        /// The part's folder below the incoming place.
        incoming: String,
    },
    /// Bring a checkpoint to `{resume}`.
    Restore {
        /// Its name.
        name: String,
        /// Where this node keeps it, where it is not taken from the run folder.
        kept: Option<PathBuf>,
    },
}

/// What came of it.
#[derive(Debug)]
pub enum Worked {
    /// Of [`Work::CopyOut`].
    CopiedOut {
        /// The entry's name.
        name: String,
        /// The part's folder below the incoming place.
        incoming: String,
        /// Bytes and milliseconds.
        result: Result<(u64, u64), CopyOutError>,
    },
    /// Of [`Work::Restore`].
    Restored {
        /// The checkpoint's name.
        name: String,
        /// Whether it is there.
        result: Result<(), RestoreError>,
    },
}

/// Does it.
pub fn perform(work: Work, run: &RunFolder, resume: &Path) -> Worked {
    match work {
        Work::CopyOut {
            name,
            from,
            incoming,
        } => {
            let begun = Instant::now();
            let result = copy_out(&from, &IncomingPart::new(run, &incoming));
            let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            Worked::CopiedOut {
                name,
                incoming,
                result: result.map(|bytes| (bytes, took)),
            }
        }
        Work::Restore { name, kept } => {
            let result = match kept {
                Some(kept) => restore_kept(&kept, &name, resume),
                None => restore(run, &name, resume),
            };
            Worked::Restored { name, result }
        }
    }
}
