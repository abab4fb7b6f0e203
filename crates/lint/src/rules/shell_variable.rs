//! Y016: a shell variable in a directive.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::Given;
use model::option_table::{Effect, Key};

/// Y016.
pub const RULE: Rule = Rule {
    code: "Y016",
    name: "shell-variable",
    severity: Severity::Warning,
    summary: "a variable in a directive is never expanded",
    page: "Directives are comments of the shell and words of sbatch: no program puts a value in the place of
$USER, ${NAME} or `date`. A file is called \"$USER.out\" then, and a number is refused. For file
names there are %u, %x, %j and others; everything else can be given on the command line:
sbatch --account=\"$ACCOUNT\" job.sh.

```
#!/bin/bash
#SBATCH --output=/scratch/$USER/%j.out
srun hostname
```

Source: sbatch's opt.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Whether a value holds what a shell would expand.
pub(crate) fn is_one(given: &Given) -> bool {
    given
        .value
        .as_deref()
        .is_some_and(|value| expansion(value).is_some())
}

/// Where the first one begins, and how long it is.
fn expansion(value: &str) -> Option<std::ops::Range<usize>> {
    for (at, _) in value.match_indices(['$', '`']) {
        let rest = &value[at + 1..];
        if value[at..].starts_with('`') {
            let end = rest.find('`')?;
            return Some(at..at + end + 2);
        }
        let closing = match rest.chars().next() {
            Some('{') => '}',
            Some('(') => ')',
            Some(first) if first.is_ascii_alphabetic() || first == '_' => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                return Some(at..at + 1 + end);
            }
            Some(first) if first.is_ascii_digit() => return Some(at..at + 2),
            _ => continue,
        };
        let end = rest.find(closing).map_or(rest.len(), |end| end + 1);
        return Some(at..at + 1 + end);
    }
    None
}

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.directives() {
        let Some(value) = given.value.as_deref() else {
            continue;
        };
        let Some(found) = expansion(value) else {
            continue;
        };
        let Some(range) = script.value_bytes(given) else {
            continue;
        };
        // A word that is a command line of its own, or free text.
        if matches!(given.option.effect, Effect::Sets(Key::Comment | Key::Wrap)) {
            continue;
        }
        let place = if script.text.get(range.clone()) == Some(value) {
            range.start + found.start..range.start + found.end
        } else {
            range
        };
        let variable = &value[found];
        let mut finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!("{variable} is not expanded in a directive"),
        )
        .at(
            place,
            format!("sbatch takes the text {variable} as it stands"),
        );
        if script.is_refused(given) {
            finding.severity = Severity::Error;
            finding = finding.refused();
        }
        findings.push(finding.help(help(given, variable)));
    }
}

fn help(given: &Given, variable: &str) -> String {
    let long = given.option.long;
    let name = variable.trim_matches(['$', '{', '}']);
    let code = match name {
        "USER" | "LOGNAME" => Some("%u"),
        "SLURM_JOB_ID" | "SLURM_JOBID" => Some("%j"),
        "SLURM_JOB_NAME" => Some("%x"),
        "SLURM_ARRAY_TASK_ID" => Some("%a"),
        "SLURM_ARRAY_JOB_ID" => Some("%A"),
        _ => None,
    };
    match (given.option.effect, code) {
        (Effect::Sets(Key::Output | Key::Error | Key::Input), Some(code)) => {
            format!("write {code}: Slurm puts the value there")
        }
        _ => format!("give it on the command line: sbatch --{long}=… SCRIPT"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH -o /s/«$USER»/%j.out\n");
        assert!(found.help.unwrap().contains("%u"));
        let found = fires(&RULE, "#SBATCH --nodes=«${N}»\n");
        assert!(found.refused);
        fires(&RULE, "#SBATCH -J «$(date)»\n");
        fires(&RULE, "#SBATCH --mail-user=«`whoami`»@x\n");
        fires(&RULE, "#SBATCH -A «$1»\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -o %u.out -J a$ --comment='costs 5$' # $USER\necho $USER\n",
        );
    }
}
