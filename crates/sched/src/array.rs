//! What is known of an array as a whole while any of its elements lives.

use model::{ArrayFacts, JobId};
use std::collections::BTreeSet;

/// An array with live rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) facts: ArrayFacts,
    /// Live rows.
    pub(crate) rows: BTreeSet<JobId>,
    /// Of these, how many run.
    pub(crate) running: u32,
    /// Rows that wait for the throttle alone.
    pub(crate) parked: BTreeSet<JobId>,
}

impl Array {
    pub(crate) fn new(facts: ArrayFacts) -> Array {
        Array {
            facts,
            rows: BTreeSet::new(),
            running: 0,
            parked: BTreeSet::new(),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.facts.throttle.is_some_and(|most| self.running >= most)
    }
}
