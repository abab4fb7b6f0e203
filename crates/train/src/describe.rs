//! A cluster's nodes in words.

use crate::say_mebibytes;
use model::{ClusterFacts, NodeGroup};

/// What a cluster has, in words: `4 nodes with 2 v100, 1 with 8 p100`.
pub(crate) fn describe(facts: &ClusterFacts) -> String {
    describe_by(facts, describe_node)
}

pub(crate) fn describe_by(facts: &ClusterFacts, node: impl Fn(&NodeGroup) -> String) -> String {
    if let (true, Some(machine)) = (facts.embedded, facts.nodes.first()) {
        return describe_machine(machine);
    }
    let groups = facts.nodes.iter().enumerate().map(|(index, group)| {
        let noun = match (index, group.count) {
            (0, 1) => "1 node".to_owned(),
            (0, count) => format!("{count} nodes"),
            (_, count) => count.to_string(),
        };
        format!("{noun} with {}", node(group))
    });
    let all: Vec<String> = groups.collect();
    if all.is_empty() {
        "no node".to_owned()
    } else {
        all.join(", ")
    }
}

fn describe_node(group: &NodeGroup) -> String {
    match gpus(group) {
        None => format!("{} CPUs, {}", group.cpus, say_mebibytes(group.memory_mib)),
        Some(gpus) => gpus,
    }
}

/// `2 CPUs, 23 GiB, no GPU`
pub(crate) fn describe_machine(group: &NodeGroup) -> String {
    let cpus = match group.cpus {
        1 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    };
    let gpus = gpus(group).unwrap_or_else(|| "no GPU".to_owned());
    format!("{cpus}, {}, {gpus}", say_mebibytes(group.memory_mib))
}

fn gpus(group: &NodeGroup) -> Option<String> {
    let kinds = group.gpus.iter().filter(|gpus| gpus.count > 0).map(|gpus| {
        let kind = match (&gpus.kind, gpus.count) {
            (Some(kind), _) => kind.as_str(),
            (None, 1) => "GPU",
            (None, _) => "GPUs",
        };
        format!("{} {kind}", gpus.count)
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| kinds.join(" and "))
}
