//! Y011: directives behind the first command.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::script_lines::LineKind;

/// Y011.
pub const RULE: Rule = Rule {
    code: "Y011",
    name: "late-directive",
    severity: Severity::Error,
    summary: "directives behind the first command are not read",
    page: "sbatch stops reading directives at the first line that is neither blank nor a comment: module
load, set -e, export, anything. What stands behind is a comment for Slurm and for the shell. The job
runs with defaults instead, without a message. Lines in a here-document, with which a script writes
another one, are not counted.

```
#!/bin/bash
#SBATCH --ntasks=4
module load cuda
#SBATCH --gres=gpu:1
srun python train.py
```

Source: sbatch's opt.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let Some(first) = script.kinds.first_command else {
        return;
    };
    // Quotes that nobody closes may hold anything; what other languages than shells quote is not read.
    if script.is_shell && !script.shell.sound || script.is_template() {
        return;
    }
    let late: Vec<usize> = (1..)
        .zip(&script.kinds.kinds)
        .filter(|(_, kind)| **kind == LineKind::LateDirective)
        .map(|(number, _)| number)
        .filter(|number| !script.shell.is_text(script.lines.range(*number).start))
        .filter(|number| script.is_shell || !may_be_quoted(script, *number))
        .filter(|number| {
            let tail = &script.lines.line(*number)["#SBATCH".len()..];
            tail.trim_start().starts_with('-')
        })
        .collect();
    let Some(start) = late.first() else {
        return;
    };
    // A script that writes others, and asks for nothing itself, is submitted by nobody.
    let writes = |range: &std::ops::Range<usize>| script.text[range.clone()].contains("#SBATCH");
    if script.directives().next().is_none() && script.shell.heredocs.iter().any(writes) {
        return;
    }
    let message = match late.len() {
        1 => "this directive is not read".to_owned(),
        count => format!("{count} directives are not read"),
    };
    let mut finding = Finding::new(RULE.code, RULE.severity, message)
        .at(script.lines.range(*start), "a comment here")
        .at(
            trimmed(script, first),
            "the first command: sbatch reads no directives behind it",
        )
        .help("move the directives above the first command");
    for number in late.iter().skip(1).take(3) {
        finding = finding.at(script.lines.range(*number), "");
    }
    findings.push(finding);
}

/// Whether a line of a program in another language may stand in a text that the program holds, as
/// where it writes a script: behind quotes or a here-document that are not surely closed.
fn may_be_quoted(script: &Script<'_>, number: usize) -> bool {
    let before = &script.text[..script.lines.range(number).start];
    let code = before
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut double = 0;
    let mut single = 0;
    for line in code {
        if line.contains("<<") || line.contains('`') || line.contains("qq") {
            return true;
        }
        double += line.matches('"').count();
        single += line.matches("'''").count();
    }
    double % 2 == 1 || single % 2 == 1
}

fn trimmed(script: &Script<'_>, number: usize) -> std::ops::Range<usize> {
    let range = script.lines.range(number);
    let blanks = script.text[range.clone()].len() - script.text[range.clone()].trim_start().len();
    range.start + blanks..range.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(
            &RULE,
            "#SBATCH -n 1\nset -e\n«#SBATCH -t 1»\n#SBATCH -p x\n",
        );
        assert_eq!(found.message, "2 directives are not read");
        assert!(!found.refused);
    }

    /// `sbatch` knows no language: a line is a comment, blank, or the end of the directives.
    #[test]
    fn programs_that_are_no_shell_scripts() {
        for (interpreter, first) in [
            ("/usr/bin/env python3", "import os"),
            ("/usr/bin/env Rscript", "library(x)"),
            ("/usr/bin/perl", "use strict;"),
        ] {
            fires(
                &RULE,
                &format!("#!{interpreter}\n#SBATCH -n 1\n{first}\n«#SBATCH --gres=gpu:1»\n"),
            );
        }
        fires(
            &RULE,
            "#!/usr/bin/python\n\"\"\"Doc.\"\"\"\n«#SBATCH -n 1»\n",
        );
        silent(
            &RULE,
            "#!/usr/bin/python\nx = \"\"\"\n#SBATCH -n 1\n\"\"\"\n",
        );
        silent(&RULE, "#!/usr/bin/perl\nprint <<E;\n#SBATCH -n 1\nE\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -n 1\nset -e\n##SBATCH -t 1\n# SBATCH -t 1\n",
        );
        silent(&RULE, "cat > x <<EOF\n#SBATCH -t 1\nEOF\nsbatch x\n");
        silent(&RULE, "cat > x <<EOF\n#SBATCH -t 1\nEOF\n#SBATCH -t 2\n");
        silent(&RULE, "echo '\n#SBATCH -t 1\n' | sbatch\n");
        silent(&RULE, "#!/usr/bin/env python\nx = '''\n#SBATCH -t 1\n'''\n");
        silent(&RULE, "{% if x %}\n#SBATCH -t 1\n{% endif %}\n");
        for gap in [
            "%(lines)s",
            "{options}",
            "${OPTIONS}",
            "@OPTIONS@",
            "__options__",
        ] {
            silent(&RULE, &format!("#SBATCH -n 1\n{gap}\n#SBATCH -t 1\n"));
        }
        silent(&RULE, "true\n#SBATCH\n#SBATCH lines go first\n");
    }
}
