//! Ranks that `srun` starts, and torch's variables.

use super::task::{Env, Task};
use super::{Launcher, Meeting, Row, Shape, torch};

/// `launcher = "srun"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::Srun,
    word: "srun",
    doc: "`srun` starts every rank, with `RANK`, `LOCAL_RANK`, `WORLD_SIZE`, `MASTER_ADDR` and \
          `MASTER_PORT` set, as `init_process_group(\"env://\")` reads them.",
    about: "For programs that call `torch.distributed.init_process_group(\"env://\")`, and for those \
            that read Slurm's own variables.",
    shape: Shape::Ranks,
    meeting: Meeting::Rank,
    starters: &[&["srun"]],
    takes_options: false,
    takes_uneven: true,
    head: None,
    start: rank,
};

/// A rank.
fn rank(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    torch::variables(task, env);
    command
}
