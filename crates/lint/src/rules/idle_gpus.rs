//! Y063: other GPUs than processes.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::shell::{Command, End};
use crate::steps::{Srun, node_launcher, sruns};
use crate::{Finding, Found, LintInput, Severity};
use model::option_table::Key;

/// Y063.
pub const RULE: Rule = Rule {
    code: "Y063",
    name: "idle-gpus",
    severity: Severity::Note,
    summary: "the processes that are started are more or fewer than the GPUs",
    page: "srun starts a process for each task, and each of them sees all GPUs of its node unless GPUs are
bound to tasks. Plain code uses one GPU a process: of 16 GPUs and 4 tasks 12 stay idle and are paid
for, of 2 GPUs and 8 tasks several processes share one. torchrun --nproc_per_node says how many
processes a node has. A program that spreads its work over all GPUs that it sees is fine.

```
#!/bin/bash
#SBATCH --ntasks=4
#SBATCH --gpus=16
srun python train.py
```

Source: srun's manual page, --ntasks; torchrun's documentation, --nproc-per-node.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Words of a command line by which a program takes several GPUs, or learns which.
const SPREADS: &[&str] = &[
    "gpu",
    "device",
    "parallel",
    "nproc",
    "num_proc",
    "num-proc",
    "deepspeed",
    "accelerate",
    "lightning",
    "jax",
    "ray",
    "dask",
    "vllm",
    "horovod",
    "distributed",
    "multi",
    "fsdp",
    "ddp",
    "world",
    "launch",
    "cuda",
];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    if !script.is_shell || !script.shell.sound || !script.is_read_whole() {
        return;
    }
    let Some(gpus) = Gpus::of(script) else {
        return;
    };
    let mut starts =
        script.shell.commands.iter().filter(|command| {
            command.name() == "srun" || node_launcher(command.program()).is_some()
        });
    let (Some(start), None) = (starts.next(), starts.next()) else {
        return;
    };
    // One of several beside it, or again and again, may have only a part of the GPUs.
    let plain = start.depth == 0 && !start.function && !start.background && !start.substitution;
    if !plain || start.end == End::Pipe {
        return;
    }
    let mut all = sruns(script);
    match all.next() {
        Some(srun) if node_launcher(srun.inner).is_none() => {
            of_srun(script, &gpus, &srun, findings)
        }
        _ => of_launcher(script, &gpus, start, findings),
    }
}

/// The GPUs that a job asks for.
struct Gpus {
    /// Of the whole job.
    all: u32,
    /// Of each node, where that is sure.
    of_node: Option<u32>,
    nodes: u32,
}

impl Gpus {
    fn of(script: &Script<'_>) -> Option<Gpus> {
        let request = script.request();
        let nodes = request.min_nodes.unwrap_or(1).max(1);
        // 2-4 nodes may have any of these numbers of GPUs.
        if request.max_nodes.is_some_and(|most| most != nodes) {
            return None;
        }
        let of_node = request.gpus_per_node.as_ref().map(|gpus| gpus.count);
        let of_job = request.gpus.as_ref().map(|gpus| gpus.count);
        let all = of_job.or_else(|| of_node?.checked_mul(nodes))?;
        let one_node = request.max_nodes == Some(1);
        Some(Gpus {
            all,
            of_node: of_node.or((one_node || all == 1).then_some(all)),
            nodes,
        })
        .filter(|gpus| gpus.all > 0)
    }
}

/// `srun python …`, which starts a process a task.
fn of_srun(script: &Script<'_>, gpus: &Gpus, srun: &Srun<'_, '_>, findings: &mut Found) {
    let own = [
        "gres",
        "gpus",
        "gpus-per-node",
        "gpus-per-task",
        "gpus-per-socket",
        "nodes",
        "nodelist",
        "ntasks-per-node",
        "tasks-per-node",
        "ntasks-per-gpu",
        "jobid",
        "het-group",
        "exact",
    ];
    if srun.unknown || srun.has(&own) {
        return;
    }
    let name = srun.inner.first().map_or("", |word| &*word.text);
    let name = name.rsplit('/').next().unwrap_or(name);
    let spreads = |text: &str| {
        let text = text.to_ascii_lowercase();
        SPREADS.iter().any(|word| text.contains(word))
    };
    if !name.starts_with("python") || srun.inner.iter().any(|word| spreads(&word.text)) {
        return;
    }
    let request = script.request();
    // Which of its GPUs a task sees is said: another matter.
    if request.rare.gpus_per_task.is_some() || script.named("ntasks-per-gpu").next().is_some() {
        return;
    }
    let of_job = request
        .tasks
        .or_else(|| request.tasks_per_node?.checked_mul(gpus.nodes))
        .unwrap_or(gpus.nodes);
    let tasks = match srun.value("ntasks") {
        Some(text) => match text.parse::<u32>() {
            Ok(tasks) => tasks,
            // `$SLURM_NTASKS` and the like.
            Err(_) if text.contains("SLURM_N") => of_job,
            Err(_) => return,
        },
        None => of_job,
    };
    if tasks == gpus.all || tasks == 0 {
        return;
    }
    let processes = counted(tasks, "process", "processes");
    let count = counted(gpus.all, "GPU", "GPUs");
    let (verb, help) = if tasks < gpus.all {
        (
            "uses one GPU a process",
            "a task for each GPU, or fewer GPUs; a program that spreads its work over GPUs is fine",
        )
    } else {
        (
            "takes a GPU a process: some are shared",
            "a task for each GPU; more CPUs of a task are --cpus-per-task",
        )
    };
    let finding = Finding::new(
        RULE.code,
        RULE.severity,
        format!("{count} and {processes}: plain code {verb}"),
    )
    .at(srun.word.range.clone(), format!("starts {processes}"));
    findings.push(at_gpus(script, finding).help(help));
}

/// `torchrun --nproc_per_node=4`, alone or under srun.
fn of_launcher(script: &Script<'_>, gpus: &Gpus, command: &Command<'_>, findings: &mut Found) {
    let Some(of_node) = gpus.of_node else {
        return;
    };
    let words = command.program();
    let said = words.iter().enumerate().find_map(|(index, word)| {
        let option = word.text.replace('-', "_");
        let value = option.strip_prefix("__nproc_per_node")?;
        let value = match value.strip_prefix('=') {
            Some(value) => value.to_owned(),
            None => words.get(index + 1)?.text.clone().into_owned(),
        };
        Some((word, value.parse::<u32>().ok()?))
    });
    let Some((word, each)) = said.filter(|(_, each)| *each != of_node) else {
        return;
    };
    let processes = counted(each, "process", "processes");
    let count = counted(of_node, "GPU", "GPUs");
    let (severity, help) = if each > of_node {
        (
            Severity::Warning,
            "the last of them find no GPU: ask for as many",
        )
    } else {
        (
            Severity::Note,
            "the others stay idle: start as many, or ask for fewer",
        )
    };
    let finding = Finding::new(
        RULE.code,
        severity,
        format!("{processes} on a node with {count}"),
    )
    .at(word.range.clone(), "of each node");
    findings.push(at_gpus(script, finding).help(help));
}

fn at_gpus(script: &Script<'_>, finding: Finding) -> Finding {
    let keys = [Key::Gpus, Key::GpusPerNode, Key::Gres];
    let given = keys.into_iter().find_map(|key| script.last(key));
    match given.and_then(|given| script.whole(given)) {
        Some(range) => finding.at(range, ""),
        None => finding,
    }
}

fn counted(count: u32, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {several}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        for (script, message) in [
            (
                "#SBATCH --ntasks=4 --gpus=16\n«srun» python t.py\n",
                "16 GPUs and 4 processes: plain code uses one GPU a process",
            ),
            (
                "#SBATCH -n 1 --gpus=16\n«srun» python3 -u t.py\n",
                "16 GPUs and 1 process: plain code uses one GPU a process",
            ),
            (
                "#SBATCH --gres=gpu:4 -N 1\n«srun» --unbuffered python t.py\n",
                "4 GPUs and 1 process: plain code uses one GPU a process",
            ),
            (
                "#SBATCH -n 8 --gpus=2\n«srun» python t.py\n",
                "2 GPUs and 8 processes: plain code takes a GPU a process: some are shared",
            ),
            (
                "#SBATCH -N 1 --gpus=2\ntorchrun «--nproc_per_node=4» t.py\n",
                "4 processes on a node with 2 GPUs",
            ),
            (
                "#SBATCH -N 2 --gpus-per-node=4\nsrun -l torchrun «--nproc-per-node» 2 t.py\n",
                "2 processes on a node with 4 GPUs",
            ),
        ] {
            assert_eq!(fires(&RULE, script).message, message, "{script}");
        }
    }

    #[test]
    fn says_nothing() {
        for script in [
            "#SBATCH -n 4 --gpus=4\nsrun python t.py\n",
            "#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4\nsrun python t.py\n",
            "#SBATCH -n 4 --gpus-per-task=1\nsrun python t.py\n",
            "#SBATCH -N 2 --gpus-per-node=4 --ntasks-per-node=1\nsrun torchrun --nproc_per_node=4 t.py\n",
            "#SBATCH -N 1 --gpus=4\nsrun torchrun --nproc_per_node=$GPUS t.py\n",
            "#SBATCH -N 1 --gpus=4\ntorchrun --nproc_per_node=gpu t.py\n",
            "#SBATCH -N 1 --gpus=4\nsrun accelerate launch t.py\n",
            "#SBATCH -N 1 --gpus=4\nsrun python t.py --devices 4\n",
            "#SBATCH -N 1 --gpus=4\nsrun ./solver\n",
            "#SBATCH -N 1 --gpus=4\nfor i in 0 1 2 3; do\nsrun -n1 python t.py &\ndone\nwait\n",
            "#SBATCH -N 1 --gpus=4\nsrun --gpus=1 -n 1 python t.py\n",
            "#SBATCH -n 1 --gpus=4\nsrun $OPTIONS python t.py\n",
            "#SBATCH -n 4\nsrun python t.py\n",
        ] {
            silent(&RULE, script);
        }
    }
}
