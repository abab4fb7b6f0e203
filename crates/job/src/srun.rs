//! The one place that knows how srun is called: arguments and environment of the inner steps. Pure.

use model::NodeName;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What a step needs to know of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes of the job.
    pub nodes: u32,
    /// Tasks in all.
    pub tasks: u32,
    /// Whether each node has the same number of them.
    pub is_even: bool,
    /// CPUs of each task; `None` where the job asked for none.
    pub cpus: Option<u32>,
}

/// The agents' step: one a node, beside whatever else runs, with all GPUs in sight and no claim on
/// CPUs or memory.
#[must_use]
pub fn agents(nodes: u32, gpus: bool, command: &[OsString]) -> Vec<OsString> {
    let mut args = step(Shape {
        nodes,
        tasks: nodes,
        is_even: true,
        cpus: None,
    });
    // However one ends, it must not take the others along: they have checkpoints to save. srun says
    // which one was killed, whatever a site's slurm.conf would do then.
    push(
        &mut args,
        &[
            "--overlap",
            "--mem=0",
            "--wait=0",
            "--label",
            "--unbuffered",
            "--kill-on-bad-exit=0",
        ],
    );
    if gpus {
        push(&mut args, &["--gpu-bind=none"]);
    }
    args.extend_from_slice(command);
    args
}

/// What the ranks' step needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Ranks<'a> {
    /// Its tasks.
    pub shape: Shape,
    /// Where its only task runs, which starts the ranks of all nodes.
    pub first_node: Option<&'a NodeName>,
    /// Whether the job has GPUs.
    pub gpus: bool,
    /// Whether tasks hold GPUs and CPUs for another one of their node, and end at once.
    pub has_idle_tasks: bool,
    /// A pattern for both streams.
    pub output: &'a Path,
    /// Where the ranks start.
    pub folder: &'a Path,
    /// Options that start their container.
    pub options: &'a [String],
}

/// The ranks' step.
#[must_use]
pub fn ranks(ranks: &Ranks<'_>, command: &[OsString]) -> Vec<OsString> {
    let mut args = step(ranks.shape);
    if let Some(node) = ranks.first_node {
        // Rank 0 writes into the same file.
        push(
            &mut args,
            &[&format!("--nodelist={node}"), "--open-mode=append"],
        );
    }
    // Beside the agents, which hold the same CPUs: without --overlap the step would wait for ever. Ranks
    // are counted node by node and, on a node, socket by socket, as GPUs are: left to Slurm the second
    // is cyclic, and every other rank would be bound to the socket that its GPU is not at.
    push(
        &mut args,
        &[
            "--overlap",
            "--kill-on-bad-exit=1",
            "--input=none",
            "--distribution=block:block",
        ],
    );
    // Where the job asked for them by the task a step that says nothing has it so, and with none Slurm
    // 22.05 tells several tasks of a node of no GPU at all.
    if ranks.gpus && ranks.shape.is_even {
        // Each rank sees all GPUs of its node and takes the one of its local rank; hidden peers
        // break direct copies between GPUs.
        push(&mut args, &["--gpu-bind=none"]);
    }
    if ranks.has_idle_tasks {
        // slurm.conf may end a step some time after its first task has ended.
        push(&mut args, &["--wait=0", "--cpu-bind=none"]);
    }
    args.push(glued("--output=", ranks.output.as_os_str()));
    args.push(glued("--chdir=", ranks.folder.as_os_str()));
    args.extend(ranks.options.iter().map(OsString::from));
    args.extend_from_slice(command);
    args
}

/// Nodes and tasks both: srun takes `SLURM_NTASKS` from the job when one is missing, and starts as
/// many tasks as the job has instead of one a node.
fn step(shape: Shape) -> Vec<OsString> {
    let mut args = Vec::new();
    push(&mut args, &["--nodes", &shape.nodes.to_string()]);
    push(&mut args, &["--ntasks", &shape.tasks.to_string()]);
    if shape.is_even {
        let per_node = shape.tasks / shape.nodes.max(1);
        push(&mut args, &[&format!("--ntasks-per-node={per_node}")]);
    }
    // srun of 22.05 and 23.02 takes no CPUs from the job: always said.
    if let Some(cpus) = shape.cpus {
        push(&mut args, &[&format!("--cpus-per-task={cpus}")]);
    }
    args
}

fn push(args: &mut Vec<OsString>, more: &[&str]) {
    args.extend(more.iter().map(OsString::from));
}

fn glued(option: &str, value: &OsStr) -> OsString {
    let mut glued = OsString::from(option);
    glued.push(value);
    glued
}

/// Whether an inherited variable would change an inner step behind our back: each of these is read
/// by srun as if it were an option, though it was made for the job's own shape.
#[must_use]
pub fn is_scrubbed(name: &str) -> bool {
    const NAMES: [&str; 15] = [
        "SLURM_CPU_BIND",
        "SLURM_MEM_BIND",
        "SLURM_GPU_BIND",
        "SLURM_TRES_BIND",
        "SLURM_GPUS_PER_TASK",
        "SLURM_TRES_PER_TASK",
        "SLURM_NTASKS",
        "SLURM_NPROCS",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_CPUS_PER_TASK",
        "SLURM_DISTRIBUTION",
        "SLURM_EXACT",
        "SLURM_KILL_BAD_EXIT",
        "SLURM_LABELIO",
        "SLURM_WAIT",
    ];
    NAMES.contains(&name)
        || name.starts_with("SLURM_MEM_PER_")
        || (name.starts_with("SLURM_") && name.contains("_BIND_"))
        || name.starts_with("SRUN_")
        // Set by `sbatch --export=NONE`: inner steps would start without the job's environment.
        || name == "SLURM_EXPORT_ENV"
}

/// Whether a variable says which task of which step a process is, or how that step was started: a program
/// beside the ranks, which an agent starts, is none, and its own `srun` or MPI must not take it for one.
#[must_use]
pub fn is_of_step(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "SLURM_GTIDS",
        "SLURM_TASK_PID",
        "SLURM_TASKS_PER_NODE",
        "SLURM_LAUNCH_NODE_IPADDR",
        "SLURM_MPI_TYPE",
        "SLURM_UNBUFFEREDIO",
    ];
    const PREFIXES: [&str; 4] = ["SLURM_STEP", "SLURM_SRUN_", "PMI_", "PMIX_"];
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || is_scrubbed(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(args: &[OsString], want: Expect) {
        want.assert_eq(
            &args
                .iter()
                .map(|arg| arg.to_string_lossy())
                .collect::<Vec<_>>()
                .join(" "),
        );
    }

    #[test]
    fn the_steps() {
        let command = ["yard", "job", "agent"].map(OsString::from);
        check(
            &agents(2, false, &command),
            expect![
                "--nodes 2 --ntasks 2 --ntasks-per-node=1 --overlap --mem=0 --wait=0 --label --unbuffered --kill-on-bad-exit=0 yard job agent"
            ],
        );
        let shape = Shape {
            nodes: 2,
            tasks: 8,
            is_even: true,
            cpus: Some(6),
        };
        let mut of_ranks = Ranks {
            shape,
            first_node: None,
            gpus: true,
            has_idle_tasks: false,
            output: Path::new("/r/logs/7.0.%t"),
            folder: Path::new("/r/code"),
            options: &[],
        };
        check(
            &ranks(&of_ranks, &command),
            expect![
                "--nodes 2 --ntasks 8 --ntasks-per-node=4 --cpus-per-task=6 --overlap --kill-on-bad-exit=1 --input=none --distribution=block:block --gpu-bind=none --output=/r/logs/7.0.%t --chdir=/r/code yard job agent"
            ],
        );
        // Three ranks on two nodes, by an agent on each.
        let uneven = Ranks {
            shape: Shape {
                tasks: 3,
                is_even: false,
                ..shape
            },
            has_idle_tasks: true,
            ..of_ranks
        };
        check(
            &ranks(&uneven, &command),
            expect![
                "--nodes 2 --ntasks 3 --cpus-per-task=6 --overlap --kill-on-bad-exit=1 --input=none --distribution=block:block --wait=0 --cpu-bind=none --output=/r/logs/7.0.%t --chdir=/r/code yard job agent"
            ],
        );
        let first = NodeName::new("n1");
        of_ranks.first_node = Some(&first);
        of_ranks.gpus = false;
        of_ranks.shape.nodes = 1;
        of_ranks.shape.tasks = 1;
        check(
            &ranks(&of_ranks, &command),
            expect![
                "--nodes 1 --ntasks 1 --ntasks-per-node=1 --cpus-per-task=6 --nodelist=n1 --open-mode=append --overlap --kill-on-bad-exit=1 --input=none --distribution=block:block --output=/r/logs/7.0.%t --chdir=/r/code yard job agent"
            ],
        );
    }

    #[test]
    fn what_is_scrubbed() {
        for name in [
            "SLURM_MEM_PER_NODE",
            "SLURM_MEM_PER_CPU",
            "SLURM_CPU_BIND_TYPE",
            "SLURM_GPUS_PER_TASK",
            "SLURM_NTASKS_PER_NODE",
        ] {
            assert!(is_scrubbed(name), "{name}");
        }
        for name in [
            "SLURM_JOB_ID",
            "SLURM_JOB_NODELIST",
            "SLURM_RESTART_COUNT",
            "PATH",
            "SLURM_CONF",
        ] {
            assert!(!is_scrubbed(name), "{name}");
            assert!(!is_of_step(name), "{name}");
        }
        for name in ["SLURM_STEPID", "SLURM_PROCID", "SLURM_NTASKS", "PMIX_RANK"] {
            assert!(is_of_step(name), "{name}");
        }
    }
}
