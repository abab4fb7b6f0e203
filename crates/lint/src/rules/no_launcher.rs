//! Y051: several tasks and nothing that starts them.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity, steps};
use model::option_table::Key;

/// Y051.
pub const RULE: Rule = Rule {
    code: "Y051",
    name: "no-launcher",
    severity: Severity::Warning,
    summary: "several tasks or nodes are asked for, and nothing in the script starts them",
    page: "--ntasks and --nodes take CPUs and nodes; srun, mpirun and their like start processes on them.
The script itself runs once, on the first node: without them the others stay idle and are paid for.
torchrun, accelerate launch, python -m torch.distributed.run and deepspeed without a hostfile start
processes on their own node alone: the other nodes need one too.
A program with several threads wants --cpus-per-task, not --ntasks: tasks may be spread over nodes.

```
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks=8
python train.py
```

Source: sbatch's manual page, --ntasks.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let request = script.request();
    let nodes = request.min_nodes.unwrap_or(1);
    let tasks = request.tasks.unwrap_or(1);
    if nodes < 2 && tasks < 2 {
        return;
    }
    let launcher = if nodes >= 2 {
        steps::launcher_of_first(script)
    } else {
        None
    };
    let Some(work) = launcher
        .map(|(command, _)| command)
        .or_else(|| steps::only_work(script))
    else {
        return;
    };
    let key = if nodes >= 2 { Key::Nodes } else { Key::Tasks };
    let given = script.last(key).or_else(|| script.last(Key::TasksPerNode));
    let Some(given) = given else {
        return;
    };
    // On one node the CPUs are there for the one process too.
    let severity = if nodes >= 2 {
        Severity::Warning
    } else {
        Severity::Note
    };
    let what = if nodes >= 2 {
        format!("{nodes} nodes")
    } else {
        format!("{tasks} tasks")
    };
    let line = script.lines.range(script.lines.number(work.range.start));
    let finding = script
        .finding(
            RULE.code,
            severity,
            given,
            format!("{what} are asked for, and nothing in the script starts processes on them"),
            "",
        )
        .at(
            work.range.start..work.range.end.min(line.end),
            match launcher {
                Some(_) => "it runs on the first node alone",
                None => "one process, on the first node",
            },
        );
    findings.push(match (nodes >= 2, launcher) {
        (true, Some((_, name))) => finding.help(format!(
            "start one on each node: srun --ntasks-per-node=1 {name}, or ask for one node"
        )),
        (true, None) => finding.help("start it with srun, or ask for one node"),
        (false, _) => {
            finding.help("start it with srun, or ask for --cpus-per-task instead of tasks")
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(&RULE, "#SBATCH «-N 2»\npython x.py\n").severity,
            Severity::Warning
        );
        assert_eq!(
            fires(&RULE, "#SBATCH «-n 8»\nRscript x.R\n").severity,
            Severity::Note
        );
    }

    /// What starts processes on its own node alone is no launcher for two.
    #[test]
    fn launchers_of_one_node() {
        for line in [
            "torchrun --nnodes=2 --rdzv_endpoint=$HOSTNAME:29500 t.py",
            "python -m torch.distributed.launch --nnodes=2 t.py",
            "python3 -u -m torch.distributed.run --nnodes=2 t.py",
            "accelerate launch --num_processes 8 t.py",
            "deepspeed t.py",
        ] {
            let found = fires(&RULE, &format!("#SBATCH «-N 2»\n{line}\n"));
            assert_eq!(found.severity, Severity::Warning, "{line}");
            silent(&RULE, &format!("#SBATCH -N 2\nsrun {line}\n"));
            silent(&RULE, &format!("#SBATCH -N 1 -n 4\n{line}\n"));
            silent(
                &RULE,
                &format!("#SBATCH -N 2\nfor h in a b; do\nssh $h {line} &\ndone\nwait\n"),
            );
            silent(&RULE, &format!("#SBATCH -N 2\npdsh -w a,b {line}\n"));
        }
        for line in [
            "deepspeed --hostfile=hosts t.py",
            "deepspeed -H hosts t.py",
            "deepspeed --include=\"a@b\" t.py",
            "deepspeed $OPTIONS t.py",
            "accelerate launch --config_file c.yaml t.py",
        ] {
            silent(&RULE, &format!("#SBATCH -N 2\n{line}\n"));
        }
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -N 2\nsrun python x.py\n");
        silent(&RULE, "#SBATCH -N 2\n./solver\n");
        silent(&RULE, "#SBATCH -n 8\nmpirun python x.py\n");
        silent(&RULE, "#SBATCH -n 8\npython x.py --workers 8\n");
        silent(&RULE, "#SBATCH -n 1 -N 1\npython x.py\n");
        silent(&RULE, "#SBATCH -n 8\nmake run\n");
    }
}
