//! Facts of a cluster in which what is only assumed is believed to be enough.

use crate::ResourceSection;
use model::ClusterFacts;
use model::cluster::{NodeSet, Sourced};

/// Raises what is assumed of the nodes to what is asked for. The groups stand in the order of the
/// sets.
pub(super) fn believe(facts: &mut ClusterFacts, sets: &[NodeSet<'_>], asked: &ResourceSection) {
    let count =
        |value: &Option<crate::Resolved<u32>>| value.as_ref().map_or(1, |asked| asked.value);
    let ranks = asked.ranks_per_node.as_ref();
    let gpus = asked.gpus_per_node.as_ref().map_or(0, |asked| asked.value);
    let ranks = ranks.map_or(gpus.max(1), |asked| asked.value);
    let cpus = count(&asked.cpus_per_rank).saturating_mul(ranks);
    let memory = asked.memory.as_ref().map_or(0, |asked| asked.value.0);
    for (group, set) in facts.nodes.iter_mut().zip(sets) {
        let nodes = set.nodes;
        let names = nodes.names.as_ref();
        if nodes.count.is_none() && names.is_none_or(Sourced::is_assumed) {
            group.count = group.count.max(count(&asked.nodes));
        }
        if nodes.cpus.as_ref().is_none_or(Sourced::is_assumed) {
            group.cpus = group.cpus.max(cpus);
        }
        if nodes.memory.as_ref().is_none_or(Sourced::is_assumed) {
            group.memory_mib = group.memory_mib.max(memory);
        }
        for (own, gpu) in group.gpus.iter_mut().zip(&nodes.gpus) {
            if gpu.count.as_ref().is_none_or(Sourced::is_assumed) {
                own.count = own.count.max(gpus);
            }
        }
    }
}
