//! Y023: a directive that ends with a backslash.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::script_lines::LineKind;

/// Y023.
pub const RULE: Rule = Rule {
    code: "Y023",
    name: "trailing-backslash",
    severity: Severity::Warning,
    summary: "a backslash at the end of a directive continues nothing",
    page: "Each directive is a line of its own: a backslash at its end does not join the next line to it.
The backslash is dropped; what stands in the next line without #SBATCH is a command.

```
#!/bin/bash
#SBATCH --gpus=8 \\
#SBATCH --ntasks=8
srun hostname
```

Source: sbatch's opt.c; seen with 22.05.8.",
    holds: Holds::SeenIn2205,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for (number, kind) in (1..).zip(&script.kinds.kinds) {
        let line = script.lines.line(number);
        let kept = line.trim_end().trim_end_matches('\\');
        let count = line.trim_end().len() - kept.len();
        // Two of them are one that is meant; behind a # nothing is read.
        if *kind != LineKind::Directive || count.is_multiple_of(2) || line[1..].contains('#') {
            continue;
        }
        let range = script.lines.range(number);
        let at = range.start + line.trim_end().len() - 1;
        let from = range.start + line[..at - range.start].trim_end().len();
        findings.push(
            Finding::new(
                RULE.code,
                RULE.severity,
                "the backslash joins nothing to this directive",
            )
            .at(at..at + 1, "dropped")
            .fix([Edit::new(from..range.end, "")]),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH --gpus=8 «\\»\n#SBATCH -n 1\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --comment=a\\\\\ntrue\n");
        silent(&RULE, "#SBATCH -J a\\ b -n 1 # c \\\nsrun \\\n  x\n");
    }

    #[test]
    fn fixes_it() {
        fixes(
            &RULE,
            "#SBATCH --gpus=8 \\\ntrue\n",
            "#SBATCH --gpus=8\ntrue\n",
        );
    }
}
