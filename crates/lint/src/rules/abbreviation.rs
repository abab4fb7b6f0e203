//! Y015: a shortened name of an option.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, LintInput, Severity};

/// Y015.
pub const RULE: Rule = Rule {
    code: "Y015",
    name: "abbreviation",
    severity: Severity::Note,
    summary: "a shortened option may become ambiguous with another Slurm",
    page: "sbatch takes any beginning of a long name that fits one option only. Each version brings
options, so a beginning that is unique today can be refused tomorrow.

```
#!/bin/bash
#SBATCH --out=job.out
#SBATCH --constrain=v100
srun hostname
```

Source: getopt_long; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Vec<Finding>) {
    for given in script.directives() {
        let long = given.option.long;
        let Some(written) = given.written.strip_prefix("--") else {
            continue;
        };
        let Some(word) = script.bytes(&given.span) else {
            continue;
        };
        let name = word.start..word.start + given.written.len();
        if written == long || script.text.get(name.clone()) != Some(&given.written) {
            continue;
        }
        findings.push(
            Finding::new(
                RULE.code,
                RULE.severity,
                format!("{} is short for --{long}", given.written),
            )
            .at(name.clone(), "")
            .fix([Edit::new(name.start + 2..name.end, long)]),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -n 1 «--out»=x\n");
        fires(&RULE, "#SBATCH «--part» x\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH --output=x -o y --tasks-per-node=2 --gres=gpu:1\n",
        );
    }

    #[test]
    fn fixes_the_name() {
        fixes(&RULE, "#SBATCH --out=x\n", "#SBATCH --output=x\n");
    }
}
