//! Y071: a meeting place that other nodes don't reach.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};

/// Y071.
pub const RULE: Rule = Rule {
    code: "Y071",
    name: "master-addr",
    severity: Severity::Warning,
    summary: "the address where ranks meet is this host's own, or one that is fixed",
    page: "MASTER_ADDR is where all ranks meet. localhost is another host on each node: with several nodes
the ranks never find each other. A literal address fits only the node that the job happened to get
when it was written. The first node of the job is
$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1).

```
#!/bin/bash
#SBATCH --nodes=2
export MASTER_ADDR=localhost
srun python train.py
```

Source: torch.distributed's documentation.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

const OPTIONS: &[&str] = &[
    "--master_addr",
    "--master-addr",
    "--rdzv_endpoint",
    "--rdzv-endpoint",
    "--main_process_ip",
];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let nodes = script.request().min_nodes.unwrap_or(1);
    let mut look = |range: std::ops::Range<usize>, value: &str| {
        let host = value.split(':').next().unwrap_or(value);
        let local = matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0");
        let message = match (local, nodes >= 2) {
            (true, true) => format!("{host} is another host on each of the {nodes} nodes"),
            (false, _) if is_address(host) => {
                format!("{host} is one host, whatever nodes the job gets")
            }
            _ => return,
        };
        findings.push(
            Finding::new(RULE.code, RULE.severity, message)
                .at(range, "")
                .help("$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)"),
        );
    };
    for command in &script.shell.commands {
        // A step of one node may well meet by itself.
        let own_nodes = command.words.iter().any(|word| {
            let text = &*word.text;
            text == "-N1"
                || text == "-N"
                || text.starts_with("--nodes")
                || text.starts_with("--nnodes=1")
                || text == "-w"
        });
        for set in &command.sets {
            if set.name == "MASTER_ADDR" && !set.value.expands {
                look(set.range.clone(), &set.value.text);
            }
        }
        for (index, word) in command.words.iter().enumerate() {
            let (name, value) = match word.text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (&*word.text, None),
            };
            if !OPTIONS.contains(&name) || own_nodes || command.background {
                continue;
            }
            let behind = command.words.get(index + 1).map(|word| &*word.text);
            look(word.range.clone(), value.or(behind).unwrap_or_default());
        }
    }
}

/// Four numbers with dots.
fn is_address(text: &str) -> bool {
    let mut parts = text.split('.');
    let numbers = parts
        .by_ref()
        .take(4)
        .filter(|part| part.parse::<u8>().is_ok())
        .count();
    numbers == 4 && parts.next().is_none() && !text.starts_with("127.") && text != "0.0.0.0"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -N 2\nexport «MASTER_ADDR=localhost»\n");
        fires(
            &RULE,
            "#SBATCH -N 2\ntorchrun «--master_addr=127.0.0.1» x.py\n",
        );
        fires(&RULE, "export «MASTER_ADDR=\"172.30.1.237\"»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -N 1\nexport MASTER_ADDR=localhost\n");
        silent(&RULE, "#SBATCH -N 2\nexport MASTER_ADDR=$(hostname)\n");
        silent(
            &RULE,
            "#SBATCH -N 2\nexport MASTER_ADDR=$ip\n# MASTER_ADDR=localhost\n",
        );
        silent(
            &RULE,
            "#SBATCH -N 2\nsrun -N1 -n1 torchrun --master_addr=localhost x.py\n",
        );
    }
}
