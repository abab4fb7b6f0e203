//! Y008: options that exclude each other.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, LintInput, Severity};
use model::Given;

/// Y008.
pub const RULE: Rule = Rule {
    code: "Y008",
    name: "conflict",
    severity: Severity::Error,
    summary: "options exclude each other: the script is refused",
    page: "Memory is asked for a node, a CPU or a GPU, never for two of them. CPUs are asked for a task
or for a GPU. Tasks are counted for a GPU or for a node. More nodes cannot be named than asked for.

```
#!/bin/bash
#SBATCH --mem=16G
#SBATCH --mem-per-cpu=2G
srun hostname
```

Source: slurm_opt.c and sbatch's opt.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Vec<Finding>) {
    for diagnostic in &script.diagnostics {
        if diagnostic.code != "conflict" || diagnostic.severity != model::Severity::Error {
            continue;
        }
        let message = &diagnostic.message;
        let said = message.lines().next().unwrap_or_default();
        let mut finding = Finding::new(RULE.code, RULE.severity, said).refused();
        for given in script.directives().filter(|given| is_named(message, given)) {
            if let Some(range) = script.whole(given) {
                finding = finding.at(range, "");
            }
        }
        findings.push(finding);
    }
}

/// Whether a message names the option: as `--mem`, not as part of `--mem-per-cpu`.
fn is_named(message: &str, given: &Given) -> bool {
    let names = message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut names = names.map(|name| name.trim_start_matches('-'));
    let short = given.option.short;
    names.any(|name| {
        name == given.option.long
            || short.is_some_and(|short| name.len() == 1 && name.starts_with(short))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «--mem=1G»\n#SBATCH --mem-per-cpu=1G\n");
        assert_eq!(found.labels.len(), 2);
        assert!(found.refused);
        fires(&RULE, "#SBATCH «-N1» -w n[1-2]\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mem=1G --ntasks=2\n#SBATCH --mem=2G\n");
    }
}
