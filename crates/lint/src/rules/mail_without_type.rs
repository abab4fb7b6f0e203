//! Y045: an address to which nothing is sent.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y045.
pub const RULE: Rule = Rule {
    code: "Y045",
    name: "mail-without-type",
    severity: Severity::Warning,
    summary: "--mail-user without --mail-type: no mail is sent",
    page:
        "--mail-user says to whom, --mail-type says when. Without the second nothing is ever sent.

```
#!/bin/bash
#SBATCH --mail-user=ada@lab.example
srun hostname
```

Source: sbatch's manual page, --mail-type; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let Some(given) = script.last(Key::MailUser) else {
        return;
    };
    let empty = given.value.as_deref().unwrap_or_default().is_empty();
    if empty || script.given(Key::MailType).next().is_some() || !script.is_read_whole() {
        return;
    }
    findings.push(
        script
            .finding(
                RULE.code,
                RULE.severity,
                given,
                "no mail is sent",
                "there is no --mail-type",
            )
            .help("add --mail-type=END,FAIL"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(
            &RULE,
            "#SBATCH «--mail-user=a@b.c»\n##SBATCH --mail-type=END\n",
        );
    }

    #[test]
    fn says_nothing() {
        let unread = "#SBATCH --mail-user=your address\n#SBATCH --mail-type=all\n";
        silent(&RULE, unread);
        silent(&RULE, "#SBATCH --mail-user=a@b.c --mail-type=NONE\n");
        silent(&RULE, "#SBATCH --mail-type=END\n");
    }
}
