//! DeepSpeed's own launcher, without its ssh and host file.

use super::command::python_target;
use super::task::{Env, Task, set};
use super::torch;
use super::{Launcher, Meeting, Row, Shape};

/// `launcher = "deepspeed"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::Deepspeed,
    word: "deepspeed",
    doc: "`srun` starts every rank as DeepSpeed's own launcher would, with `--local_rank=N` \
          before the script's own arguments. No ssh and no host file are needed.",
    about: "`deepspeed.init_distributed()` finds torch's variables and asks no MPI. `--local_rank` \
            stands before the script's own arguments, where `deepspeed` puts it; a script that does \
            not take it runs with `launcher = \"srun\"`.",
    shape: Shape::Ranks,
    meeting: Meeting::Rank,
    starters: &[&["deepspeed"], &["python", "-m", "deepspeed.launcher"]],
    takes_options: false,
    takes_uneven: false,
    head: None,
    start: rank,
};

/// A rank, as `deepspeed.launcher.launch` starts it: `deepspeed.init_distributed()` needs all of
/// torch's variables, or it would ask MPI; scripts that are written for `deepspeed` take
/// `--local_rank`, and it comes before their own arguments. Another program than Python's gets the
/// variables alone.
fn rank(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
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
