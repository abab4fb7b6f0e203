use crate::values::ArraySpec;

/// What the elements of an array know of the whole: `SLURM_ARRAY_TASK_COUNT`, `_MIN`, `_MAX`
/// and `_STEP`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayFacts {
    /// How many.
    pub count: usize,
    /// Lowest index.
    pub min: u32,
    /// Highest index.
    pub max: u32,
    /// The step that was written; 1 where none was, whatever the distances are.
    pub step: u32,
    /// `%N`
    pub throttle: Option<u32>,
}

impl ArrayFacts {
    /// Reads them off an array as it was submitted.
    #[must_use]
    pub fn of(spec: &ArraySpec) -> ArrayFacts {
        ArrayFacts {
            count: spec.indices.len(),
            min: spec.indices.first().copied().unwrap_or_default(),
            max: spec.indices.last().copied().unwrap_or_default(),
            step: spec.step,
            throttle: spec.throttle.filter(|most| *most > 0),
        }
    }
}
