//! Y075: the folder of a script that is a copy.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};

/// Y075.
pub const RULE: Rule = Rule {
    code: "Y075",
    name: "spool-copy",
    severity: Severity::Warning,
    summary: "$0 in a batch script is Slurm's copy of it, in another folder",
    page: "sbatch sends a copy of the script to the node, and that copy runs: $0 and BASH_SOURCE name a file
such as /var/spool/slurmd/job123/slurm_script. dirname \"$0\" is not the folder where the script
stands. SLURM_SUBMIT_DIR is the folder from which it was submitted.

```
#!/bin/bash
#SBATCH --ntasks=1
cd \"$(dirname \"$0\")\"
srun ./solver
```

Source: slurmd's batch launch; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    // A script that asks where it comes from, or that can tell a job from a call, knows.
    let knows = [
        "Command=",
        "SLURM_SUBMIT_DIR",
        "scontrol show job",
        "SLURM_JOB_ID:",
        "SLURM_JOBID:",
        "-z \"$SLURM",
        "-n \"$SLURM",
        "-z $SLURM",
        "-n $SLURM",
        "-z \"${SLURM",
        "-n \"${SLURM",
        "-z ${SLURM",
        "-n ${SLURM",
        "-v SLURM_JOB",
        "SLURM_JOB_ID+",
        "SLURM_JOB_ID-",
        // One that submits itself does so where it lies.
        "sbatch $0",
        "sbatch \"$0\"",
    ];
    if knows.iter().any(|word| script.text.contains(word)) || script.directives().next().is_none() {
        return;
    }
    for command in &script.shell.commands {
        if !matches!(command.name(), "dirname" | "realpath" | "readlink") || command.function {
            continue;
        }
        let own = command.words.iter().find(|word| {
            let text = &*word.text;
            text == "$0"
                || text == "${0}"
                || text.starts_with("$BASH_SOURCE")
                || text.starts_with("${BASH_SOURCE")
        });
        if let Some(word) = own {
            findings.push(
                Finding::new(
                    RULE.code,
                    RULE.severity,
                    format!("{} names Slurm's copy of the script", word.text),
                )
                .at(word.range.clone(), "a file in slurmd's own folder")
                .help("SLURM_SUBMIT_DIR is the folder from which the script was submitted"),
            );
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -n 1\ncd $(dirname «$0»)\n");
        fires(
            &RULE,
            "#SBATCH -n 1\nD=\"$(cd \"$(dirname «\"${BASH_SOURCE[0]}\"»)\" && pwd)\"\n",
        );
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -n 1\necho usage: $0\ncd $(dirname $1)\n");
        silent(
            &RULE,
            "#SBATCH -n 1\nD=${SLURM_SUBMIT_DIR:-$(dirname $0)}\n",
        );
        silent(&RULE, "cd $(dirname $0)\n");
        for test in [
            "-z $SLURM_JOB_ID",
            "! -v SLURM_JOB_ID",
            "-z \"${SLURM_JOB_ID}\"",
        ] {
            let script = format!("#SBATCH -n 1\nif [[ {test} ]]; then cd $(dirname $0); fi\n");
            silent(&RULE, &script);
        }
    }
}
