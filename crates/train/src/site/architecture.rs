//! Nodes on which the program that plans can run: a job starts a copy of it.

use crate::{Refusal, RefusalKind};
use cluster_file::{NodeSet, Sourced};
use model::ClusterFacts;

/// Removes the nodes of another architecture than `machine`, and returns what was removed, such as
/// `power9 (ppc64le)`. What a file only assumes removes none.
///
/// # Errors
/// No node is left.
pub(super) fn keep(
    facts: &mut ClusterFacts,
    sets: &mut Vec<NodeSet<'_>>,
    machine: &str,
) -> Result<Option<String>, Refusal> {
    let runs = |set: &NodeSet<'_>| other(set, machine).is_none_or(Sourced::is_assumed);
    if sets.iter().all(runs) {
        return Ok(None);
    }
    let (kept, removed): (Vec<_>, Vec<_>) = facts
        .nodes
        .drain(..)
        .zip(sets.drain(..))
        .partition(|(_, set)| runs(set));
    (facts.nodes, *sets) = kept.into_iter().unzip();
    let named = removed.iter().filter_map(|(_, set)| {
        let there = other(set, machine)?;
        Some(format!("{} ({})", set.nodes.name, there.value))
    });
    let removed = named.collect::<Vec<_>>().join(", ");
    if !sets.is_empty() {
        return Ok(Some(removed));
    }
    Err(Refusal {
        kind: RefusalKind::NeverFits,
        message: format!(
            "{} has only nodes of another architecture for it",
            facts.name
        ),
        asked: format!("a run of this yard, which is built for {machine}"),
        there: removed,
        todo: "choose another partition, or plan with a yard that is built for those nodes"
            .to_owned(),
    })
}

/// The note on nodes whose architecture is assumed to be another one.
pub(super) fn note(set: &NodeSet<'_>, cluster: &str, machine: &str) -> Option<String> {
    let there = other(set, machine)?;
    Some(format!(
        "{cluster}'s file assumes that nodes {} are {}; this yard is built for {machine}",
        set.nodes.name, there.value,
    ))
}

/// The architecture of nodes where it is not `machine`.
fn other<'a>(set: &NodeSet<'a>, machine: &str) -> Option<&'a Sourced<String>> {
    let there = set.nodes.architecture.as_ref();
    there.filter(|there| there.value != machine)
}
