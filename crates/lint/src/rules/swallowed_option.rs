//! Y005: an option that became the value of another.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};

/// Y005.
pub const RULE: Rule = Rule {
    code: "Y005",
    name: "swallowed-option",
    severity: Severity::Error,
    summary: "an option without a value takes the next option for its value",
    page: "All directives together are one command line. An option whose value is missing takes the
next word, even that of the next line: here the job waits for a node called
\"--partition=gpu\", and goes to the default partition.

```
#!/bin/bash
#SBATCH --nodelist
#SBATCH --partition=gpu
srun hostname
```

Source: getopt_long; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.directives() {
        let Some(value) = given.value.as_deref().filter(|value| is_option(value)) else {
            continue;
        };
        let (Some(word), Some(range)) = (script.bytes(&given.span), script.value_bytes(given))
        else {
            continue;
        };
        // `--comment=--x` is meant so.
        if word.start <= range.start && range.end <= word.end {
            continue;
        }
        let mut finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!("{} takes {value:?} for its value", given.written),
        )
        .at(word, "its value is missing")
        .at(range, "not read as an option");
        finding.refused = script.is_refused(given);
        findings.push(finding);
    }
}

fn is_option(value: &str) -> bool {
    value
        .strip_prefix("--")
        .or_else(|| value.strip_prefix('-'))
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «-w»\n#SBATCH --partition=gpu\n");
        assert_eq!(found.labels.len(), 2);
        fires(&RULE, "#SBATCH «-J» -n 4\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --comment=--x --nice=-5 -J a-b\n");
        silent(&RULE, "#SBATCH --nice -n 4 --exclusive -N 1\n");
    }
}
