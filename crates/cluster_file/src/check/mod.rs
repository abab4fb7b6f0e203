//! Contradictions in a cluster file: what can't be so, or can't be meant.

mod accounts;
mod names;
mod nodes;
mod partitions;
mod policy;
mod programs;
mod words;

use super::{ClusterFile, List, NodeIndex, Sourced};
use model::{Problem, Severity};
use names::Names;
use std::ops::Range;

/// One contradiction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// A name that stays: `unknown-nodes`, `over-partition`, …
    pub code: &'static str,
    /// An error can't be so; a warning is probably not meant; a note rests on what is assumed, or
    /// is worth knowing.
    pub severity: Severity,
    /// Where, what, and what to do.
    pub problem: Problem,
}

impl ClusterFile {
    /// Everything that can't be so or is probably not meant, in the order of the text. Spans are
    /// bytes of the text that was parsed.
    #[must_use]
    pub fn check(&self) -> Vec<Contradiction> {
        let mut checker = Checker {
            file: self,
            index: self.node_index(),
            groups: Names::new(self.nodes.iter().map(|one| one.name.as_str())),
            qos: Names::new(self.qos.iter().map(|one| one.name.as_str())),
            accounts: Names::new(self.accounts.iter().map(|one| one.name.as_str())),
            hints: 0,
            found: Vec::new(),
        };
        checker.nodes();
        checker.partitions();
        checker.accounts();
        checker.policy();
        checker.programs();
        checker.words();
        checker.found.sort_by_key(|found| found.problem.span.start);
        checker.found
    }
}

/// For so many unknown names the nearest known one is looked for.
const MOST_HINTS: usize = 100;

/// Collects contradictions.
struct Checker<'a> {
    file: &'a ClusterFile,
    index: NodeIndex<'a>,
    groups: Names<'a>,
    qos: Names<'a>,
    accounts: Names<'a>,
    /// For how many names the nearest was looked for.
    hints: usize,
    found: Vec<Contradiction>,
}

impl Checker<'_> {
    fn say(
        &mut self,
        (code, severity): (&'static str, Severity),
        span: &Range<usize>,
        message: String,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let help = help.into();
        self.found.push(Contradiction {
            code,
            severity,
            problem: Problem {
                span: span.clone(),
                message,
                label: label.into(),
                help: (!help.is_empty()).then_some(help),
            },
        });
    }

    /// The name that may be meant, as a label.
    fn near(&mut self, name: &str, known: &Names<'_>) -> String {
        self.hints += 1;
        let near = if self.hints <= MOST_HINTS {
            model::nearest(name, known.all.iter().copied())
        } else {
            None
        };
        near.map_or(String::new(), |near| format!("did you mean {near}?"))
    }

    /// A name that should stand in a list of known ones; a list of which the file has only some need not
    /// have it.
    fn known(
        &mut self,
        code: &'static str,
        kind: &str,
        name: &str,
        span: &Range<usize>,
        known: &Names<'_>,
    ) {
        if known.has_in_any_case(name) {
            return;
        }
        let label = self.near(name, known);
        let help = if known.all.is_empty() {
            format!("add [{kind}.{name}], or leave it out")
        } else {
            format!(
                "known are {}; add [{kind}.{name}], or leave it out",
                known.listed()
            )
        };
        let list = match kind {
            "qos" => Some(List::Qos),
            "account" => Some(List::Accounts),
            _ => None,
        };
        if let Some(list) = list.filter(|list| !self.file.knows_all(*list)) {
            let message = format!("there is no [{kind}.{name}], of which limits could be known");
            let help = format!("add [{kind}.{name}]: only some {} are here", list.word());
            self.say((code, Severity::Note), span, message, label, help);
            return;
        }
        let message = format!("there is no [{kind}.{name}]");
        self.say((code, Severity::Error), span, message, label, help);
    }
}

/// An error that rests on what is assumed is a note.
fn unless_assumed<T>(severity: Severity, values: &[&Sourced<T>]) -> Severity {
    if values.iter().any(|value| value.is_assumed()) {
        Severity::Note
    } else {
        severity
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests;
