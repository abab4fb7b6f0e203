//! Y004: an option without its value, or with one that it doesn't take.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};

/// Y004.
pub const RULE: Rule = Rule {
    code: "Y004",
    name: "missing-value",
    severity: Severity::Error,
    summary: "an option lacks its value, or has one that it does not take: the script is refused",
    page: "An option that takes a value must have one, and a flag must have none.

```
#!/bin/bash
#SBATCH --hold=yes
#SBATCH --account
srun hostname
```

Source: getopt_long; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for diagnostic in &script.diagnostics {
        let label = match diagnostic.code {
            "missing-value" => "its value is missing",
            "unexpected-value" => "takes no value",
            _ => continue,
        };
        let finding = Finding::new(RULE.code, RULE.severity, diagnostic.message.clone()).refused();
        findings.push(match script.bytes(&diagnostic.span) {
            Some(range) => finding.at(range, label),
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
        assert!(fires(&RULE, "#SBATCH «--hold=yes»\n").refused);
        assert!(fires(&RULE, "#SBATCH -n 1 «-A» # mine\ntrue\n").refused);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --hold --exclusive --exclusive=user -A x\n");
    }
}
