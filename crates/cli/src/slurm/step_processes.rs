//! The processes of running steps, as they are on this machine.

use model::{NodeName, StepHolders, StepUse, TaskUse};

/// What the tasks of a step use now. A process that can't be looked at counts for nothing.
pub fn measure(step: StepHolders) -> StepUse {
    let mut measured = Vec::new();
    for (node, (_, holder)) in step.nodes.iter().enumerate() {
        let Some(holder) = holder else { continue };
        let mut tasks = sys::process::children(*holder);
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
