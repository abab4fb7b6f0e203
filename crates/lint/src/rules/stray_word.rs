//! Y006: a word that is no option.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::Span;

/// Y006.
pub const RULE: Rule = Rule {
    code: "Y006",
    name: "stray-word",
    severity: Severity::Error,
    summary: "a directive holds a word that is no option: the script is refused",
    page: "A word that is neither an option nor the value of one ends the reading, and sbatch says
\"Invalid directive found in batch script\". Often a blank stands around an equals sign, a value
with blanks has no quotes, or a comment has no #.

```
#!/bin/bash
#SBATCH --job-name=my job
srun hostname
```

Source: sbatch's opt.c since 19.05; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for diagnostic in &script.diagnostics {
        if diagnostic.code != "directive-word" {
            continue;
        }
        let said = diagnostic.message.lines().next().unwrap_or_default();
        let mut finding = Finding::new(RULE.code, RULE.severity, said).refused();
        let (Some(range), Span::Script { line, start, .. }) =
            (script.bytes(&diagnostic.span), &diagnostic.span)
        else {
            findings.push(finding);
            continue;
        };
        // Behind an option that nobody knows, a word is what its value would have been.
        if script.diagnostics.iter().any(|other| {
            matches!(&other.span, Span::Script { line: of, start: from, .. } if of == line && from < start)
                && other.code == "unknown-option"
        }) {
            continue;
        }
        let whole = script.lines.range(*line);
        let before = script.text[whole.start..range.start].trim_end();
        // `--mem 4 G`: the number's unit.
        let number = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let unit = script.text[range.clone()].to_ascii_uppercase();
        let unit = unit.trim_end_matches('B').trim_end_matches('I');
        if number.len() < before.len()
            && number.ends_with([' ', '\t', '='])
            && matches!(unit, "K" | "M" | "G" | "T")
            && number.contains("--mem")
        {
            let value = &before[number.len()..];
            let edit = Edit::new(whole.start + before.len()..range.end, unit);
            finding = finding
                .at(range, "no option")
                .help(format!("no blank before the unit: {value}{unit}"))
                .fix([edit]);
            findings.push(finding);
            continue;
        }
        let help = if script.text[range.clone()].starts_with('=') || before.ends_with('=') {
            "no blanks around ="
        } else if before == "#SBATCH" {
            "a directive holds options: --name=value"
        } else {
            "put a value with blanks in quotes, and # before a comment"
        };
        finding = finding.at(range, "no option").help(help);
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        assert!(fires(&RULE, "#SBATCH --job-name=my «job»\n").refused);
        fires(&RULE, "#SBATCH «job-name=x»\n");
        let found = fires(&RULE, "#SBATCH --mail-user= «a@b»\n");
        assert_eq!(found.help.unwrap(), "no blanks around =");
    }

    #[test]
    fn a_unit_behind_a_blank() {
        let found = fires(&RULE, "#SBATCH --mem 4 «G» -n 1\n");
        assert_eq!(found.help.unwrap(), "no blank before the unit: 4G");
        fixes(&RULE, "#SBATCH --mem=16 GB\n", "#SBATCH --mem=16G\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --job-name='my job' # a job\n#SBATCH -n 4\n");
    }
}
