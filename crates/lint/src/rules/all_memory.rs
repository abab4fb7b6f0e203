//! Y060: all memory of a node that is shared.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::MemoryRequest;
use model::option_table::Key;

/// Y060.
pub const RULE: Rule = Rule {
    code: "Y060",
    name: "all-memory",
    severity: Severity::Note,
    summary: "--mem=0 without --exclusive: all of a node's memory, but not the node",
    page: "--mem=0 asks for all memory of each node. No other job fits beside it, so it starts only where
a whole node is free, while its CPUs and GPUs are counted for what was asked. Say --exclusive too if
you want the whole node, or the memory that you need. Where a partition gives whole nodes anyway
it makes no difference.

```
#!/bin/bash
#SBATCH --gpus=1
#SBATCH --mem=0
srun python train.py
```

Source: sbatch's manual page, --mem; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let request = script.request();
    if request.memory != Some(MemoryRequest::PerNode(0)) || request.exclusive {
        return;
    }
    if script.given(Key::Exclusive).next().is_some() || !script.is_read_whole() {
        return;
    }
    let Some(given) = script
        .last(Key::Mem)
        .filter(|given| !script.is_refused(given))
    else {
        return;
    };
    let whole = super::site::partition(script, input)
        .and_then(|partition| partition.exclusive.as_ref())
        .is_some_and(|exclusive| exclusive.value);
    if whole {
        return;
    }
    findings.push(
        script
            .finding(
                RULE.code,
                RULE.severity,
                given,
                "all memory of each node is asked for, but not the nodes",
                "where memory is counted, no other job fits beside it",
            )
            .help("add --exclusive, or ask for what is needed"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--mem=0»\n");
        fires(&RULE, "#SBATCH «--mem 0G» -n 1\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mem=0 --exclusive\n");
        silent(&RULE, "#SBATCH --mem=10G\n");
        silent(&RULE, "#SBATCH -n 1\n");
    }
}
