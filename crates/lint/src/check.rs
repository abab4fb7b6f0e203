//! All rules over one script.

use crate::components::later_components;
use crate::cut_short::{LookedAt, commands_not_looked_at};
use crate::fix::choose_of;
use crate::ignore::Ignores;
use crate::input::LintInput;
use crate::script::{Script, errors, options_read, refusals};
use crate::{Edit, Finding, Found, Holds, RULES, Severity, apply};

/// Looks at a script with all rules. Findings come in the order in which they stand in it.
#[must_use]
pub fn check(input: &LintInput<'_>) -> Vec<Finding> {
    let looked = LookedAt::of(input.text);
    let input = &LintInput {
        text: &looked.text,
        ..*input
    };
    let script = Script::read(input);
    let mut findings = of_rules(&script, input);
    let more = later_components(&script, input, &findings, of_rules);
    // What stands in a later component is said of that one.
    findings.retain(|one| {
        let same = |other: &Finding| other.code == one.code && other.labels == one.labels;
        one.labels.is_empty() || !more.iter().any(same)
    });
    findings.extend(more);
    findings.extend(looked.rest);
    findings.extend(commands_not_looked_at(&script));
    keep_safe_fixes(&script, input, &mut findings);
    findings.iter_mut().for_each(Finding::cut_long_words);
    Ignores::read(&script).settle(&script, &mut findings);
    findings.sort_by_key(|finding| (finding.start(), finding.code));
    findings
}

/// What all rules that hold find, with its fixes as they were proposed.
fn of_rules(script: &Script<'_>, input: &LintInput<'_>) -> Vec<Finding> {
    let mut findings = Found::default();
    for rule in RULES {
        if rule.needs_cluster && input.cluster.is_none() || !rule.can_hold(script.version) {
            continue;
        }
        // What a cluster would say rests on all options.
        if rule.needs_cluster && !script.is_read_whole() {
            continue;
        }
        let before = findings.so_far().len();
        (rule.check)(script, input, &mut findings);
        if matches!(rule.holds, Holds::Between(..)) && script.version_is_assumed {
            for finding in findings.since(before) {
                *finding = script.as_sure_as_version(finding.clone());
            }
        }
        if rule.is_open(script.version) {
            for finding in findings
                .since(before)
                .iter_mut()
                .filter(|finding| !finding.refused)
            {
                finding.severity = Severity::Note;
            }
        }
    }
    findings.told()
}

/// Fixes that are tried one by one; of more, many are tried at once, and those that do harm found by
/// halves.
const MOST_ALONE: usize = 32;

/// So many bytes of directives are read again to try fixes, whatever the script.
const MOST_READ: usize = 4 << 20;

/// Takes fixes away after which `sbatch` would have more to refuse than before, and directives that
/// it would not read: they would be added again and again.
fn keep_safe_fixes(script: &Script<'_>, input: &LintInput<'_>, findings: &mut [Finding]) {
    // Behind the first command nothing is sbatch's to read.
    let head = script
        .kinds
        .first_command
        .map_or(script.text.len(), |line| script.lines.with_end(line).start);
    let before = errors(&script.diagnostics);
    let in_head = |edits: &Vec<Edit>| edits.iter().any(|edit| edit.start < head);
    let asked = (0..findings.len()).filter(|index| {
        let finding = &findings[*index];
        !finding.refused && finding.fix.as_ref().is_some_and(in_head)
    });
    let asked: Vec<usize> = asked.collect();
    let mut groups: Vec<Vec<usize>> = if asked.len() > MOST_ALONE {
        vec![asked]
    } else {
        asked.into_iter().map(|index| vec![index]).collect()
    };
    let mut looked = 0;
    while let Some(mut group) = groups.pop() {
        // What is not looked at is not promised.
        if looked >= MOST_ALONE && looked * head > MOST_READ {
            group.iter().for_each(|index| findings[*index].fix = None);
            continue;
        }
        looked += 1;
        let fixes = group.iter().map(|index| findings[*index].fix.as_deref());
        let (edits, made) = choose_of(fixes.map(Option::unwrap_or_default));
        let mut place = 0;
        let (mut tried, others): (Vec<usize>, Vec<usize>) = group.drain(..).partition(|_| {
            place += 1;
            made[place - 1]
        });
        if !others.is_empty() && !tried.is_empty() {
            groups.push(others);
        }
        let adds = |edit: &Edit| edit.start == edit.end && edit.text.contains("#SBATCH -");
        let fixed = apply(script.text, &edits);
        let is_lost =
            edits.iter().any(adds) && options_read(input, &fixed) <= script.sbatch.given.len();
        if !is_lost && refusals(input, &fixed) <= before {
            continue;
        }
        match *tried {
            [] => {}
            [one] => findings[one].fix = None,
            _ => {
                groups.push(tried.split_off(tried.len() / 2));
                groups.push(tried);
            }
        }
    }
}

/// Whether `sbatch` refuses a script of which that was found.
#[must_use]
pub fn is_refused(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.refused)
}
