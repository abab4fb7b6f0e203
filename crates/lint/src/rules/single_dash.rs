//! Y020: `-output=x`.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, LintInput, Severity};
use model::option_table::{Command, options_of};

/// Y020.
pub const RULE: Rule = Rule {
    code: "Y020",
    name: "single-dash",
    severity: Severity::Error,
    summary: "a long name with one dash is read as letters",
    page: "-output=x is -o with the value \"utput=x\", -array=1-4 is -a with \"rray=1-4\", -exclusive is
-e with \"xclusive\": the errors go to a file of that name.

```
#!/bin/bash
#SBATCH -output=job.out
srun hostname
```

Source: getopt_long; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Vec<Finding>) {
    let mut last = usize::MAX;
    for given in script.directives() {
        let Some(word) = script.bytes(&given.span).filter(|word| word.start != last) else {
            continue;
        };
        let written = &script.text[word.clone()];
        let Some(text) = written
            .strip_prefix('-')
            .filter(|text| !text.starts_with('-'))
        else {
            continue;
        };
        let name = text.split('=').next().unwrap_or(text);
        let is_long = |name: &str| options_of(Command::Sbatch).any(|option| option.long == name);
        if name.len() < 3 || !is_long(name) {
            continue;
        }
        last = word.start;
        let mut finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!(
                "-{name} is read as {} with the value {:?}",
                given.written,
                given.value.as_deref().unwrap_or_default()
            ),
        )
        .at(
            word.clone(),
            format!("a long name has two dashes: --{name}"),
        )
        .fix([Edit::new(word.start..word.start, "-")]);
        if script.is_refused(given) {
            finding = finding.refused();
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «-output=x»\n");
        assert!(found.message.contains("utput=x"), "{}", found.message);
        fires(&RULE, "#SBATCH -N1 «-exclusive»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -n4 -oout -Jname --time=1 -wnode\n");
    }

    #[test]
    fn fixes_the_dash() {
        fixes(&RULE, "#SBATCH -output=x\n", "#SBATCH --output=x\n");
    }
}
