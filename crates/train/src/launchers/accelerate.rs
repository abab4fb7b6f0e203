//! Accelerate's own launcher on each node.

use super::command::{python_of, target_of};
use super::task::{Env, Task, set_default};
use super::torch;
use super::{Launcher, Meeting, Row, Shape};

/// `launcher = "accelerate"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::Accelerate,
    word: "accelerate",
    doc: "`accelerate launch` on each node, which starts the node's ranks.",
    about: "What differs between nodes is always given. `launcher_options = \
            [\"--config_file=fsdp.yaml\"]`, `--use_fsdp` or `--use_deepspeed` say what kind of \
            training it is, in place of `--multi_gpu` without mixed precision. Without GPUs the ranks \
            use Gloo.",
    shape: Shape::Agents,
    meeting: Meeting::Rank,
    starters: &[
        &["accelerate"],
        &["python", "-m", "accelerate.commands.launch"],
    ],
    takes_options: true,
    takes_uneven: false,
    head: None,
    start: agent,
};

/// Options by which the user says what kind of training it is; beside `--multi_gpu` they are refused,
/// or a configuration file's kind is passed over.
const KINDS: [&str; 5] = ["--config_file", "--use_", "--multi_gpu", "--cpu", "--tpu"];

/// `accelerate launch`, which counts processes over all nodes. What differs between nodes is always
/// said, since a configuration file has one node's. Options of the user come last, so that they hold.
fn agent(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    torch::clear(env);
    let own = &task.plan.launcher_options.value;
    let mut argv = match python_of(&command) {
        Some(python) => [python, "-m", "accelerate.commands.launch"]
            .map(str::to_owned)
            .to_vec(),
        None => vec!["accelerate".to_owned(), "launch".to_owned()],
    };
    let says_kind = own
        .iter()
        .any(|option| KINDS.iter().any(|kind| option.starts_with(kind)));
    if !says_kind {
        if task.plan.world_size() > 1 {
            // Without GPUs too: it starts ranks that find each other, and these then use Gloo.
            argv.push("--multi_gpu".to_owned());
        }
        if task.gpus() == 0 {
            // Without it each rank of a current Accelerate that finds no GPU trains alone.
            set_default(env, "ACCELERATE_USE_CPU", true);
        }
        // The user's default configuration file may say something else.
        argv.extend(["--mixed_precision=no", "--dynamo_backend=no"].map(str::to_owned));
    }
    let options = [
        ("num_machines", task.nodes().to_string()),
        ("num_processes", task.plan.world_size().to_string()),
        ("machine_rank", task.node.to_string()),
        ("main_process_ip", task.meeting.address.to_owned()),
        ("main_process_port", task.meeting.port.to_owned()),
    ];
    argv.extend(options.map(|(name, value)| format!("--{name}={value}")));
    argv.extend(own.iter().cloned());
    argv.extend(target_of(command));
    argv
}
