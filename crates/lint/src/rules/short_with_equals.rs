//! Y018: `-n=4`.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::Given;
use model::option_table::Takes;

/// Y018.
pub const RULE: Rule = Rule {
    code: "Y018",
    name: "short-with-equals",
    severity: Severity::Error,
    summary: "a letter takes its value without =, which becomes part of it",
    page: "Behind a letter the value follows at once or as the next word: -n4, -n 4. In -n=4 the value is
\"=4\": no number, so the script is refused. In -J=train the job is called \"=train\", and -p=gpu
asks for a partition \"=gpu\".

```
#!/bin/bash
#SBATCH -J=train
#SBATCH -n 4
srun hostname
```

Source: getopt_long; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.directives().filter(|given| is_one(script, given)) {
        let Some(word) = script.bytes(&given.span) else {
            continue;
        };
        let written = &script.text[word.clone()];
        let value = given.value.as_deref().unwrap_or_default();
        let mut finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!(
                "the value of {} is {value:?}, with the equals sign",
                given.written
            ),
        )
        .at(word.clone(), "");
        // With nothing behind the sign the next word would become the value.
        if written.len() > 3 && given.option.takes == Takes::Required {
            finding = finding.fix([Edit::new(word.start + 2..word.start + 3, " ")]);
        }
        if script.is_refused(given) {
            finding = finding.refused();
        }
        findings.push(finding);
    }
}

/// Whether it is a letter with `=` behind it.
pub(crate) fn is_one(script: &Script<'_>, given: &Given) -> bool {
    let Some(word) = script.bytes(&given.span) else {
        return false;
    };
    let written = &script.text[word];
    written.len() > 2
        && !written.starts_with("--")
        && written.as_bytes()[2] == b'='
        && given.written == written[..2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, fixes_not, silent};

    #[test]
    fn speaks() {
        assert!(fires(&RULE, "#SBATCH «-n=4»\n").refused);
        assert!(!fires(&RULE, "#SBATCH -N1 «-J=x»\n").refused);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -n4 -J x=y --time=1 -C a=b\n");
    }

    #[test]
    fn fixes_the_sign() {
        fixes(&RULE, "#SBATCH -J=x\n", "#SBATCH -J x\n");
        fixes_not(&RULE, "#SBATCH «-J=» -n 4\n");
    }
}
