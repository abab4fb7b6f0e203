//! Y800: a run file that can't be read as one.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::Problem;
use std::ops::Range;

/// Y800.
pub const RULE: Rule = Rule {
    code: "Y800",
    name: "run-file",
    severity: Severity::Error,
    summary: "a run file says something that yard run would not take",
    page:
        "A yard.toml is read with the parser of yard run: unknown keys are refused with the nearest
known one, times need a unit, and what excludes each other is said.

```
name = \"digits\"
comand = [\"python\", \"train.py\"]
```",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Run files come with their problems: see [`run_file_findings`].
fn check(_: &Script<'_>, _: &LintInput<'_>, _: &mut Found) {}

/// What is wrong with a run file, as findings; the problems are those of its parser.
#[must_use]
pub fn run_file_findings(problems: &[Problem]) -> Vec<Finding> {
    let finding = |problem: &Problem| {
        let finding = Finding::new(RULE.code, RULE.severity, problem.message.clone())
            .at(problem.span.clone(), problem.label.clone());
        match &problem.help {
            Some(help) => finding.help(help.clone()),
            None => finding,
        }
    };
    problems.iter().map(finding).collect()
}

/// What a run file names and what is not there, in words; `place` is the line that names it.
#[must_use]
pub fn run_misses(severity: Severity, what: &str, place: Option<Range<usize>>) -> Finding {
    let finding = Finding::new(RULE.code, severity, what);
    match place {
        Some(range) => finding.at(range, ""),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_become_findings() {
        let problem = Problem {
            span: 0..4,
            message: "unknown key".to_owned(),
            label: "here".to_owned(),
            help: Some("did you mean command?".to_owned()),
        };
        let findings = run_file_findings(&[problem]);
        assert_eq!(findings[0].labels[0].range, 0..4);
        assert_eq!(findings[0].help.as_deref(), Some("did you mean command?"));
    }
}
