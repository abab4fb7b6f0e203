//! torchrun on each node.

use super::command::{python_of, target_of};
use super::task::{Env, Task, remove, set, set_default};
use super::torch;
use super::{Launcher, Meeting, Row, Shape};

/// `launcher = "torchrun"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::Torchrun,
    word: "torchrun",
    doc: "`torchrun` on each node, which starts the node's ranks. They meet at an address of the \
          first node.",
    about: "`launcher_options = [\"--max_restarts=3\"]` restarts all ranks within the job when one \
            fails. The agents meet by `c10d`, and each knows whether it hosts the store, so none \
            has to guess it by names. `PET_…` variables of the shell that would change the launch are \
            removed. With `PET_TEE=3` each line in its log is marked, and `yard logs` shows it as its rank's (of several nodes since torch 2.2). Torch 1.13 on Python 3.11 starts only with `PET_REDIRECTS=9:3 PET_TEE=9:3`.",
    shape: Shape::Agents,
    meeting: Meeting::Rank,
    starters: &[
        &["torchrun"],
        &["python", "-m", "torch.distributed.run"],
        &["python", "-m", "torch.distributed.launch"],
    ],
    takes_options: true,
    takes_uneven: true,
    head: None,
    start: agent,
};

/// Every option of torchrun also comes from `PET_…`, and a person's shell may hold some. Those that
/// say where output goes (`PET_LOG_DIR`, `PET_REDIRECTS`, `PET_TEE`) change no launch and stay: torch
/// 1.13 on Python 3.11 starts only with the last two set.
const OPTIONS: [&str; 20] = [
    "NNODES",
    "NPROC_PER_NODE",
    "RDZV_BACKEND",
    "RDZV_ENDPOINT",
    "RDZV_ID",
    "RDZV_CONF",
    "STANDALONE",
    "MAX_RESTARTS",
    "MONITOR_INTERVAL",
    "START_METHOD",
    "ROLE",
    "MODULE",
    "NO_PYTHON",
    "RUN_PATH",
    "NODE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "LOGS_SPECS",
    "VIRTUAL_LOCAL_RANK",
    "SHUTDOWN_TIMEOUT",
];

/// How it marks the lines of its ranks where it writes them into its own output: also by their rank in the whole
/// training, by which `yard logs` tells them apart.
const LINE_MARK: &str = "[${role_name}${local_rank}:${rank}]:";

/// torchrun, whose agents meet at the first node's address. Each knows from us whether it hosts the store:
/// they would guess by names and addresses, and all be wrong where the address is of another
/// interface. A restart of all ranks (`--max_restarts`) needs this way to meet; with a static one
/// the other nodes would never hear of it. Options are written with underscores, which every version
/// takes.
fn agent(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    for option in OPTIONS {
        remove(env, &format!("PET_{option}"));
    }
    torch::clear(env);
    if let Some(own) = task.shape.addresses.get(task.node as usize) {
        // The ranks would be given the first node's name, which not every node can resolve. As a
        // variable, since torch before 2.0 has no such option.
        set(env, "PET_LOCAL_ADDR", own);
    }
    set_default(env, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", LINE_MARK);
    let mut argv = program(&command);
    let options = [
        ("nnodes", task.nodes().to_string()),
        ("nproc_per_node", task.ranks().to_string()),
        ("rdzv_backend", "c10d".to_owned()),
        ("rdzv_endpoint", task.endpoint()),
        ("rdzv_id", task.meeting.id.to_owned()),
        (
            "rdzv_conf",
            format!("is_host={}", u32::from(task.node == 0)),
        ),
    ];
    argv.extend(options.map(|(name, value)| format!("--{name}={value}")));
    argv.extend(task.plan.launcher_options.value.iter().cloned());
    argv.extend(target_of(command));
    argv
}

/// torchrun by the interpreter that the command names: the one on `PATH` may be another.
fn program(command: &[String]) -> Vec<String> {
    match python_of(command) {
        Some(python) => [python, "-m", "torch.distributed.run"]
            .map(str::to_owned)
            .to_vec(),
        None => vec!["torchrun".to_owned()],
    }
}
