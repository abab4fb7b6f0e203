//! Y056: `mpirun` under `srun`, or the other way round.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity, steps};

/// Y056.
pub const RULE: Rule = Rule {
    code: "Y056",
    name: "launcher-in-launcher",
    severity: Severity::Warning,
    summary: "srun starts mpirun once for each task, or mpirun starts srun",
    page: "srun starts a process for each task, and so does mpirun. One in the other makes tasks × tasks of
them, or a step inside a step that waits for ever. One is enough: srun --mpi=pmix program, or mpirun
program.

```
#!/bin/bash
#SBATCH --ntasks=8
srun mpirun ./solver
```

Source: srun's manual page; Open MPI's documentation on Slurm.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

const MPI: &[&str] = &["mpirun", "mpiexec", "orterun", "mpiexec.hydra"];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for srun in steps::sruns(script) {
        let program = srun.inner.first().map_or("", |word| &*word.text);
        let name = program.rsplit('/').next().unwrap_or(program);
        // One task that starts mpirun, such as on another node, is one mpirun.
        let one = srun.value("ntasks") == Some("1");
        let several = script.request().tasks.is_some_and(|tasks| tasks > 1)
            || srun.value("ntasks").is_some_and(|tasks| tasks != "1");
        if MPI.contains(&name) && several && !one && !srun.unknown {
            findings.push(
                Finding::new(
                    RULE.code,
                    RULE.severity,
                    format!("srun starts {name} once for each task"),
                )
                .at(srun.word.range.clone(), "")
                .help("use one of them"),
            );
        }
    }
    for command in &script.shell.commands {
        let words = command.program();
        if !MPI.contains(&command.name()) {
            continue;
        }
        if let Some(inner) = words.iter().skip(1).find(|word| word.text == "srun") {
            findings.push(
                Finding::new(
                    RULE.code,
                    RULE.severity,
                    format!("{} starts srun", command.name()),
                )
                .at(inner.range.clone(), "")
                .help("use one of them"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -n 8\n«srun» --mpi=pmix mpirun -np 8 ./a\n");
        fires(&RULE, "#SBATCH -n 8\nmpirun -np 8 «srun» ./a\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -n 8\nsrun ./a\nmpirun ./b\n");
        silent(&RULE, "#SBATCH -n 8\nsrun -n 1 -w n2 mpirun ./a &\n");
        silent(&RULE, "#SBATCH -n 8\nmpirun ./a # srun\n");
    }
}
