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

use crate::{Finding, Severity};

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

#[cfg(test)]
mod tests;
