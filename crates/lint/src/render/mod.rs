//! What findings look like: for people, for programs, for code hosts.

mod diff;
mod github;
mod json;
mod sarif;
mod text;

pub use diff::diff;
pub use github::github;
pub use json::{json_file, json_head, json_tail};
pub use sarif::{sarif_head, sarif_results, sarif_tail};
pub use text::{summary, text};

use crate::{Edit, Finding, Lines, Severity, apply};
use std::borrow::Cow;

/// How many findings there are of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
    /// Those with a fix.
    pub fixable: usize,
}

impl Counts {
    /// Counts these too.
    pub fn add(&mut self, findings: &[Finding]) {
        for finding in findings {
            match finding.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
                Severity::Note => self.notes += 1,
            }
            self.fixable += usize::from(finding.fix.is_some());
        }
    }
}

/// So many edits of a fix are written one by one.
const MOST_EDITS: usize = 1000;

/// The edits of a fix as documents have them: very many of them as one, which is no longer than the
/// script.
fn few<'a>(edits: &'a [Edit], lines: &Lines<'_>) -> Cow<'a, [Edit]> {
    let start = edits.iter().map(|edit| edit.start).min();
    let end = edits.iter().map(|edit| edit.end).max();
    let (Some(start), Some(end), true) = (start, end, edits.len() > MOST_EDITS) else {
        return Cow::Borrowed(edits);
    };
    let mut text = apply(&lines.text()[..end], edits);
    text.drain(..start);
    Cow::Owned(vec![Edit::new(start..end, text)])
}

#[cfg(test)]
mod tests;
