//! Y073: a level that NCCL doesn't know.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};

/// Y073.
pub const RULE: Rule = Rule {
    code: "Y073",
    name: "nccl-level",
    severity: Severity::Warning,
    summary: "NCCL_DEBUG has a value that NCCL does not know",
    page: "NCCL_DEBUG takes VERSION, WARN, INFO, ABORT and TRACE. Another value is passed over, and nothing
is printed.

```
#!/bin/bash
#SBATCH --gpus=4
export NCCL_DEBUG=DEBUG
srun python train.py
```

Source: NCCL's documentation of its environment variables.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

const KNOWN: &[&str] = &["VERSION", "WARN", "INFO", "ABORT", "TRACE", ""];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for set in script
        .shell
        .commands
        .iter()
        .flat_map(|command| &command.sets)
    {
        let value = &*set.value.text;
        if set.name != "NCCL_DEBUG" || set.value.expands {
            continue;
        }
        if KNOWN.iter().any(|known| known.eq_ignore_ascii_case(value)) {
            continue;
        }
        let finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!("NCCL knows no level {value}"),
        )
        .at(set.range.clone(), "passed over")
        .help("INFO tells most");
        findings.push(
            if script.text.get(set.value.range.clone()) == Some("DEBUG") {
                finding.fix([Edit::new(set.value.range.clone(), "INFO")])
            } else {
                finding
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "export «NCCL_DEBUG=ON»\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "export NCCL_DEBUG=info\nNCCL_DEBUG=WARN srun x\nNCCL_DEBUG=$L\n",
        );
        silent(&RULE, "export NCCL_DEBUG_SUBSYS=ALL\n");
    }

    #[test]
    fn fixes_debug() {
        fixes(
            &RULE,
            "export NCCL_DEBUG=DEBUG\n",
            "export NCCL_DEBUG=INFO\n",
        );
    }
}
