//! Y052: GPUs asked for in two ways.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y052.
pub const RULE: Rule = Rule {
    code: "Y052",
    name: "gpus-twice",
    severity: Severity::Warning,
    summary: "GPUs are asked for by --gres and by --gpus… too",
    page: "--gres=gpu:N and --gpus-per-node=N ask for GPUs of each node, --gpus=N for GPUs in all,
--gpus-per-task=N for each task. Two of them mean the same at best, and contradict each other at
worst; from Slurm 26.05 on --gres=gpu with --gpus-per-node is refused. One is enough.

```
#!/bin/bash
#SBATCH --gres=gpu:4
#SBATCH --gpus-per-node=4
srun python train.py
```

Source: slurm_opt.c; sbatch's manual page, --gpus-per-node.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let Some(gres) = script.last(Key::Gres) else {
        return;
    };
    let value = gres.value.as_deref().unwrap_or_default();
    let part = value
        .split(',')
        .find(|part| *part == "gpu" || part.starts_with("gpu:"));
    let Some(part) = part else {
        return;
    };
    let keys = [Key::GpusPerNode, Key::Gpus, Key::GpusPerTask];
    let Some(other) = keys.into_iter().find_map(|key| script.last(key)) else {
        return;
    };
    if script.is_refused(gres) || script.is_refused(other) {
        return;
    }
    let mut finding = script.finding(
        RULE.code,
        RULE.severity,
        gres,
        format!(
            "GPUs are asked for twice: by --gres and by {}",
            other.written
        ),
        "GPUs of each node",
    );
    if let Some(range) = script.whole(other) {
        finding = finding.at(range, "");
    }
    let same =
        part.strip_prefix("gpu:").unwrap_or("1") == other.value.as_deref().unwrap_or_default();
    // Without the last --gres an earlier one would count.
    let once = script.given(Key::Gres).count() == 1;
    let equal = same && once && other.option.long == "gpus-per-node" && part == value;
    finding = finding.help("leave one of them out");
    findings.push(match script.alone(gres).filter(|_| equal) {
        Some(number) => finding.fix([script.without_line(number)]),
        None => finding,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--gres=gpu:4» --gpus=4\n");
        assert_eq!(
            fires(&RULE, "#SBATCH «--gres=gpu:4»\n#SBATCH --gpus-per-node=2\n").fix,
            None
        );
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --gres=gpu:4\n");
        silent(&RULE, "#SBATCH --gres=nvme:1 --gpus=4\n");
        silent(&RULE, "#SBATCH --gres=gpumem:8g --gpus=1\n");
    }

    #[test]
    fn fixes_the_same() {
        fixes(
            &RULE,
            "#SBATCH --gres=gpu:4\n#SBATCH --gpus-per-node=4\n",
            "#SBATCH --gpus-per-node=4\n",
        );
    }
}
