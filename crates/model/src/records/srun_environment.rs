//! What the tasks of an `srun` that asked for its own job don't find: its client sets less than a node
//! sets for a batch script, and inherits nothing of an allocation.

use crate::requests::Request;
use crate::values::{MemoryRequest, Variables};

/// What a node or `salloc` says of an allocation, and `srun` neither reads nor sets.
const OF_AN_ALLOCATION: [&str; 9] = [
    "SLURM_CPUS_PER_GPU",
    "SLURM_GPUS",
    "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0",
    "SLURM_JOB_GROUP",
    "SLURM_MEM_PER_CPU",
    "SLURM_MEM_PER_GPU",
    "SLURM_MEM_PER_NODE",
];

/// What every batch script and every `salloc` has, and no task of an `srun` without them.
const OF_EVERY_ALLOCATION: &str = "SLURM_NODE_ALIASES";

/// Takes out of a step's variables what it has only where its `srun` was called in an allocation's
/// environment, which is `called_with`. `asks_distribution`: `--distribution` was given.
pub fn drop_what_is_not_inherited(
    variables: &mut Variables,
    called_with: &[(String, String)],
    request: &Request,
    asks_distribution: bool,
) {
    let mut called_with = called_with.iter();
    if called_with.any(|(name, _)| name == OF_EVERY_ALLOCATION) {
        return;
    }
    // Where no memory is asked for, how tasks are dealt out is left to the controller.
    let memory = request.memory.as_ref();
    let asks_memory = memory.is_some_and(|memory| match memory {
        MemoryRequest::PerCpu(_) => true,
        MemoryRequest::PerNode(mib) => *mib > 0,
        MemoryRequest::PerGpu(_) => false,
    });
    let says_distribution = asks_distribution || asks_memory;
    variables.retain(|(name, _)| {
        let name = name.as_str();
        let is_left = name == OF_EVERY_ALLOCATION || OF_AN_ALLOCATION.contains(&name);
        !is_left && (says_distribution || name != "SLURM_DISTRIBUTION")
    });
}
