//! Y025: an array that slurmctld doesn't take.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, LintInput, Severity};
use model::option_table::Key;

/// Y025.
pub const RULE: Rule = Rule {
    code: "Y025",
    name: "invalid-array",
    severity: Severity::Error,
    summary: "slurmctld does not take this list of array tasks: the script is refused",
    page: "An array is a list of numbers and ranges, with a step behind a colon and the number of tasks
that run at once behind a percent sign: 0-15, 1,4,9, 0-30:5%2.

```
#!/bin/bash
#SBATCH --array=1-N
srun hostname
```

Source: job_mgr.c; seen with 22.05.8.",
    holds: Holds::SeenIn2205,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Vec<Finding>) {
    let Some(given) = script.last(Key::Array) else {
        return;
    };
    let value = given.value.as_deref().unwrap_or_default();
    let wrong = script.request().array.is_none() && !value.is_empty();
    if !wrong || super::shell_variable::is_one(given) || super::placeholder::is_one(given) {
        return;
    }
    let finding = Finding::new(
        RULE.code,
        RULE.severity,
        format!("{value:?} is no list of array tasks"),
    )
    .refused()
    .help("such as 0-15, 1,4,9 or 0-30:5%2");
    findings.push(match script.value_bytes(given) {
        Some(range) => finding.at(range, "Invalid job array specification"),
        None => finding,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        assert!(fires(&RULE, "#SBATCH --array=«n-m»\n").refused);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --array=0-30:5%2\n");
        silent(&RULE, "#SBATCH -a 1,3-5\n");
        silent(&RULE, "#SBATCH -a [1-4]\n");
    }
}
