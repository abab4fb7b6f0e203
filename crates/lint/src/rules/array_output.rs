//! Y032: array tasks that write one file.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y032.
pub const RULE: Rule = Rule {
    code: "Y032",
    name: "array-output",
    severity: Severity::Warning,
    summary: "all tasks of an array write into one file",
    page: "The name has no code that differs from task to task: %a (the task's number), %j (its own job
id). Each task that starts empties the file that the others write. %A is the id of the array, the
same for all.

```
#!/bin/bash
#SBATCH --array=0-9
#SBATCH --output=result.out
srun python part.py $SLURM_ARRAY_TASK_ID
```

Source: sbatch's manual page, filename pattern; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let request = script.request();
    let several = request
        .rare
        .array
        .as_ref()
        .is_some_and(|array| array.indices.len() > 1);
    if !several {
        return;
    }
    for key in [Key::Output, Key::Error] {
        let Some(given) = script.last(key) else {
            continue;
        };
        let value = given.value.as_deref().unwrap_or_default();
        if value.is_empty() || value.starts_with("/dev/") || value.eq_ignore_ascii_case("none") {
            continue;
        }
        if differs(value)
            || super::shell_variable::is_one(given)
            || super::placeholder::is_one(given)
        {
            continue;
        }
        findings.push(
            script
                .finding(
                    RULE.code,
                    RULE.severity,
                    given,
                    "all tasks of the array write this file",
                    "no %a and no %j in its name",
                )
                .help("such as %x-%A_%a.out"),
        );
    }
}

/// Whether a code in the name differs from task to task.
fn differs(value: &str) -> bool {
    value.split('%').skip(1).any(|rest| {
        let code = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        code.starts_with(['a', 'j', 'J', 'b'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH --array=0-9 «-o out.%A»\n");
        fires(&RULE, "#SBATCH -a 1,2 «--error=e»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --array=0-9 -o out.%A_%a -e %4j.err\n");
        silent(&RULE, "#SBATCH --array=0-9\n");
        silent(&RULE, "#SBATCH --array=7 -o out\n");
        silent(&RULE, "#SBATCH -o out\n");
        silent(&RULE, "#SBATCH --array=0-9 -o /dev/null\n");
    }
}
