//! Y030: output that a requeue empties.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::OpenMode;
use model::option_table::Key;
use model::script_lines::LineKind;

/// Y030.
pub const RULE: Rule = Rule {
    code: "Y030",
    name: "requeue-output",
    severity: Severity::Warning,
    summary: "a requeued job starts with empty output files",
    page:
        "A requeued job keeps its id, so %j names the same file as before, and Slurm empties it when
the job starts again: what was printed up to then is lost. --open-mode=append keeps it. Sites can
make that the default (JobFileAppend=1).

```
#!/bin/bash
#SBATCH --requeue
#SBATCH --output=%x-%j.out
srun python train.py
```

Source: slurm.conf's JobFileAppend, sbatch's --open-mode; measured with 22.05.8.",
    holds: Holds::SeenIn2205,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let request = script.request();
    let names = [&request.output, &request.error];
    let nowhere = request.output.as_deref() == Some("/dev/null");
    let counted = names
        .iter()
        .any(|name| name.as_deref().is_some_and(|name| name.contains("%r")));
    if request.requeue != Some(true)
        || request.open_mode == Some(OpenMode::Append)
        || nowhere
        || counted
    {
        return;
    }
    let Some(given) = script.last(Key::Requeue) else {
        return;
    };
    let open_mode = script.last(Key::OpenMode).is_some();
    let finding = script
        .finding(
            RULE.code,
            RULE.severity,
            given,
            "when the job comes back, its output starts anew",
            "what was printed before is lost",
        )
        .help("add --open-mode=append");
    let several = script.kinds.kinds.contains(&LineKind::Separator);
    findings.push(match open_mode || several {
        true => finding,
        false => finding.fix([script.new_directive("--open-mode=append")]),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--requeue» -o %j.out\n");
        fires(&RULE, "#SBATCH «--requeue» --open-mode=truncate\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --requeue --open-mode=append\n");
        silent(&RULE, "#SBATCH --requeue -o %j.%r.out\n");
        silent(&RULE, "#SBATCH --no-requeue -o %j.out\n");
        silent(&RULE, "#SBATCH --requeue --no-requeue\n");
    }

    #[test]
    fn adds_a_directive() {
        fixes(
            &RULE,
            "#SBATCH --requeue\ntrue\n",
            "#SBATCH --requeue\n#SBATCH --open-mode=append\ntrue\n",
        );
    }
}
