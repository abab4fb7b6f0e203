//! Y055: a launcher in each task.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity, steps};

/// Y055.
pub const RULE: Rule = Rule {
    code: "Y055",
    name: "launcher-per-task",
    severity: Severity::Warning,
    summary: "srun starts torchrun or its like several times on a node",
    page: "torchrun, accelerate launch and deepspeed start one process for each GPU by themselves. Started
by srun with several tasks on a node, each of those starts all of them again: they fight over GPUs
and ports. They want one task on each node: srun --ntasks-per-node=1.

```
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
srun torchrun --nproc_per_node=4 train.py
```

Source: torchrun's documentation; srun's manual page, --ntasks-per-node.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let tasks = steps::tasks_of_a_node(script);
    if tasks < 2 {
        return;
    }
    for srun in steps::sruns(script) {
        let Some(name) = steps::node_launcher(srun.inner) else {
            continue;
        };
        let own = [
            "ntasks",
            "ntasks-per-node",
            "tasks-per-node",
            "nodes",
            "jobid",
            "het-group",
        ];
        if srun.has(&own) || srun.unknown || starts_one(&srun) {
            continue;
        }
        findings.push(
            Finding::new(
                RULE.code,
                RULE.severity,
                format!("srun starts {name} {tasks} times on a node"),
            )
            .at(srun.word.range.clone(), "one for each task")
            .help("srun --ntasks-per-node=1, or --ntasks-per-node=1 for the job"),
        );
        return;
    }
}

/// `--nproc_per_node=1`: one process of the launcher's own.
fn starts_one(srun: &steps::Srun<'_, '_>) -> bool {
    let words: Vec<&str> = srun.inner.iter().map(|word| &*word.text).collect();
    words.iter().enumerate().any(|(index, word)| {
        let word = word.replace('-', "_");
        match word.split_once("nproc_per_node") {
            Some((_, "=1")) => true,
            Some((_, "")) => words.get(index + 1) == Some(&"1"),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(
            &RULE,
            "#SBATCH --ntasks-per-node=4\n«srun» torchrun --nproc_per_node=4 x.py\n",
        );
        fires(
            &RULE,
            "#SBATCH -N 1 -n 2\n«srun» -l python -m torch.distributed.run x.py\n",
        );
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --ntasks-per-node=1\nsrun torchrun x.py\n");
        silent(
            &RULE,
            "#SBATCH --ntasks-per-node=4\nsrun --ntasks-per-node=1 torchrun x.py\n",
        );
        silent(
            &RULE,
            "#SBATCH --ntasks-per-node=4\nsrun python x.py\ntorchrun x.py\n",
        );
        silent(&RULE, "#SBATCH -N 2 -n 2\nsrun torchrun x.py\n");
    }
}
