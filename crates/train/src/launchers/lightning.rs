//! Lightning's Slurm mode.

use super::task::{Env, Task, set};
use super::torch;
use super::{Launcher, Meeting, Row, Shape};

/// `launcher = "lightning"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::Lightning,
    word: "lightning",
    doc: "`srun` starts every rank, as Lightning's Slurm mode expects; give its `Trainer` the \
          same numbers of nodes and devices.",
    about: "`Trainer(num_nodes=…, devices=…)` must say what the run file says: `YARD_NODES` and \
            `YARD_GPUS_PER_NODE` have it. The run comes back by itself; Lightning's own requeue, \
            at SIGUSR1, never comes to it: `[resume] notify = \"SIGUSR1\"` is refused.",
    shape: Shape::Ranks,
    meeting: Meeting::Rank,
    starters: &[&["srun"]],
    takes_options: false,
    takes_uneven: false,
    head: None,
    start: rank,
};

/// A rank. The Slurm mode stops without these, and looks for nodes by the older name.
fn rank(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    torch::variables(task, env);
    set(env, "SLURM_NTASKS_PER_NODE", task.per_node());
    set(env, "SLURM_NODELIST", task.node_list());
    command
}
