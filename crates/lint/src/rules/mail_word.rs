//! Y047: a word that `--mail-type` doesn't know.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y047.
pub const RULE: Rule = Rule {
    code: "Y047",
    name: "mail-word",
    severity: Severity::Warning,
    summary: "a word of --mail-type is not known and is left out",
    page:
        "The words are NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, STAGE_OUT, TIME_LIMIT,
TIME_LIMIT_90, TIME_LIMIT_80, TIME_LIMIT_50 and ARRAY_TASKS. Any other word is passed
over in silence as long as another one is known.

```
#!/bin/bash
#SBATCH --mail-type=END,FAILED
srun hostname
```

Source: proc_args.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

const KNOWN: &[&str] = &[
    "NONE",
    "BEGIN",
    "END",
    "FAIL",
    "REQUEUE",
    "ALL",
    "INVALID_DEPEND",
    "STAGE_OUT",
    "TIME_LIMIT",
    "TIME_LIMIT_90",
    "TIME_LIMIT_80",
    "TIME_LIMIT_50",
    "ARRAY_TASKS",
];
/// What people write for what there is.
const MEANT: &[(&str, &str)] = &[
    ("FAILED", "FAIL"),
    ("FAILURE", "FAIL"),
    ("ABORT", "FAIL"),
    ("ERROR", "FAIL"),
    ("START", "BEGIN"),
    ("STARTED", "BEGIN"),
    ("BEG", "BEGIN"),
    ("DONE", "END"),
    ("FINISH", "END"),
    ("COMPLETED", "END"),
    ("TIMEOUT", "TIME_LIMIT"),
];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.given(Key::MailType) {
        let value = given.value.as_deref().unwrap_or_default();
        let known = |word: &str| KNOWN.iter().any(|known| known.eq_ignore_ascii_case(word));
        let words: Vec<&str> = value.split(',').filter(|word| !word.is_empty()).collect();
        let none = words.iter().any(|word| word.eq_ignore_ascii_case("NONE"));
        let Some(word) = words.iter().find(|word| !known(word)) else {
            continue;
        };
        // With no known word sbatch refuses it, and that is said.
        if none || script.is_refused(given) || super::placeholder::is_one(given) {
            continue;
        }
        let upper = word.trim().to_ascii_uppercase();
        let meant = MEANT
            .iter()
            .find(|(wrong, _)| *wrong == upper)
            .map(|(_, right)| *right);
        let meant = meant.or_else(|| model::nearest(&upper, KNOWN.iter().copied()));
        let message = if word.trim() == *word {
            format!("--mail-type knows no {word}")
        } else {
            format!("--mail-type knows no {word:?}, with a blank")
        };
        let finding = script.finding(
            RULE.code,
            RULE.severity,
            given,
            message,
            "this word is left out",
        );
        findings.push(match meant {
            Some(meant) if meant == upper => finding.help("no blanks between the words"),
            Some(meant) => finding.help(format!("did you mean {meant}?")),
            None => finding,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «--mail-type=END,FAILED»\n");
        assert_eq!(found.help.unwrap(), "did you mean FAIL?");
        let found = fires(&RULE, "#SBATCH «--mail-type=\"BEGIN, END\"»\n");
        assert_eq!(found.message, "--mail-type knows no \" END\", with a blank");
        assert_eq!(found.help.unwrap(), "no blanks between the words");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mail-type=begin,End,time_limit_80\n");
        silent(&RULE, "#SBATCH --mail-type=nonsense\n");
    }
}
