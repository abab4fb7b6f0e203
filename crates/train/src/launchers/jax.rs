//! What a plain `jax.distributed.initialize()` reads.

use super::task::{Env, Task, remove, set, set_default};
use super::{Launcher, Meeting, Row, Shape};

/// `launcher = "jax"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::Jax,
    word: "jax",
    doc: "`srun` starts every rank, with what a plain `jax.distributed.initialize()` reads.",
    about: "A rank with several GPUs gets its share in `JAX_LOCAL_DEVICE_IDS`. JAX's own reading of \
            node lists is not used, as it is wrong for names with two brackets.",
    shape: Shape::Ranks,
    meeting: Meeting::Rank,
    starters: &[&["srun"]],
    takes_options: false,
    takes_uneven: true,
    head: None,
    start: rank,
};

/// A rank. The address is always given: JAX's own reading of node lists is wrong for names with two
/// brackets, and virtual nodes have no names that resolve.
fn rank(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    set(env, "JAX_COORDINATOR_ADDRESS", task.endpoint());
    set(env, "JAX_COORDINATOR_PORT", task.meeting.port);
    set(env, "SLURM_JOB_ID", task.shape.job);
    set(env, "SLURM_NTASKS", task.tasks());
    set(env, "SLURM_PROCID", task.number);
    set(env, "SLURM_LOCALID", task.local);
    // Only its presence counts, beside the address above.
    set_default(env, "SLURM_STEP_NODELIST", task.node_list());
    // JAX asks for Open MPI before Slurm; a job that was submitted from inside mpirun has this.
    remove(env, "OMPI_MCA_orte_hnp_uri");
    let (gpus, ranks) = (task.gpus(), task.per_node());
    if gpus > ranks {
        // Without it each rank would take the one GPU that has its local number.
        let share = gpus / ranks;
        let own = (task.local * share..(task.local + 1) * share).map(|gpu| gpu.to_string());
        let own: Vec<String> = own.collect();
        set(env, "JAX_LOCAL_DEVICE_IDS", own.join(","));
    } else if gpus > 0 && gpus < ranks {
        set(env, "JAX_LOCAL_DEVICE_IDS", task.local % gpus);
    }
    command
}
