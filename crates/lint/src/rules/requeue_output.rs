//! Y030: output that a requeue empties.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
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
    let names = [&request.output, &request.rare.error];
    let nowhere = request.output.as_deref() == Some("/dev/null");
    let counted = names
        .iter()
        .any(|name| name.as_deref().is_some_and(|name| name.contains("%r")));
    // `scontrol requeue $SLURM_JOB_ID`, where no option says whether it may.
    let by_itself = script.shell.commands.iter().find(|command| {
        let mut words = command.program().iter().map(|word| &*word.text);
        words.next() == Some("scontrol") && words.next() == Some("requeue")
    });
    let comes_back = request.rare.requeue.unwrap_or(by_itself.is_some());
    if !comes_back || request.rare.open_mode == Some(OpenMode::Append) || nowhere || counted {
        return;
    }
    let open_mode = script.last(Key::OpenMode).is_some();
    let message = "when the job comes back, its output starts anew";
    let label = "what was printed before is lost";
    let finding = match (script.last(Key::Requeue), by_itself) {
        (Some(given), _) => script.finding(RULE.code, RULE.severity, given, message, label),
        (None, Some(command)) => {
            let end = script
                .lines
                .range(script.lines.number(command.range.start))
                .end;
            Finding::new(RULE.code, RULE.severity, message)
                .at(command.range.start..command.range.end.min(end), label)
        }
        (None, None) => return,
    };
    let finding = finding.help("add --open-mode=append");
    let several = script.kinds.kinds.contains(&LineKind::Separator);
    // Behind the place where sbatch stops a directive would not be read.
    findings.push(if open_mode || several || !script.is_read_whole() {
        finding
    } else {
        finding.fix([script.new_directive("--open-mode=append")])
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, fixes_not, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--requeue» -o %j.out\n");
        fires(&RULE, "#SBATCH «--requeue» --open-mode=truncate\n");
        fires(
            &RULE,
            "#SBATCH -o x.out\nsrun x\n«scontrol requeue $SLURM_JOB_ID»\n",
        );
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --requeue --open-mode=append\n");
        silent(&RULE, "#SBATCH --requeue -o %j.%r.out\n");
        silent(&RULE, "#SBATCH --no-requeue -o %j.out\n");
        silent(&RULE, "#SBATCH --requeue --no-requeue\n");
        silent(&RULE, "#SBATCH --no-requeue\nscontrol requeue 5\n");
        silent(
            &RULE,
            "#SBATCH --open-mode=append\nscontrol requeue $SLURM_JOB_ID\n",
        );
    }

    #[test]
    fn adds_none_that_would_not_be_read() {
        fixes_not(
            &RULE,
            "#SBATCH «--requeue»\n#SBATCH -J Ada's\n#SBATCH -n 4 -o x\n",
        );
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
