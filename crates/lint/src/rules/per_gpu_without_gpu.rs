//! Y061: something for each GPU, and no GPU.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y061.
pub const RULE: Rule = Rule {
    code: "Y061",
    name: "per-gpu-without-gpu",
    severity: Severity::Warning,
    summary: "CPUs for each GPU are asked for, and no GPU",
    page:
        "--cpus-per-gpu counts from the GPUs of the job. Where none is asked for there is nothing to
count from. (--mem-per-gpu without a GPU is refused.)

```
#!/bin/bash
#SBATCH --cpus-per-gpu=6
srun ./solver
```

Source: sbatch's manual page, --cpus-per-gpu.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let keys = [
        Key::Gpus,
        Key::GpusPerNode,
        Key::GpusPerTask,
        Key::Gres,
        Key::TresPerTask,
        Key::TasksPerGpu,
    ];
    let any = keys
        .into_iter()
        .any(|key| script.given(key).next().is_some());
    let sockets = script.named("gpus-per-socket").next().is_some();
    let Some(given) = script.last(Key::CpusPerGpu) else {
        return;
    };
    if any || sockets || script.is_refused(given) {
        return;
    }
    // Behind a word that can't be read nothing is known of what was meant.
    if script
        .diagnostics
        .iter()
        .any(|d| d.severity == model::Severity::Error)
    {
        return;
    }
    findings.push(script.finding(
        RULE.code,
        RULE.severity,
        given,
        "no GPU is asked for",
        "nothing to count from",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--cpus-per-gpu=6»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --cpus-per-gpu=6 --gpus=1\n");
        silent(&RULE, "#SBATCH --cpus-per-gpu=6 --gres=gpu:1\n");
    }
}
