//! Makes the fixes of findings, until there is nothing left to fix.

use crate::Finding;
use crate::edit::{Edit, apply};

/// Rounds after which fixing ends, whatever is left: each makes all fixes that don't meet.
const MOST_ROUNDS: usize = 20;

/// A text with its fixes made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The text.
    pub text: String,
    /// How many fixes were made.
    pub made: usize,
    /// What is left.
    pub findings: Vec<Finding>,
}

/// Makes the fixes that `check` finds. Fixes that meet are made in different rounds, after looking
/// again; a fix that would leave as many findings as before is not made.
pub fn fix(text: &str, check: impl Fn(&str) -> Vec<Finding>) -> Fixed {
    let mut fixed = Fixed {
        text: text.to_owned(),
        made: 0,
        findings: check(text),
    };
    for _ in 0..MOST_ROUNDS {
        let (edits, made) = choose(&fixed.findings);
        if made == 0 {
            break;
        }
        let text = apply(&fixed.text, &edits);
        let findings = check(&text);
        let open = |findings: &[Finding]| findings.iter().filter(|f| f.fix.is_some()).count();
        if text == fixed.text || open(&findings) > open(&fixed.findings) {
            break;
        }
        fixed = Fixed {
            text,
            made: fixed.made + made,
            findings,
        };
    }
    fixed
}

/// The edits of as many findings as can be made at once, and how many findings those are.
#[must_use]
pub fn choose(findings: &[Finding]) -> (Vec<Edit>, usize) {
    let mut chosen: Vec<Edit> = Vec::new();
    let mut made = 0;
    for edits in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let meets = |edit: &Edit| chosen.iter().any(|other| other.meets(edit));
        if !edits.is_empty() && !edits.iter().any(meets) {
            chosen.extend(edits.iter().cloned());
            made += 1;
        }
    }
    (chosen, made)
}
