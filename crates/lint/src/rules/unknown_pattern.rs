//! Y034: a code that file names don't have.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::{Effect, Key};

/// Y034.
pub const RULE: Rule = Rule {
    code: "Y034",
    name: "unknown-pattern",
    severity: Severity::Warning,
    summary: "a % code in a file name stands for nothing",
    page: "Names of output files know %% %A %a %J %j %N %n %s %t %u %x, and in later versions %b, %r and
%S. Codes of date (%Y-%m-%d) are none of them and stay in the name as they are.

```
#!/bin/bash
#SBATCH --output=log_%Y-%m-%d.out
srun hostname
```

Source: slurmstepd's fname.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// All codes of all versions, and %W of old manuals.
const KNOWN: &str = "AabJjNnrSstuxW";

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.directives() {
        let file = matches!(
            given.option.effect,
            Effect::Sets(Key::Output | Key::Error | Key::Input)
        );
        let value = given.value.as_deref().unwrap_or_default();
        if !file || value.contains('\\') || super::placeholder::is_one(given) {
            continue;
        }
        let Some(code) = unknown(value) else {
            continue;
        };
        findings.push(script.finding(
            RULE.code,
            RULE.severity,
            given,
            format!("%{code} stands for nothing in a file name"),
            "the name keeps it as it is",
        ));
    }
}

fn unknown(value: &str) -> Option<char> {
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            continue;
        }
        let code = chars.by_ref().find(|c| !c.is_ascii_digit())?;
        if code.is_ascii_alphabetic() && !KNOWN.contains(code) {
            return Some(code);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «-o log_%Y-%m.out»\n");
        assert_eq!(found.message, "%Y stands for nothing in a file name");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -o %x-%4j_%A.%a.%%.out -e 100%.err -J %Y\n");
    }
}
