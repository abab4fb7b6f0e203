//! What the tasks of an `srun` that asked for its own job don't find: its client sets less than a node
//! sets for a batch script, and inherits nothing of an allocation.

use crate::requests::{Request, StepRequest};
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
/// environment, which is `called_with`.
pub fn drop_what_is_not_inherited(
    variables: &mut Variables,
    called_with: &[(String, String)],
    request: &Request,
    step: &StepRequest,
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
    let says_distribution = step.distribution.is_some() || asks_memory;
    let says = |name: &str| match name {
        "SLURM_CPUS_PER_TASK" => step.cpus_per_task.is_some(),
        "SLURM_NTASKS_PER_NODE" => step.tasks_per_node.is_some(),
        "SLURM_DISTRIBUTION" => says_distribution,
        _ => true,
    };
    variables.retain(|(name, _)| {
        let name = name.as_str();
        let is_left = name == OF_EVERY_ALLOCATION || OF_AN_ALLOCATION.contains(&name);
        !is_left && says(name)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `srun --jobid=N --overlap env` on 22.05.8 in a job of `sbatch -c2 --ntasks-per-node=2`, and with options of its
    /// own.
    #[test]
    fn what_the_job_asked_for_its_tasks_is_not_a_steps_from_outside() {
        let job = [
            "SLURM_CPUS_PER_TASK",
            "SLURM_NTASKS_PER_NODE",
            "SLURM_NTASKS",
        ];
        let left = |called_with: &[(String, String)], step: &StepRequest| {
            let mut variables: Variables =
                job.map(|name| (name.to_owned(), "2".to_owned())).to_vec();
            drop_what_is_not_inherited(&mut variables, called_with, &Request::default(), step);
            let names: Vec<String> = variables.into_iter().map(|(name, _)| name).collect();
            names.join(" ")
        };
        let none = StepRequest::default();
        assert_eq!(left(&[], &none), "SLURM_NTASKS");
        let own = StepRequest {
            cpus_per_task: Some(1),
            ..StepRequest::default()
        };
        assert_eq!(left(&[], &own), "SLURM_CPUS_PER_TASK SLURM_NTASKS");
        let inside = [(OF_EVERY_ALLOCATION.to_owned(), "(null)".to_owned())];
        assert_eq!(left(&inside, &none), job.join(" "));
    }
}
