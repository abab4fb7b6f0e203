//! What `init_process_group("env://")` reads.

use super::task::{Env, Task, remove, set};

/// Names of the variables by which ranks of `torch.distributed` find each other.
pub const TORCH_VARIABLES: [&str; 7] = [
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
];

/// Sets all of them.
pub(super) fn variables(task: &Task<'_>, env: &mut Env) {
    set(env, "RANK", task.number);
    set(env, "LOCAL_RANK", task.local);
    set(env, "WORLD_SIZE", task.tasks());
    set(env, "LOCAL_WORLD_SIZE", task.per_node());
    set(env, "NODE_RANK", task.node);
    set(env, "MASTER_ADDR", task.meeting.address);
    set(env, "MASTER_PORT", task.meeting.port);
}

/// Removes what an outer launcher may have set: a program would take it for its own.
pub(super) fn clear(env: &mut Env) {
    for name in TORCH_VARIABLES {
        remove(env, name);
    }
}
