//! Y043: memory without a unit that is very little.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::Given;
use model::option_table::{Effect, Key};

/// Y043.
pub const RULE: Rule = Rule {
    code: "Y043",
    name: "tiny-memory",
    severity: Severity::Warning,
    summary: "memory without a unit is in MiB, and this is very little",
    page: "--mem=64 is 64 MiB: the job ends out of memory before it begins its work. A number without a
unit counts MiB; write --mem=64G.

```
#!/bin/bash
#SBATCH --mem=64
srun python train.py
```

Source: sbatch's manual page, --mem; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.directives() {
        let Effect::Sets(key) = given.option.effect else {
            continue;
        };
        let least = match key {
            Key::Mem => 512,
            Key::MemPerCpu | Key::MemPerGpu => 100,
            _ => continue,
        };
        let value = given.value.as_deref().unwrap_or_default();
        let Ok(size) = value.parse::<u64>() else {
            continue;
        };
        let replaced = script.last(key).is_some_and(|last| last.span != given.span);
        if size == 0 || size >= least || replaced || has_unit_behind(script, given) {
            continue;
        }
        // A few hundred MiB are enough for a shell script.
        let severity = if size < 100 {
            Severity::Warning
        } else {
            Severity::Note
        };
        findings.push(
            script
                .finding(
                    RULE.code,
                    severity,
                    given,
                    format!("{} asks for {size} MiB", given.written),
                    "no unit: MiB",
                )
                .help(format!("{size}G for gigabytes")),
        );
    }
}

/// `--mem 4 G`: what is wrong is the blank, and that is another finding.
fn has_unit_behind(script: &Script<'_>, given: &Given) -> bool {
    let Some(range) = script.whole(given) else {
        return false;
    };
    let line = script.lines.range(script.lines.number(range.start));
    let next = script.text[range.end..line.end]
        .split_ascii_whitespace()
        .next();
    next.is_some_and(|word| {
        let word = word.to_ascii_uppercase();
        matches!(
            word.trim_end_matches('B').trim_end_matches('I'),
            "K" | "M" | "G" | "T"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(&RULE, "#SBATCH «--mem=64»\n").severity,
            Severity::Warning
        );
        assert_eq!(
            fires(&RULE, "#SBATCH «--mem 300»\n").severity,
            Severity::Note
        );
        fires(&RULE, "#SBATCH «--mem-per-cpu=4»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mem=64G\n");
        silent(&RULE, "#SBATCH --mem=0\n");
        silent(&RULE, "#SBATCH --mem 4 G\n");
        silent(&RULE, "#SBATCH --mem=4000\n");
        silent(&RULE, "#SBATCH --mem-per-cpu=200\n");
        silent(&RULE, "#SBATCH --mem=4 --mem=4G\n");
    }
}
