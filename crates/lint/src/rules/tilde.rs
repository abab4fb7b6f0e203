//! Y033: `~` in a path.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::{Effect, Key};

/// Y033.
pub const RULE: Rule = Rule {
    code: "Y033",
    name: "tilde",
    severity: Severity::Warning,
    summary: "~ is not expanded in a directive",
    page:
        "~ is the shell's short name of the home folder, and directives don't pass through a shell.
Slurm looks for a folder called ~ in the folder from which the job was submitted.

```
#!/bin/bash
#SBATCH --output=~/logs/%j.out
srun hostname
```

Source: sbatch's opt.c and fname.c; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.directives() {
        let path = matches!(
            given.option.effect,
            Effect::Sets(Key::Output | Key::Error | Key::Input | Key::Chdir)
        );
        let value = given.value.as_deref().unwrap_or_default();
        if path && (value == "~" || value.starts_with("~/")) {
            findings.push(
                script
                    .finding(
                        RULE.code,
                        RULE.severity,
                        given,
                        "~ is not expanded in a directive",
                        "a folder called ~ where the job is submitted",
                    )
                    .help("write the whole path, or one below the folder of submission"),
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
        fires(&RULE, "#SBATCH «-o ~/x.out»\n");
        fires(&RULE, "#SBATCH «--chdir=~»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -o a~/x~.out --comment=~/x\ncd ~/x\n");
    }
}
