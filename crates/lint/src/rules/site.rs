//! What rules about a cluster ask in common.

use crate::input::LintInput;
use crate::script::Script;
use crate::{Finding, Severity};
use model::cluster::{Named, Partition, Sourced};
use model::option_table::Key;

/// The partition that a job would run in, where the cluster file knows it; of several, none.
pub(crate) fn partition<'a>(
    script: &Script<'_>,
    input: &LintInput<'a>,
) -> Option<&'a Named<Partition>> {
    let cluster = input.cluster?;
    match script.value(Key::Partition) {
        None => cluster.default_partition(),
        Some(name) => cluster.partition(name),
    }
}

/// What rests on an assumed or disputed value is a note, and says so.
pub(crate) fn resting_on<T>(mut finding: Finding, value: &Sourced<T>) -> Finding {
    if value.is_assumed() || value.is_disputed() {
        finding.severity = Severity::Note;
        let why = match value.is_assumed() {
            true => "the cluster file assumes this value",
            false => "the cluster's documents say two things of it",
        };
        finding.really = Some(match finding.really.take() {
            Some(really) => format!("{really}; {why}"),
            None => why.to_owned(),
        });
    }
    finding
}
