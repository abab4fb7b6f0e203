//! Y042: a limit that no partition has.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::TimeLimitRequest;
use model::option_table::Key;

/// Y042.
pub const RULE: Rule = Rule {
    code: "Y042",
    name: "time-over-a-year",
    severity: Severity::Warning,
    summary: "a time of more than a year",
    page: "A limit of more than a year is longer than partitions allow: the job is refused or waits for
ever (PartitionTimeLimit). Often a number of minutes is read as hours.

```
#!/bin/bash
#SBATCH --time=9999:00:00
srun python train.py
```

Source: sbatch's manual page, --time; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

const YEAR: u64 = 366 * 24 * 3600;

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let (Some(given), Some(TimeLimitRequest::Limit(limit))) =
        (script.last(Key::Time), script.request().time)
    else {
        return;
    };
    if limit.0 <= YEAR || script.is_refused(given) {
        return;
    }
    let days = limit.0 / (24 * 3600);
    findings.push(script.finding(
        RULE.code,
        RULE.severity,
        given,
        format!("a limit of {days} days"),
        "more than a year",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(&RULE, "#SBATCH «-t 9999:00:00»\n").message,
            "a limit of 416 days"
        );
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -t 30-00:00:00\n");
        silent(&RULE, "#SBATCH -t UNLIMITED\n");
    }
}
