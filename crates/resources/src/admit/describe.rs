//! The nodes of a partition in words.

use cluster_file::{NodeSet, Partition};

/// Nodes that a partition is said to have beyond those of its kinds: they are of one of the kinds.
pub(super) fn spare(partition: &Partition, sets: &[NodeSet<'_>]) -> u32 {
    let said = partition.total_nodes.as_ref();
    let said = said.and_then(|said| said.all().max()).unwrap_or(&0);
    let known = sets
        .iter()
        .map(|set| set.count)
        .fold(0, u32::saturating_add);
    said.saturating_sub(known)
}

/// `4 nodes of 40 CPUs, 188G, 2 v100`.
pub(super) fn describe(set: &NodeSet<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(cpus) = &set.nodes.cpus {
        parts.push(format!("{} CPUs", cpus.value));
    }
    if let Some(memory) = &set.nodes.memory {
        parts.push(memory.value.to_string());
    }
    for gpu in &set.nodes.gpus {
        let kind = gpu.kind.as_ref().or(gpu.model.as_ref());
        let count = gpu.count.as_ref().map_or(1, |count| count.value);
        parts.push(format!(
            "{count} {}",
            kind.map_or("GPUs", |kind| kind.as_str())
        ));
    }
    let nodes = if set.count == 1 { "node" } else { "nodes" };
    if parts.is_empty() {
        return format!("{} {nodes}", set.count);
    }
    format!("{} {nodes} of {}", set.count, parts.join(", "))
}
