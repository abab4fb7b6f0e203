//! Why a call had no answer of its kind.

use crate::{ConnectError, Refusal};
use std::io;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The engine refused; nothing changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The connection broke. Whether the call was carried out is not known.
    #[error("connection to the engine broke: {0}")]
    Lost(#[from] io::Error),
    /// It broke, and no engine could be reached again.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The engine answered something else.
    #[error("engine gave an answer of another kind: {0}")]
    Confused(String),
}

impl CallError {
    /// The refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            CallError::Refused(refusal) => Some(refusal),
            CallError::Lost(_) | CallError::Connect(_) | CallError::Confused(_) => None,
        }
    }
}
