//! What is known of an array as a whole while any of its elements lives.

use model::{ArraySpec, JobId};
use std::collections::BTreeSet;

/// An array's elements as they were submitted: `SLURM_ARRAY_TASK_MIN`, `_MAX`, `_STEP`, `_COUNT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayFacts {
    /// Lowest index.
    pub min: u32,
    /// Highest index.
    pub max: u32,
    /// Distance of its first two indices; 1 for a single one.
    pub step: u32,
    /// How many.
    pub count: u32,
    /// `%N`
    pub throttle: Option<u32>,
}

impl ArrayFacts {
    /// Reads them off the request's elements.
    #[must_use]
    pub fn of(spec: &ArraySpec) -> ArrayFacts {
        let first = spec.indices.first().copied().unwrap_or_default();
        let step = spec.indices.get(1).map_or(1, |second| second - first);
        ArrayFacts {
            min: first,
            max: spec.indices.last().copied().unwrap_or_default(),
            step,
            count: u32::try_from(spec.indices.len()).unwrap_or(u32::MAX),
            throttle: spec.throttle.filter(|most| *most > 0),
        }
    }
}

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
