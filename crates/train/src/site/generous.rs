//! Facts of a cluster in which what is only assumed is believed to be enough.

use crate::ResourceSection;
use cluster_file::{ClusterFile, List, NodeSet, Sourced};
use model::{ClusterFacts, GpuGroup, NodeGroup};

/// Raises what is assumed of the nodes to what is asked for. The groups stand in the order of the
/// sets.
///
/// Where the file need not have all nodes, nodes that it doesn't have may have anything, another type
/// of GPUs too.
pub(super) fn believe(
    facts: &mut ClusterFacts,
    sets: &[NodeSet<'_>],
    asked: &ResourceSection,
    file: &ClusterFile,
) {
    let others = !file.knows_all(List::Nodes);
    let count =
        |value: &Option<crate::Resolved<u32>>| value.as_ref().map_or(1, |asked| asked.value);
    let ranks = asked.ranks_per_node.as_ref();
    let in_all = asked
        .gpus
        .as_ref()
        .map(|all| all.value.div_ceil(count(&asked.nodes)));
    let gpus = asked.gpus_per_node.as_ref().map(|asked| asked.value);
    let gpus = gpus.or(in_all).unwrap_or(0);
    let ranks = ranks.map_or(gpus.max(1), |asked| asked.value);
    let cpus = count(&asked.cpus_per_rank).saturating_mul(ranks);
    let memory = asked.memory.as_ref().and_then(|asked| asked.value.0);
    let memory = memory.unwrap_or(0);
    for (group, set) in facts.nodes.iter_mut().zip(sets) {
        let nodes = set.nodes;
        let names = nodes.names.as_ref();
        if others || nodes.count.is_none() && names.is_none_or(Sourced::is_assumed) {
            group.count = group.count.max(count(&asked.nodes));
        }
        if others || nodes.cpus.as_ref().is_none_or(Sourced::is_assumed) {
            group.cpus = group.cpus.max(cpus);
        }
        if others || nodes.memory.as_ref().is_none_or(Sourced::is_assumed) {
            group.memory_mib = group.memory_mib.max(memory);
        }
        for (own, gpu) in group.gpus.iter_mut().zip(&nodes.gpus) {
            if others || gpu.count.as_ref().is_none_or(Sourced::is_assumed) {
                own.count = own.count.max(gpus);
            }
        }
    }
    let kind = asked.gpu_type.as_ref().map(|kind| kind.value.clone());
    let has = |group: &NodeGroup| {
        let mut own = group.gpus.iter();
        own.any(|gpus| kind.as_ref().is_none_or(|kind| gpus.is_kind(kind)))
    };
    if others
        && gpus.max(kind.is_some().into()) > 0
        && !facts.nodes.iter().any(has)
        && let Some(first) = facts.nodes.first_mut()
    {
        // As many as the node has of others.
        let own = first.gpus.iter().map(|own| own.count).max();
        first.gpus = vec![GpuGroup {
            kind,
            count: gpus.max(own.unwrap_or(1)),
            memory_mib: None,
        }];
    }
}
