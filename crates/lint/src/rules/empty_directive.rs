//! Y014: a directive without options.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::script_lines::LineKind;

/// Y014.
pub const RULE: Rule = Rule {
    code: "Y014",
    name: "empty-directive",
    severity: Severity::Note,
    summary: "a directive without options asks for nothing",
    page: "A line with #SBATCH alone, or with nothing but a comment behind it, is read and does nothing.
It is harmless; sometimes an option got lost.

```
#!/bin/bash
#SBATCH --ntasks=1
#SBATCH
srun hostname
```

Source: sbatch's opt.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for (number, kind) in (1..).zip(&script.kinds.kinds) {
        if *kind != LineKind::Directive {
            continue;
        }
        let tail = script.lines.line(number)["#SBATCH".len()..].trim_start();
        if tail.is_empty() || tail.starts_with('#') {
            let start = script.lines.range(number).start;
            let finding = Finding::new(RULE.code, RULE.severity, "this directive asks for nothing")
                .at(start..start + "#SBATCH".len(), "no option");
            // Nothing is said with it: the line can go. With words behind it, they may matter.
            findings.push(if tail.is_empty() {
                finding.fix([script.without_line(number)])
            } else {
                finding
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "«#SBATCH»\n#SBATCH -n 1\n");
        fires(&RULE, "«#SBATCH» # mail follows\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -n 1\n##SBATCH\n#\ntrue\n#SBATCH\n");
    }

    #[test]
    fn takes_the_line_away() {
        fixes(&RULE, "#SBATCH\n#SBATCH -n 1\n", "#SBATCH -n 1\n");
    }
}
