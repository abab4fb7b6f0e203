//! Programs that a step names to be run around it and around its tasks.

/// `--prolog`, `--epilog`, `--task-prolog` and `--task-epilog` of `srun`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepPrograms {
    /// `--prolog`: `srun` runs it before the tasks start; `none` is none, also where the cluster has one.
    pub prolog: Option<String>,
    /// `--epilog`: `srun` runs it after the tasks' ends; `none` as above.
    pub epilog: Option<String>,
    /// `--task-prolog`: each task's process runs it first.
    pub task_prolog: Option<String>,
    /// `--task-epilog`: runs after each task.
    pub task_epilog: Option<String>,
}
