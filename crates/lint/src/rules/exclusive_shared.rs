//! Y062: alone and shared.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y062.
pub const RULE: Rule = Rule {
    code: "Y062",
    name: "exclusive-shared",
    severity: Severity::Warning,
    summary: "--exclusive beside --oversubscribe: the opposite of each other",
    page: "--exclusive wants nodes that no other job shares, --oversubscribe allows others on its CPUs.
Before Slurm 23.02 the last one counts, from then on both together are refused.

```
#!/bin/bash
#SBATCH --exclusive
#SBATCH --oversubscribe
srun ./solver
```

Source: slurm_opt.c of 22.05 and 23.02.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let (Some(one), Some(other)) = (
        script.last(Key::Exclusive),
        script.named("oversubscribe").next_back(),
    ) else {
        return;
    };
    let mut diagnostics = script.diagnostics.iter();
    if diagnostics.any(|diagnostic| diagnostic.message.contains("oversubscribe")) {
        return;
    }
    let finding = script.finding(
        RULE.code,
        RULE.severity,
        one,
        "--exclusive and --oversubscribe are opposites",
        "refused from Slurm 23.02 on",
    );
    findings.push(match script.whole(other) {
        Some(range) => finding.at(range, "before that, the last one counts"),
        None => finding,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--exclusive» -s\n");
        // Both set the one value that says how nodes are shared.
        fires(&RULE, "#SBATCH «--exclusive=user» --oversubscribe\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --exclusive\n");
        silent(&RULE, "#SBATCH --oversubscribe\n");
    }
}
