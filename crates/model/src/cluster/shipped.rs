//! The cluster files that come with the program.

use super::{ClusterFile, ClusterProblem};

/// Their names and texts.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    &[]
}

/// Finds a shipped cluster file by name, upper and lower case being one.
#[must_use]
pub fn find(name: &str) -> Option<Result<ClusterFile, Vec<ClusterProblem>>> {
    let (name, text) = shipped()
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(ClusterFile::parse(name, text))
}
