//! Y081: a trap that comes too late.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::shell::Command;
use crate::{Finding, Found, LintInput, Severity, signals};

/// Y081.
pub const RULE: Rule = Rule {
    code: "Y081",
    name: "trap-in-foreground",
    severity: Severity::Warning,
    summary: "a trap does not run while a command is in the foreground",
    page:
        "bash runs a trap between commands. While srun or python runs in the foreground, the warning
signal waits until that command has ended, and the time limit ends it first. Start it in the
background and wait: srun … & wait $!. The wait ends early when the trap has run: wait again.

```
#!/bin/bash
#SBATCH --signal=B:USR1@120
trap 'touch stop' USR1
srun python train.py
```

Source: bash's manual page, signals; measured with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// What runs long.
const WORK: &[&str] = &[
    "srun",
    "mpirun",
    "mpiexec",
    "python",
    "python3",
    "torchrun",
    "accelerate",
    "deepspeed",
    "horovodrun",
    "singularity",
    "apptainer",
];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let Some(signal) = signals::to_the_shell(script) else {
        return;
    };
    let trap = signals::traps(script).find(|(_, signals)| signals.contains(&signal.signal));
    let Some((trap, _)) = trap.filter(|_| script.shell.sound) else {
        return;
    };
    let work = |command: &&crate::shell::Command<'_>| {
        WORK.contains(&command.name())
            && !command.substitution
            && (!command.function || is_called_behind(script, command, trap))
    };
    let mut works = script.shell.commands.iter().filter(work);
    let in_background = works.clone().any(|command| command.background);
    let behind = works.find(|command| {
        (command.function || command.range.start > trap.range.start) && !command.background
    });
    let Some(behind) = behind.filter(|_| !in_background) else {
        return;
    };
    let word = behind
        .program()
        .first()
        .map_or(behind.range.clone(), |word| word.range.clone());
    findings.push(
        Finding::new(
            RULE.code,
            RULE.severity,
            "the trap waits until this command has ended",
        )
        .at(word, "in the foreground")
        .at(trap.words[0].range.clone(), "this trap")
        .help(format!("{} … & wait $!", behind.name())),
    );
}

/// Whether a command stands in a function that is called in the foreground behind a trap:
/// `main() { srun x; }`, `trap … USR1`, `main`.
fn is_called_behind(script: &Script<'_>, command: &Command<'_>, trap: &Command<'_>) -> bool {
    let before = &script.text[..command.range.start];
    let Some(head) = before.rfind("()") else {
        return false;
    };
    let word = |c: char| c.is_alphanumeric() || "_-".contains(c);
    let name = before[..head].trim_end().rsplit(|c: char| !word(c)).next();
    let calls = |call: &&Command<'_>| {
        Some(call.name()) == name && !call.function && call.range.start > trap.range.start
    };
    let mut calls = script.shell.commands.iter().filter(calls).peekable();
    name.is_some_and(|name| !name.is_empty())
        && calls.peek().is_some()
        && calls.all(|call| !call.background)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(
            &RULE,
            "#SBATCH --signal=B:USR1@120\ntrap 'touch stop' USR1\n«srun» python x.py\n",
        );
        fires(
            &RULE,
            "#SBATCH --signal=B:TERM@60\ntrap save SIGTERM INT\n«python» x.py | tee log\n",
        );
    }

    #[test]
    fn work_in_a_function_that_is_called_behind_the_trap() {
        let head = "#SBATCH --signal=B:USR1@120\n";
        fires(
            &RULE,
            &format!("{head}main() {{\n  «srun» y\n}}\ntrap 'touch stop' USR1\nmain\n"),
        );
        silent(
            &RULE,
            &format!("{head}main() {{\n  srun y\n}}\ntrap 'touch stop' USR1\nmain &\nwait\n"),
        );
        silent(
            &RULE,
            &format!("{head}main() {{\n  srun y\n}}\ntrap 'touch stop' USR1\n"),
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
            "#SBATCH --signal=B:USR1@120\ntrap 'touch stop' USR2\nsrun x\n",
        );
        silent(
            &RULE,
            "#SBATCH --signal=USR1@120\ntrap 'touch stop' USR1\nsrun x\n",
        );
        silent(&RULE, "trap 'rm -r x' EXIT\nsrun x\n");
    }
}
