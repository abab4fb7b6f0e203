//! What a cluster runs around each step.

use serde::{Deserialize, Serialize};

/// Programs of the cluster's that `srun` runs before and after a step, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPrograms {
    /// `SrunProlog`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srun_prolog: Option<String>,
    /// `SrunEpilog`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srun_epilog: Option<String>,
}

impl StepPrograms {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == StepPrograms::default()
    }
}
