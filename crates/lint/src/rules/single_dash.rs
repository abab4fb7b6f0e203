//! Y020: `-output=x`.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::option_table::{Command, Takes, options_of};

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

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
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
        let meant = options_of(Command::Sbatch).find(|option| option.long == name);
        let Some(meant) = meant.filter(|_| name.len() >= 3) else {
            continue;
        };
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
        );
        // Without a value of its own it would take the next word for one.
        if meant.takes != Takes::Required || text.contains('=') {
            finding = finding.fix([Edit::new(word.start..word.start, "-")]);
        }
        if script.is_refused(given) {
            finding = finding.refused();
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, fixes_not, silent};

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
        // Its value would be the next word then.
        fixes_not(&RULE, "#SBATCH «-output»\n#SBATCH --time=1\n");
        // This one sbatch takes as it is, and would not take with two dashes.
        fixes_not(&RULE, "#SBATCH «-open-mode=x»\n");
    }
}
