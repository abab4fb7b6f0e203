//! Y080: a warning signal that ends the script.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity, signals};
use model::option_table::Key;

/// Y080.
pub const RULE: Rule = Rule {
    code: "Y080",
    name: "signal-without-trap",
    severity: Severity::Warning,
    summary: "--signal=B: to a shell without a trap ends the job early",
    page: "--signal=B:USR1@300 sends the signal to the batch shell alone. A shell that has no trap for it
ends at once, and the job with it: five minutes early, without a checkpoint. Without B: the signal
goes to the processes of the steps.

```
#!/bin/bash
#SBATCH --signal=B:USR1@300
srun python train.py
```

Source: sbatch's manual page, --signal; measured with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let (Some(_), Some(given)) = (signals::to_the_shell(script), script.last(Key::Signal)) else {
        return;
    };
    // A program that took the shell's place has the signal, and a sourced file may hold a trap.
    let other = script.shell.commands.iter().any(|command| {
        let first = command.words.first().map_or("", |word| &*word.text);
        matches!(first, "exec" | "source" | "." | "trap" | "eval")
    });
    if !script.is_shell || !script.shell.sound || other || script.text.contains("trap") {
        return;
    }
    findings.push(
        script
            .finding(
                RULE.code,
                RULE.severity,
                given,
                "the signal ends the batch shell, and the job with it",
                "no trap in the script",
            )
            .help("trap 'what to do' SIGNAL, or leave B: out so that the steps get it"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--signal=B:USR1@300»\nsrun python x.py\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH --signal=B:USR1@300\ntrap 'touch stop' USR1\nsrun x & wait\n",
        );
        silent(&RULE, "#SBATCH --signal=USR1@300\nsrun python x.py\n");
        silent(&RULE, "#SBATCH --signal=B:USR1@300\nexec python x.py\n");
        silent(
            &RULE,
            "#SBATCH --signal=B:USR1@300\nsource lib.sh\nsrun x\n",
        );
    }
}
