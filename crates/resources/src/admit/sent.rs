//! Whether `sbatch` itself would send a job whose numbers are others.

use model::GresTypes;
use model::job_description::JobDescription;
use model::{GpuCount, GresList, Request, gres_check};

/// Whether what `sbatch` checks of tasks, nodes and GPUs together lets a request through.
#[must_use]
pub fn is_sent(request: &Request) -> bool {
    gres_check::check(&mut described(request), GresTypes::Unknown).is_ok()
}

fn described(request: &Request) -> JobDescription {
    let asked = &request.rare.asked;
    JobDescription {
        tasks: request.tasks,
        min_nodes: request.min_nodes,
        max_nodes: request.max_nodes,
        // Those that follow from GPUs were not asked for.
        cpus_per_task: request
            .cpus_per_task
            .filter(|_| request.rare.cpus_per_gpu.is_none()),
        tasks_per_node: request.tasks_per_node,
        tasks_per_gpu: asked.tasks_of_each,
        memory: request.memory,
        gres_per_job: list(&request.gpus, &asked.per_job),
        gres_per_node: list(&request.gpus_per_node, &asked.per_node),
        gres_per_socket: asked.per_socket.clone(),
        gres_per_task: list(&request.rare.gpus_per_task, &asked.per_task),
        cpus_per_gpu: request.rare.cpus_per_gpu,
        ..JobDescription::default()
    }
}

/// GPUs in the words in which they were asked for, where those still ask for so many.
fn list(gpus: &Option<GpuCount>, asked: &GresList) -> GresList {
    match gpus {
        Some(gpus) if asked.gpus().as_ref() != Some(gpus) => GresList::of_gpus(&gpus.to_string()),
        _ => asked.clone(),
    }
}
