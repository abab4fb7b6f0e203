//! Y013: a comment that is nearly a directive.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::script_lines::{LineKind, NearMiss};

/// Y013.
pub const RULE: Rule = Rule {
    code: "Y013",
    name: "near-directive",
    severity: Severity::Warning,
    summary: "a line that looks like a directive is a comment",
    page:
        "A directive begins with the seven bytes #SBATCH at the start of its line, in upper case and
spelt so. Anything else is a comment for Slurm: a blank before it, a blank behind the #, a letter
in the wrong place. ##SBATCH is how people switch a directive off, and nothing is said of it; `#
SBATCH` may be meant so too, and is a note.

```
#!/bin/bash
#SBATCH --nodes=1
#SBTACH --time=2:00:00
srun hostname
```

Source: sbatch's opt.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for (number, kind) in (1..).zip(&script.kinds.kinds) {
        let LineKind::NearMiss(miss) = kind else {
            continue;
        };
        if *miss == NearMiss::Doubled {
            continue;
        }
        let line = script.lines.line(number);
        let start = line.find(|c: char| c != '#' && !c.is_whitespace());
        let Some(start) = start else {
            continue;
        };
        let name = line[start..]
            .find(|c: char| !c.is_ascii_alphabetic())
            .map_or(line.len(), |end| start + end);
        // `# SBATCH lines go here` is a sentence.
        if !line[name..].trim_start().starts_with('-') {
            continue;
        }
        // `# sbatch job.sh` tells how the script is called.
        let parted = line.trim_start()[1..].starts_with(char::is_whitespace);
        if parted && matches!(miss, NearMiss::Case | NearMiss::Misspelt) {
            continue;
        }
        let (severity, why) = match miss {
            NearMiss::Parted => (Severity::Note, "a blank stands behind the #"),
            NearMiss::Indented => (Severity::Warning, "blanks stand before it"),
            NearMiss::Case => (Severity::Warning, "it must be upper case"),
            _ => (Severity::Warning, "did you mean #SBATCH?"),
        };
        let from = script.lines.range(number).start;
        let finding = Finding::new(
            RULE.code,
            severity,
            "this line is a comment, not a directive",
        )
        .at(from..from + name, why);
        findings.push(match miss {
            NearMiss::Parted => {
                finding.help("write #SBATCH without the blank, or ##SBATCH to switch it off")
            }
            // What a comment says was never tried: read, it may refuse the script.
            _ => finding.help("begin the line with #SBATCH if it shall be read"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes_not, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "«#SBTACH» --time=1\n");
        fires(&RULE, "«#Sbatch» -n 1\n");
        fires(&RULE, "«  #SBATCH» -n 1\n");
        let found = fires(&RULE, "«# SBATCH» -n 1\n");
        assert_eq!((found.severity, found.fix), (Severity::Note, None));
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "##SBATCH -n 1\n### SBATCH -n 1\n#SBATCH--time=1\n#SBATCH\t-n 1\n",
        );
        silent(&RULE, "# SBATCH options follow\n# the batch job - a test\n");
        silent(&RULE, "# sbatch --array=1-4 job.sh\n");
        silent(&RULE, "true\n# SBATCH -n 1\n#SBTACH -n 1\n");
    }

    #[test]
    fn leaves_the_word_to_a_person() {
        // sbatch has no --x11: read, this line would refuse the script.
        fixes_not(&RULE, "«#sbatch» --x11\n");
        fixes_not(&RULE, "«#SBACTH» --time=1\n");
        let found = fixes_not(&RULE, "«\t#SBATCH» -n 1\n");
        assert!(found.help.unwrap().contains("if it shall be read"));
    }
}
