//! Y007: a directive that can't be taken apart.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};

/// Y007.
pub const RULE: Rule = Rule {
    code: "Y007",
    name: "directive-syntax",
    severity: Severity::Error,
    summary: "a quote in a directive is never closed, or a word begins with a colon: the script is refused",
    page:
        "Words of a directive are parted by blanks; '…' and \"…\" keep blanks, a backslash takes the
next character as it is. A quote that is not closed in its line is fatal, and so is a word that
begins with a colon.

```
#!/bin/bash
#SBATCH --comment=\"nightly run
#SBATCH --gres=gpu: v100 :1
srun hostname
```

Source: sbatch's opt.c; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for diagnostic in script
        .diagnostics
        .iter()
        .filter(|d| d.code == "directive-syntax")
    {
        let message = diagnostic.message.rsplit(": ").next().unwrap_or_default();
        let said = if message.starts_with("Un") {
            message
        } else {
            diagnostic.message.as_str()
        };
        let finding = Finding::new(RULE.code, RULE.severity, said).refused();
        findings.push(match script.bytes(&diagnostic.span) {
            Some(range) => finding.at(range, "sbatch reads no further"),
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
        assert!(fires(&RULE, "«#SBATCH --comment=\"a b»\n").refused);
        fires(&RULE, "«#SBATCH --gres=gpu: x :1»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --comment=\"it's\" --gres=gpu:1 # don't\n");
    }
}
