//! The processes of running steps, as they are on this machine.

use model::{JobId, NodeName, StepHolders, StepId, StepUse, TaskUse};

/// Whether this process is a job's that sees its own processes on its node alone. Supervisors have no number
/// there.
pub fn is_inside() -> bool {
    std::env::var_os(sys::env_vars::TRAINYARD_SUPERVISOR).is_some()
}

/// The tasks of a step on this node, from inside of its job: they have no parent there.
fn tasks_here(job: JobId, step: StepId, node: &NodeName) -> Vec<u32> {
    // The batch step has no number.
    let step = match step {
        StepId::Batch => None,
        StepId::Number(number) => Some(number.to_string()),
    };
    let wanted = [
        ("SLURM_JOB_ID", Some(job.to_string())),
        ("SLURM_STEP_ID", step),
        ("SLURMD_NODENAME", Some(node.to_string())),
    ];
    let is_task = |pid: &u32| {
        sys::process::parent(*pid) == Some(0)
            && wanted
                .iter()
                .all(|(name, value)| sys::process::first_variable(*pid, name) == *value)
    };
    sys::process::all().filter(is_task).collect()
}

/// What the tasks of a step use now. A process that can't be looked at counts for nothing.
pub fn measure(step: StepHolders) -> StepUse {
    let mut measured = Vec::new();
    for (node, (_, holder)) in step.nodes.iter().enumerate() {
        let Some(holder) = holder else { continue };
        let mut tasks = if is_inside() {
            tasks_here(step.job, step.step, &step.nodes[node].0)
        } else {
            sys::process::children(*holder)
        };
        tasks.sort_unstable();
        let uses = sys::process::tree_usage(&tasks);
        for (order, (pid, used)) in (0..).zip(tasks.iter().zip(uses)) {
            if used.processes.is_empty() {
                continue;
            }
            let place = |name| sys::process::first_variable(*pid, name)?.parse().ok();
            measured.push(TaskUse {
                rank: place("SLURM_PROCID").unwrap_or(order),
                local: place("SLURM_LOCALID").unwrap_or(order),
                node,
                pid: *pid,
                processes: used.processes,
                cpu_ms: used.cpu_ms,
                memory: used.memory,
                virtual_memory: used.virtual_memory,
                pages: used.pages,
                read: used.characters_read,
                written: used.characters_written,
            });
        }
    }
    measured.sort_by_key(|task| (task.rank, task.pid));
    let nodes: Vec<NodeName> = step.nodes.into_iter().map(|(node, _)| node).collect();
    StepUse {
        job: step.job,
        step: step.step,
        tasks: step.tasks,
        nodes,
        measured,
    }
}
