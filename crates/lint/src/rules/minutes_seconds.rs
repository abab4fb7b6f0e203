//! Y040: a time that is read as minutes and seconds.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y040.
pub const RULE: Rule = Rule {
    code: "Y040",
    name: "minutes-seconds",
    severity: Severity::Note,
    summary: "a time of two numbers is minutes and seconds, not hours and minutes",
    page: "--time=10:00 is ten minutes. Hours take three numbers (10:00:00) or a day before them
(0-10:00). Seconds are rounded up to minutes.

```
#!/bin/bash
#SBATCH --time=12:00
srun python train.py
```

Source: parse_time.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let Some(given) = script.last(Key::Time) else {
        return;
    };
    let value = given.value.as_deref().unwrap_or_default();
    let Some((minutes, seconds)) = value.split_once(':') else {
        return;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (true, true, Ok(number)) = (digits(minutes), digits(seconds), minutes.parse::<u32>())
    else {
        return;
    };
    if script.is_refused(given) {
        return;
    }
    let length = match (number, seconds.trim_start_matches('0')) {
        (1, "") => "1 minute".to_owned(),
        (_, "") => format!("{number} minutes"),
        (_, seconds) => format!("{number} minutes and {seconds} seconds"),
    };
    let finding = script.finding(
        RULE.code,
        RULE.severity,
        given,
        format!("{value} is {length}"),
        "minutes and seconds",
    );
    findings.push(match number {
        0..=48 => finding.help(format!("hours would be {minutes}:{seconds}:00")),
        _ => finding,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(&RULE, "#SBATCH «-t 12:00»\n").message,
            "12:00 is 12 minutes"
        );
        fires(&RULE, "#SBATCH «--time=01:30»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -t 12:00:00\n");
        silent(&RULE, "#SBATCH -t 0-12:00\n");
        silent(&RULE, "#SBATCH -t 90\n");
        silent(&RULE, "#SBATCH -t 10:00 -t 10:00:00\n");
    }
}
