//! All rules over one script.

use crate::ignore::Ignores;
use crate::input::LintInput;
use crate::script::Script;
use crate::{Finding, RULES, Severity};

/// Looks at a script with all rules. Findings come in the order in which they stand in it.
#[must_use]
pub fn check(input: &LintInput<'_>) -> Vec<Finding> {
    let script = Script::read(input);
    let mut findings = Vec::new();
    for rule in RULES {
        if rule.needs_cluster && input.cluster.is_none() || !rule.can_hold(script.version) {
            continue;
        }
        let before = findings.len();
        (rule.check)(&script, input, &mut findings);
        if rule.is_open(script.version) {
            for finding in findings[before..]
                .iter_mut()
                .filter(|finding| !finding.refused)
            {
                finding.severity = Severity::Note;
            }
        }
    }
    Ignores::read(&script).settle(&script, &mut findings);
    findings.sort_by_key(|finding| (finding.start(), finding.code));
    findings
}

/// Whether `sbatch` refuses a script of which that was found.
#[must_use]
pub fn is_refused(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.refused)
}
