//! Lightning's Slurm mode.

use super::task::{Env, Task, set};
use super::torch;

/// A rank. The Slurm mode stops without these, and looks for nodes by the older name.
pub(super) fn rank(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    torch::variables(task, env);
    set(env, "SLURM_NTASKS_PER_NODE", task.per_node());
    set(env, "SLURM_NODELIST", task.node_list());
    command
}
