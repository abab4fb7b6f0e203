//! Y025: an array that slurmctld doesn't take.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
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

Source: job_mgr.c of 22.05 and 23.02, slurm_protocol_defs.c of 23.11 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let Some(given) = script.last(Key::Array) else {
        return;
    };
    let value = given.value.as_deref().unwrap_or_default();
    if takes(value) || super::shell_variable::is_one(given) || super::placeholder::is_one(given) {
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

/// Whether slurmctld takes the text, its limit on indices left aside: it reads a number as far as it
/// goes, and no number as 0.
fn takes(text: &str) -> bool {
    text.split(',')
        .filter(|token| !token.is_empty())
        .all(|token| {
            let token = token.strip_prefix('[').unwrap_or(token);
            let Some((first, rest)) = leading(token) else {
                return false;
            };
            let Some(range) = rest.strip_prefix('-') else {
                return is_end(rest);
            };
            let Some((last, rest)) = leading(range) else {
                return false;
            };
            let rest = match rest.strip_prefix(':') {
                None => rest,
                Some(step) => match leading(step) {
                    Some((1.., rest)) => rest,
                    _ => return false,
                },
            };
            last >= first && is_end(rest)
        })
}

/// What `strtol` reads, a closing bracket behind it passed over; none for a negative number.
fn leading(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_ascii_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number = if number.is_empty() {
        0
    } else {
        number.parse().ok()?
    };
    Some((number, rest.strip_prefix(']').unwrap_or(rest)))
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('%')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        assert!(fires(&RULE, "#SBATCH --array=«n-m»\n").refused);
        fires(&RULE, "#SBATCH --array=«0-XXXX»\n");
        fires(&RULE, "#SBATCH --array=«5-1»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --array=0-30:5%2\n");
        silent(&RULE, "#SBATCH -a 1,3-5\n");
        silent(&RULE, "#SBATCH -a [1-4]\n");
        silent(&RULE, "#SBATCH -a [1-100%10]\n");
        silent(&RULE, "#SBATCH -a 0-23%\n");
    }
}
