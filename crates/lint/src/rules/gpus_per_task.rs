//! Y053: each task sees its own GPUs only.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity, steps};
use model::option_table::{Effect, Key};

/// Y053.
pub const RULE: Rule = Rule {
    code: "Y053",
    name: "gpus-per-task",
    severity: Severity::Note,
    summary: "--gpus-per-task hides the other tasks' GPUs",
    page: "With --gpus-per-task each task of srun sees its own GPUs alone, numbered from 0. A program that
picks cuda:LOCAL_RANK finds no such device, and NCCL and MPI can't reach the neighbours' memory
directly. --gpus-per-node with --ntasks-per-node gives each task all of the node's GPUs to pick
from; --gpu-bind=none lifts the binding.

```
#!/bin/bash
#SBATCH --ntasks=4
#SBATCH --gpus-per-task=1
srun python train.py
```

Source: sbatch's manual page, --gpus-per-task (implies per-task binding); measured with 22.05.8.",
    holds: Holds::SeenIn2205,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let request = script.request();
    let several =
        request.tasks.is_some_and(|tasks| tasks > 1) || steps::tasks_of_a_node(script) > 1;
    let (Some(given), true) = (script.last(Key::GpusPerTask), several) else {
        return;
    };
    let bound = script
        .sbatch
        .given
        .iter()
        .any(|given| given.option.effect == Effect::Sets(Key::GpuBind));
    if bound
        || !script.is_read_whole()
        || request.rare.gpus_per_task.is_none()
        || script.text.contains("GPU_BIND")
    {
        return;
    }
    let python = steps::sruns(script).find(|srun| {
        let program = srun.inner.first().map_or("", |word| &*word.text);
        let own = [
            "gpu-bind",
            "tres-bind",
            "gpus-per-task",
            "gres",
            "gpus",
            "gpus-per-node",
            "ntasks",
        ];
        program
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with("python"))
            && !srun.has(&own)
            && !srun.unknown
    });
    let Some(python) = python else {
        return;
    };
    findings.push(
        script
            .finding(
                RULE.code,
                RULE.severity,
                given,
                "each task sees its own GPUs alone, numbered from 0",
                "binds GPUs to tasks",
            )
            .at(python.word.range.clone(), "each of its tasks")
            .help("--gpus-per-node with --ntasks-per-node, or --gpu-bind=none"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(
            &RULE,
            "#SBATCH -n 4 «--gpus-per-task=1»\nsrun -l python x.py\n",
        );
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -n 1 --gpus-per-task=1\nsrun python x.py\n");
        silent(
            &RULE,
            "#SBATCH -n 4 --gpus-per-task=1 --gpu-bind=none\nsrun python x.py\n",
        );
        silent(&RULE, "#SBATCH -n 4 --gpus-per-task=1\nsrun ./hpl\n");
        silent(&RULE, "#SBATCH -n 4 --gpus-per-node=4\nsrun python x.py\n");
    }
}
