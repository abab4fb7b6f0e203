//! Y041: a time of zero.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::TimeLimitRequest;
use model::option_table::Key;

/// Y041.
pub const RULE: Rule = Rule {
    code: "Y041",
    name: "time-zero",
    severity: Severity::Warning,
    summary: "a time of zero asks for no limit at all",
    page: "--time=0 means without a limit. A partition that has a limit refuses such a job or leaves it
waiting (PartitionTimeLimit), and backfill can never fit it in before others.

```
#!/bin/bash
#SBATCH --time=0
srun python train.py
```

Source: sbatch's manual page, --time; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let Some(given) = script.last(Key::Time) else {
        return;
    };
    let value = given.value.as_deref().unwrap_or_default();
    let zero = value.contains('0') && value.chars().all(|c| "0:-".contains(c));
    let unlimited = match script.request().time {
        Some(TimeLimitRequest::Unlimited) => true,
        Some(TimeLimitRequest::Limit(limit)) => limit.0 == 0,
        None => false,
    };
    if zero && unlimited && !script.is_refused(given) {
        findings.push(
            script
                .finding(
                    RULE.code,
                    RULE.severity,
                    given,
                    "a time of zero asks for no limit",
                    "no limit",
                )
                .help("leave --time out for the partition's own limit"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--time=0»\n");
        fires(&RULE, "#SBATCH «-t 00:00:00»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -t 10\n");
        silent(&RULE, "#SBATCH -t UNLIMITED\n");
        silent(&RULE, "#SBATCH -t 0:01\n");
    }
}
