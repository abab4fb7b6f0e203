//! Y019: `--mail-user= a@b`.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::Given;
use std::ops::Range;

/// Y019.
pub const RULE: Rule = Rule {
    code: "Y019",
    name: "empty-value",
    severity: Severity::Note,
    summary: "an option has an empty value: a blank behind the equals sign, or nothing",
    page: "In --time= 5 the value of --time is empty, and 5 is a stray word. In --account= the value is
empty: sbatch may refuse it, or ask for an account without a name.

```
#!/bin/bash
#SBATCH --account=
srun hostname
```

Source: getopt_long; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// The word of an option behind whose equals sign nothing stands.
pub(crate) fn of(script: &Script<'_>, given: &Given) -> Option<Range<usize>> {
    let word = script.bytes(&given.span)?;
    let written = &script.text[word.clone()];
    let empty = given.value.as_deref() == Some("");
    (empty && written.starts_with("--") && written.ends_with('=')).then_some(word)
}

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.directives() {
        let Some(word) = of(script, given) else {
            continue;
        };
        let mut finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!("{} has an empty value", given.written),
        )
        .at(word.clone(), "nothing behind the equals sign");
        if script.text[word.end..].starts_with('#') {
            finding = finding
                .really("the # begins a comment, wherever it stands")
                .help("put the value in quotes if the # belongs to it");
        }
        if script.text[word.end..].starts_with([' ', '\t']) {
            let line = script.lines.range(script.lines.number(word.start));
            let rest = script.text[word.end..line.end].trim_start();
            if !rest.is_empty() && !rest.starts_with(['#', '-']) {
                finding = finding.help("no blanks around =");
            }
        }
        if script.is_refused(given) {
            finding.severity = Severity::Error;
            finding = finding.refused();
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, fires, lint, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «--mail-user=» a@b.c\n");
        assert_eq!(found.help.unwrap(), "no blanks around =");
        fires(&RULE, "#SBATCH «--account=»\n");
        let found = fires(&RULE, "#SBATCH «--job-name=»##runName##\n");
        assert!(found.really.unwrap().contains("comment"));
    }

    #[test]
    fn one_mistake_is_one_error() {
        let found = lint(Setup::PLAIN, "#!/bin/sh\n#SBATCH --time=##x##\nsrun a\n");
        let codes: Vec<&str> = found.iter().map(|one| one.code).collect();
        assert_eq!(codes, [RULE.code]);
        assert!(found[0].refused);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mail-user=a@b.c --export=A= --nice\n");
    }
}
