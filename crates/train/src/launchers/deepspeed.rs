//! DeepSpeed's own launcher, without its ssh and host file.

use super::command::python_target;
use super::task::{Env, Task, set};
use super::torch;

/// A rank, as `deepspeed.launcher.launch` starts it: `deepspeed.init_distributed()` needs all of
/// torch's variables, or it would ask MPI; scripts that are written for `deepspeed` take
/// `--local_rank`, and it comes before their own arguments. Another program than Python's gets the
/// variables alone.
pub(super) fn rank(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    torch::variables(task, env);
    set(env, "CROSS_RANK", task.node);
    set(env, "CROSS_SIZE", task.nodes());
    set(env, "LOCAL_SIZE", task.per_node());
    let Some(target) = python_target(&command) else {
        return command;
    };
    let mut argv = command;
    argv.insert(target.end, format!("--local_rank={}", task.local));
    argv
}
