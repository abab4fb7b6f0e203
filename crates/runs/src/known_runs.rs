//! Where this user's things lie, and the runs that the index names.

use crate::failure::{Failure, FailureKind};
use folder::{Index, IndexEntry};
use std::io;
use sys::Places;

/// The folders of this user.
pub fn places() -> Result<Places, Failure> {
    Places::from_env().map_err(|error| {
        Failure::new(FailureKind::Io, error.to_string())
            .todo("set TRAINYARD_HOME to a folder on a local disk that you may write")
    })
}

/// All runs of this user, as the index names them.
pub fn indexed_runs(places: &Places) -> Result<Vec<IndexEntry>, Failure> {
    let index = Index::new(&places.index);
    index
        .all()
        .map_err(|error| unreadable_index(places, &error))
}

/// The index of runs can't be read.
pub fn unreadable_index(places: &Places, error: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Io,
        format!("the index of runs can't be read: {error}"),
    )
    .asked(places.index.display().to_string())
}
