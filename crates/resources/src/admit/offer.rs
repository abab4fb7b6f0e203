//! What the nodes of one kind have for a job: CPUs, memory, GPUs.

use super::asked::Asked;
use super::features::holds;
use super::fewest::Offer;
use cluster_file::{NodeSet, Nodes, Partition, Sourced};
use model::Constraint;

/// Whether assumed values count.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Trust {
    All,
    /// What is assumed is believed to be enough.
    SaidAlone,
}

impl Trust {
    /// What is there; what isn't said, or not trusted, is enough for anything.
    fn amount<T: Copy + Into<u64>>(self, value: &Option<Sourced<T>>) -> u64 {
        match value {
            Some(value) if self == Trust::All || !value.is_assumed() => value.value.into(),
            _ => u64::MAX,
        }
    }
}

/// What nodes of one kind have for a job; none where they have not what each must have.
pub(super) fn offer(
    set: &NodeSet<'_>,
    partition: Option<&Partition>,
    spare: u32,
    asked: &Asked,
    features: Option<&Constraint>,
    trust: Trust,
) -> Option<Offer> {
    let nodes = set.nodes;
    let cpus = cpus_of(nodes, partition, trust);
    let memory = memory_of(nodes, trust);
    let gpus = gpus_of(nodes, asked.kind.as_deref(), trust);
    // As many of a thing as the node's share for each allows.
    let share = |all: u64, each: u64| all.checked_div(each).unwrap_or(u64::MAX);
    let cpus_used = cpus.min(share(memory, asked.memory_of_cpu));
    let gpus_used = gpus
        .min(share(memory, asked.memory_of_gpu))
        .min(share(cpus, asked.cpus_of_gpu));
    let has_kind = |(kind, count): &(String, u64)| gpus_of(nodes, Some(kind), trust) >= *count;
    let enough = has_features(nodes, features, trust)
        && cpus_used >= asked.cpus_of_node.max(1)
        && memory >= asked.memory_of_node.unwrap_or(0)
        && gpus_used >= asked.gpus_of_node
        && asked.kinds_of_node.iter().all(has_kind)
        && (asked.gpus == 0 || gpus_used > 0);
    if !enough {
        return None;
    }
    let tasks = share(cpus_used, asked.cpus_of_task)
        .min(share(gpus_used, asked.gpus_of_task))
        .min(asked.tasks_of_node);
    let count = match trust {
        Trust::SaidAlone if is_uncounted(nodes) => u64::MAX,
        Trust::SaidAlone => u64::from(set.count) + u64::from(spare),
        Trust::All => u64::from(set.count),
    };
    Some(Offer {
        count,
        cpus: cpus_used,
        gpus: gpus_used,
        tasks,
    })
}

/// CPUs of a node that a job there can have.
fn cpus_of(nodes: &Nodes, partition: Option<&Partition>, trust: Trust) -> u64 {
    let cap = partition.and_then(|partition| partition.max_cpus_per_node.as_ref());
    let cap = cap.map_or(u64::MAX, |cap| u64::from(cap.value));
    trust.amount(&nodes.cpus).min(cap)
}

/// MiB of a node.
fn memory_of(nodes: &Nodes, trust: Trust) -> u64 {
    let memory = nodes.memory.as_ref();
    let memory = memory.filter(|memory| trust == Trust::All || !memory.is_assumed());
    memory.map_or(u64::MAX, |memory| memory.value.0)
}

/// GPUs of a node, of a GRES type or of any. A group that says nothing of GPUs has none.
fn gpus_of(nodes: &Nodes, kind: Option<&str>, trust: Trust) -> u64 {
    let is_meant = |gpu: &&cluster_file::Gpu| match (kind, &gpu.kind) {
        (None, _) => true,
        (Some(kind), Some(own)) => {
            own.value == kind || (trust == Trust::SaidAlone && own.is_assumed())
        }
        // A document that asks without a type need not mean that there is none.
        (Some(kind), None) => trust == Trust::SaidAlone && gpu.is_called(kind),
    };
    let counts = nodes
        .gpus
        .iter()
        .filter(is_meant)
        .map(|gpu| match gpu.count {
            Some(_) => trust.amount(&gpu.count),
            None => 1,
        });
    counts.fold(0, u64::saturating_add)
}

/// Whether a node has the features that are asked for.
pub(super) fn has_features(nodes: &Nodes, wanted: Option<&Constraint>, trust: Trust) -> bool {
    match (wanted, &nodes.features) {
        (None, _) => true,
        (Some(wanted), Some(own)) => {
            holds(wanted, own) || (trust == Trust::SaidAlone && own.is_assumed())
        }
        (Some(_), None) => false,
    }
}

/// Nobody says how many there are.
pub(super) fn is_uncounted(nodes: &Nodes) -> bool {
    nodes.count.is_none() && nodes.names.as_ref().is_none_or(Sourced::is_assumed)
}

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
    match parts.is_empty() {
        true => format!("{} {nodes}", set.count),
        false => format!("{} {nodes} of {}", set.count, parts.join(", ")),
    }
}
