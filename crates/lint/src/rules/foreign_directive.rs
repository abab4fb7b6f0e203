//! Y021: directives of another scheduler.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::script_lines::LineKind;

/// Y021.
pub const RULE: Rule = Rule {
    code: "Y021",
    name: "foreign-directive",
    severity: Severity::Warning,
    summary: "#PBS and #BSUB lines are translated, after the #SBATCH lines",
    page: "sbatch reads #PBS and #BSUB lines before the first command too. They are read after all #SBATCH
lines, so that #PBS -l walltime=5:00:00 replaces #SBATCH --time, and a line that it can't translate
refuses the script. sbatch --ignore-pbs leaves them unread.

```
#!/bin/bash
#SBATCH --time=1:00:00
#PBS -l walltime=5:00:00
srun hostname
```

Source: sbatch's xlate.c; seen with 22.05.8.",
    holds: Holds::SeenIn2205,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    if script.named("ignore-pbs").next().is_some() {
        return;
    }
    let kinds = (1..).zip(&script.kinds.kinds);
    let lines: Vec<usize> = kinds
        .filter(|(_, kind)| **kind == LineKind::Foreign)
        .map(|(number, _)| number)
        .collect();
    let Some(first) = lines.first() else {
        return;
    };
    let word_of = |number: &usize| script.lines.line(*number).split_whitespace().next();
    let mut words: Vec<&str> = lines.iter().filter_map(word_of).collect();
    words.sort_unstable();
    words.dedup();
    let word = words.join(" and ");
    let message = match lines.len() {
        1 => format!("sbatch reads this {word} line too"),
        count => format!("sbatch reads these {count} {word} lines too"),
    };
    findings.push(
        Finding::new(RULE.code, RULE.severity, message)
            .at(script.lines.range(*first), "read after the #SBATCH lines")
            .help("take them out, or submit with --ignore-pbs"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -n 1\n«#PBS -l walltime=1:00»\n");
        let both = fires(&RULE, "«#PBS -l x»\n#BSUB -n 1\n");
        assert_eq!(
            both.message,
            "sbatch reads these 2 #BSUB and #PBS lines too"
        );
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -n 1\n##PBS -l x\n# PBS -l x\ntrue\n#PBS -l x\n",
        );
    }
}
