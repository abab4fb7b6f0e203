//! Accelerate's own launcher on each node.

use super::command::{python_of, target_of};
use super::task::{Env, Task};
use super::torch;

/// `accelerate launch`, which counts processes over all nodes, where one process a node isn't all:
/// its own configuration file may say something else, so all is said. Options of the user come last,
/// so that they hold.
pub(super) fn agent(task: &Task<'_>, env: &mut Env, command: Vec<String>) -> Vec<String> {
    torch::clear(env);
    let mut argv = match python_of(&command) {
        Some(python) => [python, "-m", "accelerate.commands.launch"]
            .map(str::to_owned)
            .to_vec(),
        None => vec!["accelerate".to_owned(), "launch".to_owned()],
    };
    let options = [
        ("num_machines", task.nodes().to_string()),
        ("num_processes", task.plan.world_size().to_string()),
        ("machine_rank", task.node.to_string()),
        ("main_process_ip", task.meeting.address.to_owned()),
        ("main_process_port", task.meeting.port.to_owned()),
        ("mixed_precision", "no".to_owned()),
        ("dynamo_backend", "no".to_owned()),
    ];
    if task.plan.world_size() > 1 {
        // Without GPUs too: it starts ranks that find each other, and these then use Gloo.
        argv.push("--multi_gpu".to_owned());
    }
    argv.extend(options.map(|(name, value)| format!("--{name}={value}")));
    argv.extend(task.plan.launcher_options.value.iter().cloned());
    argv.extend(target_of(command));
    argv
}
