//! Y050: several GPUs and one process.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity, steps};
use model::option_table::Key;

/// Y050.
pub const RULE: Rule = Rule {
    code: "Y050",
    name: "one-process",
    severity: Severity::Note,
    summary: "several GPUs are asked for, and one process is started",
    page:
        "A batch script runs once. python train.py in it is one process, whatever --ntasks says; it
sees all GPUs and uses one unless it starts more processes or spreads its work by itself. A process
for each GPU comes from srun, torchrun, accelerate launch, mpirun or a launcher of yard run.

```
#!/bin/bash
#SBATCH --gpus=4
python train.py
```

Source: sbatch's manual page: the script runs on the first node alone.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let request = script.request();
    let counts = [&request.gpus, &request.gpus_per_node];
    let gpus = counts
        .into_iter()
        .flatten()
        .map(|gpus| gpus.count)
        .max()
        .unwrap_or(0);
    let Some(work) = steps::only_work(script).filter(|_| gpus >= 2) else {
        return;
    };
    if !work.name().starts_with("python") || work.function {
        return;
    }
    let keys = [Key::Gpus, Key::GpusPerNode, Key::Gres];
    let given = keys.into_iter().find_map(|key| script.last(key));
    let line = script.lines.range(script.lines.number(work.range.start));
    let mut finding = Finding::new(
        RULE.code,
        RULE.severity,
        format!("{gpus} GPUs are asked for, and one process is started"),
    )
    .at(
        work.range.start..work.range.end.min(line.end),
        "one process",
    );
    if let Some(range) = given.and_then(|given| script.whole(given)) {
        finding = finding.at(range, "");
    }
    findings.push(finding.help(
        "srun or torchrun starts one for each GPU; a program that spreads its work by itself is fine",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(
            &RULE,
            "#SBATCH --gres=gpu:4\nmodule load x\n«python train.py --lr 1»\n",
        );
        fires(
            &RULE,
            "#SBATCH --gpus=2\nsource activate y\n«python3 -u \\»\n x.py\n",
        );
    }

    #[test]
    fn a_launcher_in_a_comment_is_none() {
        fires(
            &RULE,
            "#SBATCH --gpus=4\n# python -m torch.distributed.launch x.py\n«python x.py»\n",
        );
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --gpus=1\npython train.py\n");
        silent(&RULE, "#SBATCH --gpus=4\nsrun python train.py\n");
        silent(
            &RULE,
            "#SBATCH --gpus=4\ntorchrun --nproc_per_node=4 x.py\n",
        );
        silent(
            &RULE,
            "#SBATCH --gpus=4\npython -m torch.distributed.run x.py\n",
        );
        silent(
            &RULE,
            "#SBATCH --gpus=4\nfor i in 0 1; do python x.py & done\nwait\n",
        );
        silent(&RULE, "#SBATCH --gpus=4\n./run.sh\n");
        silent(&RULE, "#SBATCH --gpus=4\nbash run.sh\npython x.py\n");
    }
}
