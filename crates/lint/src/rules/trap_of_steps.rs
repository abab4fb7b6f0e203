//! Y082: a trap whose signal goes to others.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity, signals};
use model::SignalTarget;
use model::option_table::Key;

/// Y082.
pub const RULE: Rule = Rule {
    code: "Y082",
    name: "trap-of-steps",
    severity: Severity::Warning,
    summary: "the script traps a signal that only the steps get",
    page: "--signal=USR1@120 without B: goes to the processes of the job steps, not to the batch shell: a
trap in the script never runs, and a process of a step that doesn't handle USR1 is ended by it.
--signal=B:USR1@120 goes to the shell.

```
#!/bin/bash
#SBATCH --signal=USR1@120
trap 'touch stop' USR1
srun python train.py &
wait
```

Source: sbatch's manual page, --signal; measured with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let (Some(signal), Some(given)) = (script.request().rare.signal, script.last(Key::Signal))
    else {
        return;
    };
    if signal.target == SignalTarget::BatchShell || !script.shell.sound {
        return;
    }
    let trap = signals::traps(script).find(|(_, signals)| signals.contains(&signal.signal));
    let Some((trap, _)) = trap else {
        return;
    };
    // A trap in the text of a step's own shell is another matter.
    findings.push(
        script
            .finding(
                RULE.code,
                RULE.severity,
                given,
                "this signal goes to the steps, not to the script's trap",
                "no B: before the signal",
            )
            .at(trap.words[0].range.clone(), "never runs for it")
            .help("--signal=B:… sends it to the batch shell"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(
            &RULE,
            "#SBATCH «--signal=USR1@120»\ntrap 'touch stop' SIGUSR1\nsrun x &\nwait\n",
        );
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH --signal=B:USR1@120\ntrap 'touch stop' USR1\nsrun x &\nwait\n",
        );
        silent(
            &RULE,
            "#SBATCH --signal=USR1@120\ntrap 'rm x' EXIT\nsrun x\n",
        );
        silent(&RULE, "#SBATCH --signal=USR1@120\ntrap '' USR1\nsrun x\n");
    }
}
