//! Y015: a shortened name of an option.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::Given;

/// Y015.
pub const RULE: Rule = Rule {
    code: "Y015",
    name: "abbreviation",
    severity: Severity::Note,
    summary: "a shortened option may become ambiguous with another Slurm",
    page: "sbatch takes any beginning of a long name that fits one option only. Each version brings
options, so a beginning that is unique today can be refused tomorrow. --task and --tasks look like
another name of --ntasks, but there is none: they are beginnings of --tasks-per-node, an old name of
--ntasks-per-node, and count the tasks of each node.

```
#!/bin/bash
#SBATCH --out=job.out
#SBATCH --constrain=v100
srun hostname
```

Source: getopt_long, slurm_opt.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
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
        let finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!("{} is short for --{long}", given.written),
        )
        .at(name.clone(), "");
        findings.push(match written {
            "task" | "tasks" => per_node(finding, given),
            _ => finding.fix([Edit::new(name.start + 2..name.end, long)]),
        });
    }
}

/// Only a person knows which of two it stands for.
fn per_node(mut finding: Finding, given: &Given) -> Finding {
    let value = given.value.as_deref().unwrap_or_default();
    finding.severity = Severity::Warning;
    finding
        .really(format!("Slurm starts {value} tasks on each node"))
        .help(format!(
            "--ntasks={value} for so many in all, --ntasks-per-node={value} for each node"
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, fixes_not, silent};

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
        let (short, long) = ("#SBATCH --tasks-per=2\n", "#SBATCH --tasks-per-node=2\n");
        fixes(&RULE, short, long);
    }

    #[test]
    fn tasks_are_those_of_each_node() {
        let found = fixes_not(&RULE, "#SBATCH «--tasks»=512\n");
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(found.message, "--tasks is short for --tasks-per-node");
        assert!(
            found
                .help
                .unwrap()
                .starts_with("--ntasks=512 for so many in all")
        );
        fires(&RULE, "#SBATCH «--task» 4\n");
    }
}
