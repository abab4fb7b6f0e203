//! What each task of a step knows of its GPUs.

use super::step_groups::StepGroups;
use crate::spec::StepSpec;
use api::StepTask;
use model::{BoundGpus, GpuBind, GpuIndex, StepGpus};

/// The GPUs that a task's variables name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskGpus {
    /// The step has none.
    None,
    /// No variable names any: the task sees what it can open.
    Unnamed,
    /// These, as lists.
    Named {
        /// By the node's numbers.
        own: String,
        /// As the driver counts them for the task.
        seen: String,
    },
}

/// What a task knows, and lines for the user: as errors, then as they stand.
pub(super) struct Binding {
    pub(super) gpus: TaskGpus,
    pub(super) errors: Vec<String>,
    pub(super) report: Option<String>,
}

/// Binds a task to GPUs of the step, as was asked.
pub(super) fn of_task(spec: &StepSpec, task: &StepTask, groups: &StepGroups) -> Binding {
    let own = &task.gpus;
    if own.is_empty() {
        return Binding {
            gpus: TaskGpus::None,
            errors: Vec::new(),
            report: None,
        };
    }
    let closed = groups.closes_others();
    // As in Slurm a task that is alone on its node is not bound.
    let bind = spec.gpu_bind.as_ref().filter(|_| spec.tasks.len() > 1);
    let most = own.iter().max().map_or(0, |most| most + 1);
    let all = StepGpus {
        own,
        of_node: spec.node_gpus.max(most),
        are_counted_anew: closed,
    };
    let BoundGpus { gpus, errors } = match bind {
        Some(bind) => bind.gpus_of(task.local, all),
        None => BoundGpus {
            gpus: Some(own.clone()),
            errors: Vec::new(),
        },
    };
    // GPUs of others that are not closed to the task are kept from it by the list alone.
    let others_are_open = !closed && !spec.gpu_locks.is_empty();
    let Some(gpus) = gpus.or_else(|| others_are_open.then(|| own.clone())) else {
        return Binding {
            gpus: TaskGpus::Unnamed,
            errors,
            report: None,
        };
    };
    let seen: Vec<GpuIndex> = gpus.iter().map(|gpu| groups.seen(*gpu)).collect();
    let verbose = bind.is_some_and(|bind| bind.verbose);
    Binding {
        report: verbose.then(|| GpuBind::report(&gpus, own, &seen)),
        gpus: TaskGpus::Named {
            own: list(&gpus),
            seen: list(&seen),
        },
        errors,
    }
}

fn list(gpus: &[GpuIndex]) -> String {
    let gpus: Vec<String> = gpus.iter().map(GpuIndex::to_string).collect();
    gpus.join(",")
}
