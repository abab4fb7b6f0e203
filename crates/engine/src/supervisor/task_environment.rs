//! The environment of one task.

use super::gpu_binding::TaskGpus;
use super::slurm_links;
use crate::spec::{StepSpec, Streams};
use api::StepTask;
use model::job_environment::GPU_VARIABLES;

/// The GPUs of a step on the node.
const STEP_GPUS: &str = "SLURM_STEP_GPUS";

/// What all tasks of the step have: what the job was submitted with, without what the spec
/// removes, with what it sets, and with Slurm's commands to be found.
pub(super) fn of_step(
    mut environment: Vec<(String, String)>,
    spec: &StepSpec,
) -> Vec<(String, String)> {
    environment.retain(|(name, _)| !spec.removed.iter().any(|rule| matches(rule, name)));
    for (name, value) in &spec.variables {
        set(&mut environment, name, value);
    }
    let terminal = matches!(spec.streams, Streams::Srun { pty: true, .. });
    slurm_links::add_to(&mut environment, &spec.binary, terminal);
    environment
}

/// What differs between tasks; `SLURM_TASK_PID` is set by whoever forks.
pub(super) fn of_task(
    step: &[(String, String)],
    task: &StepTask,
    gpus: &TaskGpus,
) -> Vec<(String, String)> {
    let mut environment = step.to_vec();
    set(&mut environment, "SLURM_PROCID", &task.rank.to_string());
    set(&mut environment, "SLURM_LOCALID", &task.local.to_string());
    environment.retain(|(name, _)| name != "SLURM_TASK_PID");
    match gpus {
        TaskGpus::None => {}
        TaskGpus::Unnamed => {
            let named = |name: &str| name == STEP_GPUS || GPU_VARIABLES.contains(&name);
            environment.retain(|(name, _)| !named(name));
        }
        TaskGpus::Named { own, seen } => {
            if environment.iter().any(|(name, _)| name == STEP_GPUS) {
                set(&mut environment, STEP_GPUS, own);
            }
            for name in GPU_VARIABLES {
                set(&mut environment, name, seen);
            }
        }
    }
    environment
}

/// A name, or the beginning of one with `*`.
fn matches(rule: &str, name: &str) -> bool {
    match rule.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => rule == name,
    }
}

/// Sets one, in its place where it is there.
pub(super) fn set(environment: &mut Vec<(String, String)>, name: &str, value: &str) {
    match environment.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => value.clone_into(old),
        None => environment.push((name.to_owned(), value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::test_spec::spec;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        list.iter().map(own).collect()
    }

    #[test]
    fn removed_then_set_then_the_tasks_own() {
        let mut spec = spec();
        spec.removed = vec!["SLURM_MEM_*".to_owned(), "A".to_owned()];
        spec.variables = pairs(&[("SLURM_MEM_PER_CPU", "5"), ("B", "new")]);
        let base = [
            ("A", "1"),
            ("AA", "2"),
            ("B", "old"),
            ("SLURM_MEM_PER_NODE", "9"),
        ];
        let step = of_step(pairs(&base), &spec);
        let mut task = spec.tasks[0].clone();
        task.rank = 3;
        let gpus = TaskGpus::Named {
            own: "1,2".to_owned(),
            seen: "0,1".to_owned(),
        };
        let mut environment = of_task(&step, &task, &gpus);
        environment.retain(|(name, _)| !name.starts_with("BASH_") && name != "PATH");
        let want = [
            ("AA", "2"),
            ("B", "new"),
            ("SLURM_MEM_PER_CPU", "5"),
            ("SLURM_PROCID", "3"),
            ("SLURM_LOCALID", "0"),
            ("CUDA_VISIBLE_DEVICES", "0,1"),
            ("ROCR_VISIBLE_DEVICES", "0,1"),
            ("GPU_DEVICE_ORDINAL", "0,1"),
        ];
        assert_eq!(environment, pairs(&want));
        let with = of_task(&step, &task, &gpus);
        let without = of_task(&with, &task, &TaskGpus::Unnamed);
        assert!(!without.iter().any(|(name, _)| name.ends_with("_DEVICES")));
    }
}
