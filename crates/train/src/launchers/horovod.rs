//! Horovod's Gloo controller, without `horovodrun` and its ssh.

use super::task::{Env, Task, remove, set, set_default};
use super::{Launcher, Meeting, Row, Shape};

/// `launcher = "horovod"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::Horovod,
    word: "horovod",
    doc: "`srun` starts every rank, as `horovodrun --gloo` would; they meet by a key-value store \
          on the first node. No ssh is needed.",
    about: "What `horovodrun --gloo` does, without it and without ssh: the first node's agent serves \
            the key-value store. For Horovod that was built with MPI alone use `mpi`. A batch script's \
            `horovodrun -H HOSTS` runs as it stands. On a virtual cluster its `ssh` starts the ranks of the other \
            nodes through `srun`, each with the GPUs of its node and bound near its own; with `--mpi` they are not \
            bound.",
    shape: Shape::Ranks,
    meeting: Meeting::Store,
    starters: &[&["horovodrun"], &["mpirun"]],
    takes_options: false,
    takes_uneven: true,
    head: None,
    start: rank,
};

/// Whether a command starts ranks of its own by `horovodrun`, also from a line that it gives a shell.
#[must_use]
pub fn starts_horovodrun(command: &[String]) -> bool {
    command.iter().any(|word| word.contains("horovodrun"))
}

/// A rank, with what `horovodrun --gloo` would set. The store at the rendezvous' address is the
/// first node's agent's. `HOROVOD_HOSTNAME` must be one on each node and another on every other.
fn rank(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    let node = task.shape.nodes.get(task.node as usize);
    set(
        env,
        "HOROVOD_HOSTNAME",
        node.map_or("", |node| node.as_str()),
    );
    set(env, "HOROVOD_RANK", task.number);
    set(env, "HOROVOD_SIZE", task.tasks());
    set(env, "HOROVOD_LOCAL_RANK", task.local);
    set(env, "HOROVOD_LOCAL_SIZE", task.per_node());
    // The ranks of its number on other nodes, of which some may have fewer.
    let has_it = |tasks: &&u32| **tasks > task.local;
    let before = task.tasks_of_nodes.iter().take(task.node as usize);
    set(env, "HOROVOD_CROSS_RANK", before.filter(has_it).count());
    let all = task.tasks_of_nodes.iter().filter(has_it);
    set(env, "HOROVOD_CROSS_SIZE", all.count());
    set(env, "HOROVOD_CONTROLLER", "gloo");
    set(env, "HOROVOD_CPU_OPERATIONS", "gloo");
    set(env, "HOROVOD_GLOO_RENDEZVOUS_ADDR", task.meeting.address);
    set(env, "HOROVOD_GLOO_RENDEZVOUS_PORT", task.meeting.port);
    if task.meeting.address == "127.0.0.1" {
        // All nodes are this machine, whose own name may stand for an address that is not there.
        set_default(env, "HOROVOD_GLOO_IFACE", "lo");
    }
    // Horovod would take these for an outer mpirun.
    for name in ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"] {
        remove(env, name);
    }
    command
}
