//! What a step has of its job: which of its nodes and GPUs, and how many by what the job asked for.

use model::{Allocation, GpuCount, Request, StepRequest};
use std::borrow::Cow;

/// The request without more nodes than its job has left, where it only hands on how many the job began with.
pub(super) fn on_nodes_left<'a>(
    request: &'a StepRequest,
    allocation: &Allocation,
) -> Cow<'a, StepRequest> {
    let left = u32::try_from(allocation.nodes.len()).unwrap_or(u32::MAX);
    let asks_more = request.min_nodes.is_some_and(|least| least > left);
    if !(request.nodes_inherited && asks_more) {
        return Cow::Borrowed(request);
    }
    Cow::Owned(StepRequest {
        min_nodes: Some(left),
        max_nodes: Some(left),
        ..request.clone()
    })
}

/// What the steps of a job may have: GPUs that it holds with its nodes alone, and did not ask for, are
/// none of theirs.
pub(super) fn for_steps<'a>(request: &Request, allocation: &'a Allocation) -> Cow<'a, Allocation> {
    let asked = request.gpus.is_some()
        || request.gpus_per_node.is_some()
        || request.rare.gpus_per_task.is_some()
        || !request.rare.asked.is_empty();
    if asked || allocation.gpus() == 0 {
        return Cow::Borrowed(allocation);
    }
    let mut without = allocation.clone();
    for share in &mut without.nodes {
        share.gpus.clear();
    }
    Cow::Owned(without)
}

/// A step that counts its tasks by GPUs and asks for none has as many on each node as its job asked for
/// there; where that counts by them too, its tasks say how many.
pub(super) fn with_gpus_of_job<'a>(
    step: &'a StepRequest,
    job: &Request,
    allocation: &Allocation,
) -> Cow<'a, StepRequest> {
    let asked = job.gpus.is_some() && job.rare.asked.tasks_of_each.is_none()
        || job.gpus_per_node.is_some()
        || !job.rare.asked.per_job.is_empty()
        || !job.rare.asked.per_node.is_empty();
    let by_step = step.gpus_per_node.is_some() || step.gpus_per_task.is_some();
    if step.tasks_per_gpu.is_none() || by_step || !asked {
        return Cow::Borrowed(step);
    }
    let least = allocation.nodes.iter().map(|share| share.gpus.len()).min();
    let count = least.and_then(|least| u32::try_from(least).ok());
    Cow::Owned(StepRequest {
        gpus_per_node: count.map(|count| GpuCount { kind: None, count }),
        ..step.clone()
    })
}
