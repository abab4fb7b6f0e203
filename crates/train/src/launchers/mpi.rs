//! Open MPI's `mpirun` on the first node.

use super::task::{Env, Task, remove, set, set_default};
use super::torch;
use super::{Launcher, Meeting, Row, Shape};

/// `launcher = "mpi"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::Mpi,
    word: "mpi",
    doc: "Open MPI's `mpirun` on the first node, which starts the ranks of all nodes through \
          `srun`; also for Horovod over MPI.",
    about: "`mpirun` comes from the run's environment and is Open MPI's. It runs in a task on the \
            first node and starts its daemons through `srun`; ranks stand node by node and write into \
            their own logs. They find torch's variables too. As root `OMPI_ALLOW_RUN_AS_ROOT` is set.",
    shape: Shape::Head,
    meeting: Meeting::Rank,
    starters: &[&["mpirun"], &["mpiexec"], &["horovodrun"]],
    takes_options: true,
    takes_uneven: false,
    head: Some(head),
    start: rank,
};

/// A rank: MPI finds the others by itself; torch and Horovod programs get their variables too.
fn rank(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    torch::variables(task, env);
    command
}

/// What runs on the first node; the words that start a rank follow. mpirun starts its daemons with
/// `srun`, and looks at Slurm's variables of the job, of which the step that it runs in has its own
/// values.
fn head(task: &Task<'_>, env: &mut Env) -> Vec<String> {
    let ranks = task.plan.ranks_per_node.value;
    set(env, "SLURM_NODELIST", task.node_list());
    set(env, "SLURM_JOB_NODELIST", task.node_list());
    set(env, "SLURM_NNODES", task.nodes());
    set(env, "SLURM_JOB_NUM_NODES", task.nodes());
    set(env, "SLURM_NTASKS", task.plan.world_size());
    set(
        env,
        "SLURM_TASKS_PER_NODE",
        format!("{ranks}(x{})", task.nodes()),
    );
    // For mpirun's own srun: beside the agents and this step, with all of a node's CPUs and GPUs.
    let cpus = task.plan.cpus_per_rank.value * ranks;
    set(env, "SLURM_OVERLAP", 1);
    set(env, "SLURM_CPUS_PER_TASK", cpus);
    set(env, "SRUN_CPUS_PER_TASK", cpus);
    set(env, "SLURM_GPU_BIND", "none");
    for name in ["SLURM_NTASKS_PER_NODE", "SLURM_NPROCS", "SLURM_MPI_TYPE"] {
        remove(env, name);
    }
    // It refuses root otherwise, who is the ordinary user of a container.
    set_default(env, "OMPI_ALLOW_RUN_AS_ROOT", 1);
    set_default(env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", 1);
    let mut argv = ["mpirun", "-np"].map(str::to_owned).to_vec();
    argv.push(task.plan.world_size().to_string());
    // Rank by rank a node, as the variables of the ranks say; binding is left to the ranks' own
    // threads, which see the CPUs of all.
    argv.extend(["--map-by", "slot", "--bind-to", "none"].map(str::to_owned));
    argv.extend(task.plan.launcher_options.value.iter().cloned());
    argv
}
