//! All rules over one script.

use crate::components::later_components;
use crate::ignore::Ignores;
use crate::input::LintInput;
use crate::script::{Script, errors, options_read, refusals};
use crate::{Edit, Finding, RULES, Severity, apply};

/// Looks at a script with all rules. Findings come in the order in which they stand in it.
#[must_use]
pub fn check(input: &LintInput<'_>) -> Vec<Finding> {
    let script = Script::read(input);
    let mut findings = of_rules(&script, input);
    for finding in later_components(&script, input, of_rules) {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    keep_safe_fixes(&script, input, &mut findings);
    findings.iter_mut().for_each(Finding::cut_long_words);
    Ignores::read(&script).settle(&script, &mut findings);
    findings.sort_by_key(|finding| (finding.start(), finding.code));
    findings
}

/// What all rules that hold find, with its fixes as they were proposed.
fn of_rules(script: &Script<'_>, input: &LintInput<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        if rule.needs_cluster && input.cluster.is_none() || !rule.can_hold(script.version) {
            continue;
        }
        let before = findings.len();
        (rule.check)(script, input, &mut findings);
        if rule.is_open(script.version) {
            for finding in findings[before..]
                .iter_mut()
                .filter(|finding| !finding.refused)
            {
                finding.severity = Severity::Note;
            }
        }
    }
    findings
}

/// Takes fixes away after which `sbatch` would have more to refuse than before, and directives that
/// it would not read: they would be added again and again.
fn keep_safe_fixes(script: &Script<'_>, input: &LintInput<'_>, findings: &mut [Finding]) {
    // Behind the first command nothing is sbatch's to read.
    let head = script
        .kinds
        .first_command
        .map_or(script.text.len(), |line| script.lines.with_end(line).start);
    let before = errors(&script.diagnostics);
    for finding in findings.iter_mut().filter(|finding| !finding.refused) {
        let in_head = |edits: &&Vec<Edit>| edits.iter().any(|edit| edit.start < head);
        let Some(edits) = finding.fix.as_ref().filter(in_head) else {
            continue;
        };
        let adds = |edit: &Edit| edit.start == edit.end && edit.text.contains("#SBATCH -");
        let fixed = apply(script.text, edits);
        let is_lost =
            edits.iter().any(adds) && options_read(input, &fixed) <= script.sbatch.given.len();
        if is_lost || refusals(input, &fixed) > before {
            finding.fix = None;
        }
    }
}

/// Whether `sbatch` refuses a script of which that was found.
#[must_use]
pub fn is_refused(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.refused)
}
