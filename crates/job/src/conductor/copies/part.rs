//! What a node gives of a checkpoint, and how many nodes do.

use folder::{Attempt, Parts};
use model::Timestamp;

/// An agent's part of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its folder below the run folder's incoming place.
    pub incoming: String,
    /// Its size.
    pub bytes: u64,
    /// How long its copy took, in milliseconds.
    pub took_ms: u64,
    /// Whether its completeness was seen.
    pub proven: bool,
    /// The node that gave it.
    pub node: String,
    /// The start that wrote it, where that is known.
    pub start: Option<Attempt>,
    /// When the program wrote it, where that is known.
    pub written: Option<Timestamp>,
}

/// How many nodes have a part of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartsAsked {
    /// As many as others of its series were put together from.
    pub least: usize,
    /// So many disks the job's nodes have.
    pub of: usize,
    /// Whether no other of its series has told yet how many there are.
    pub unconfirmed: bool,
}

impl PartsAsked {
    /// What a checkpoint of these nodes' parts has, and lacks.
    #[must_use]
    pub fn parts_of(self, nodes: Vec<String>) -> Parts {
        Parts {
            of: self.of,
            lacks: self.least.saturating_sub(nodes.len()),
            passed_over: false,
            unconfirmed: self.unconfirmed && nodes.len() < self.of,
            start: None,
            nodes,
        }
    }
}
