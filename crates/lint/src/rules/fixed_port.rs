//! Y070: a port that is always the same.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::shell::Command;
use crate::{Finding, Found, LintInput, Severity};

/// Y070.
pub const RULE: Rule = Rule {
    code: "Y070",
    name: "fixed-port",
    severity: Severity::Warning,
    summary: "the port where ranks meet is always the same",
    page: "Two jobs that share a node, or two tasks of an array, can't listen at one port: the second one
fails with \"address already in use\", or its ranks join the other job. Take the job's number:
MASTER_PORT=$((10000 + SLURM_JOB_ID % 50000)). A job that has its nodes alone (--exclusive) can't
meet another one.

```
#!/bin/bash
#SBATCH --gpus=2
export MASTER_PORT=29500
torchrun --nproc_per_node=2 train.py
```

Source: torch.distributed's documentation.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

const OPTIONS: &[&str] = &["--master_port", "--master-port", "--main_process_port"];
const ENDPOINTS: &[&str] = &["--rdzv_endpoint", "--rdzv-endpoint"];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    if script.request().exclusive {
        return;
    }
    for command in &script.shell.commands {
        for set in &command.sets {
            if set.name == "MASTER_PORT"
                && is_port(&set.value.text)
                && !set.value.expands
                && is_used(script, command)
            {
                findings.push(finding(set.range.clone(), &set.value.text));
                return;
            }
        }
        for (index, word) in command.words.iter().enumerate() {
            let (name, value) = match word.text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (&*word.text, None),
            };
            let endpoint = ENDPOINTS.contains(&name);
            if !endpoint && !OPTIONS.contains(&name) {
                continue;
            }
            let behind = command.words.get(index + 1);
            let value = value
                .or_else(|| behind.map(|word| &*word.text))
                .unwrap_or_default();
            let port = if endpoint {
                value
                    .rsplit(':')
                    .next()
                    .filter(|_| value.contains(':'))
                    .unwrap_or_default()
            } else {
                value
            };
            if is_port(port) {
                findings.push(finding(word.range.clone(), port));
                return;
            }
        }
    }
}

fn finding(range: std::ops::Range<usize>, port: &str) -> Finding {
    Finding::new(
        RULE.code,
        RULE.severity,
        format!("port {port} is the same for every job"),
    )
    .at(range, "a second job on the node can't listen there")
    .help("such as $((10000 + SLURM_JOB_ID % 50000))")
}

/// Whether the variable is more than set: put into the environment, or taken up again.
fn is_used(script: &Script<'_>, command: &Command<'_>) -> bool {
    let own = &script.text;
    !command.words.is_empty()
        || [
            "$MASTER_PORT",
            "${MASTER_PORT",
            "export MASTER_",
            "set -a",
            "allexport",
        ]
        .iter()
        .any(|word| own.contains(word))
}

/// A number that can be a port; 0 is any that is free.
fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "export «MASTER_PORT=29500»\n");
        fires(&RULE, "«MASTER_PORT=\"6000\"» srun x\n");
        fires(
            &RULE,
            "«MASTER_PORT=6000»\nexport MASTER_ADDR MASTER_PORT\n",
        );
        fires(&RULE, "torchrun «--master_port=1234» x.py\n");
        fires(&RULE, "torchrun «--rdzv_endpoint» $HOST:29500 x.py\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --exclusive\nexport MASTER_PORT=29500\n");
        silent(&RULE, "MASTER_PORT=11111\npython x.py\n");
        silent(
            &RULE,
            "export MASTER_PORT=$((10000 + SLURM_JOB_ID % 50000))\n",
        );
        silent(
            &RULE,
            "# export MASTER_PORT=29500\necho MASTER_PORT=29500\n",
        );
        silent(
            &RULE,
            "torchrun --master_port=0 x.py\ntorchrun --master_port $PORT x.py\n",
        );
        silent(
            &RULE,
            "torchrun --rdzv_endpoint=localhost:0 --standalone x.py\n",
        );
    }
}
