//! Y002: an abbreviation of several options.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};

/// Y002.
pub const RULE: Rule = Rule {
    code: "Y002",
    name: "ambiguous-option",
    severity: Severity::Error,
    summary: "a shortened name fits several options: the script is refused",
    page:
        "Long names can be shortened as long as only one option begins so. What is unique today need
not be with the next Slurm, which may bring another option that begins so. A name that is written in
full is never ambiguous: --gpus is one, --gpu isn't.

```
#!/bin/bash
#SBATCH --gre=gpu:1
nvidia-smi
```

Source: getopt_long; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for diagnostic in &script.diagnostics {
        let Some((_, possible)) = diagnostic.message.split_once("possibilities:") else {
            continue;
        };
        if diagnostic.code != "unknown-option" {
            continue;
        }
        let names: Vec<&str> = possible
            .split('\'')
            .filter(|name| name.starts_with("--"))
            .collect();
        let word = diagnostic.message.split('\'').nth(1).unwrap_or_default();
        let name = word.split('=').next().unwrap_or(word);
        let finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!("{name} can be several options"),
        )
        .refused();
        let label = match names.get(6..) {
            Some(more) if !more.is_empty() => {
                format!("{} or {} others", names[..6].join(", "), more.len())
            }
            _ => names.join(" or "),
        };
        findings.push(match script.bytes(&diagnostic.span) {
            Some(range) => finding.at(range.start..range.end.min(range.start + name.len()), label),
            None => finding.help(label),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «--gre»=gpu:1\n");
        assert_eq!(found.labels[0].text, "--gres or --gres-flags");
        assert!(found.refused);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --gres=gpu:1 --part=x --nosuch\n");
    }
}
