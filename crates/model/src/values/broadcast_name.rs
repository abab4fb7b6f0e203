//! The file of `srun --bcast` where a folder is named for it.

use crate::values::{JobId, NodeName, StepId};

/// What the copy of a step's program is called on a node, in the folder that it goes to.
#[must_use]
pub fn broadcast_name(job: JobId, step: StepId, node: &NodeName) -> String {
    format!("slurm_bcast_{job}.{step}_{node}")
}
