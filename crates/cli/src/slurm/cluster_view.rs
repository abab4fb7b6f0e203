//! The nodes and partitions of the engine's cluster, as Slurm's commands print them.

use super::connection::{CommandError, connect};
use api::{ClusterReport, NodeReason, NodeReport, PartitionReport};
use model::{
    BillingWeights, MomentStyle, NodeGpus, NodeGres, SinfoNode, SinfoPartition, SinfoReason,
    over_subscribe_text,
};
use std::collections::{BTreeMap, BTreeSet};

/// Asks the engine for its cluster.
pub fn cluster() -> Result<ClusterReport, CommandError> {
    Ok(connect()?.cluster()?)
}

/// Its partitions, as `sinfo` prints them.
pub fn partitions(cluster: &ClusterReport) -> Vec<SinfoPartition> {
    let partition = |report: &PartitionReport| SinfoPartition {
        name: report.name.clone(),
        default: report.is_default,
        state: report.state.clone(),
        time: report.max_time,
        default_time: report.default_time,
        min_nodes: report.min_nodes,
        max_nodes: report.max_nodes,
        max_cpus_per_node: report.max_cpus_per_node,
        over_subscribe: over_subscribe_text(report.whole_nodes, report.layers),
        priority_tier: report.tier,
        priority_factor: report.factor,
        alloc_nodes: report.settings.get("allocnodes").cloned(),
        allow_groups: report.settings.get("allowgroups").cloned(),
        is_root_only: report
            .settings
            .get("rootonly")
            .is_some_and(|it| it == "yes"),
        is_hidden: report.is_hidden,
        preempt_mode: report.preempt_mode.to_uppercase(),
        nodes: report.nodes.clone(),
    };
    cluster.partitions.iter().map(partition).collect()
}

/// What all of some nodes is billed a second by the weights of a partition.
pub fn billed(weights: &BillingWeights, nodes: &[&NodeReport]) -> u64 {
    let gpus = |kind: Option<&str>| {
        let all = nodes.iter().flat_map(|node| &node.gpus);
        let own = all.filter(|gpus| kind.is_none_or(|kind| gpus.kind.as_deref() == Some(kind)));
        own.map(|gpus| f64::from(gpus.count)).sum()
    };
    let billed = weights.billed(&|name| match name {
        "cpu" => nodes.iter().map(|node| f64::from(node.cpus)).sum(),
        "mem" => nodes.iter().map(|node| node.memory as f64).sum(),
        "node" => nodes.len() as f64,
        "gres/gpu" => gpus(None),
        name => name
            .strip_prefix("gres/gpu:")
            .map_or(0.0, |kind| gpus(Some(kind))),
    });
    billed as u64
}

/// What all of a node is billed a second: the most of the partitions that have weights, else its CPUs.
pub fn billing_of_node(node: &NodeReport, cluster: &ClusterReport) -> u64 {
    let own = cluster
        .partitions
        .iter()
        .filter(|partition| !partition.billing.is_empty() && partition.nodes.contains(&node.name));
    let most = own
        .map(|partition| billed(&partition.billing, &[node]))
        .max();
    most.filter(|most| *most > 0).unwrap_or(node.cpus.into())
}

/// A node's address or host, which is its name where nothing else was said.
pub fn said_or_name<'a>(node: &'a NodeReport, key: &str) -> &'a str {
    node.said
        .get(key)
        .map_or(node.name.as_str(), String::as_str)
}

/// Its nodes, as `sinfo` prints them: those of the future are not shown.
pub fn nodes(cluster: &ClusterReport, moments: &MomentStyle) -> Vec<SinfoNode> {
    // All nodes are on this machine.
    let load = sys::machine_state::load();
    let free = sys::machine_state::free_mib();
    let uids = uids(cluster);
    let node = |report: &NodeReport| {
        let [sockets, cores, threads] = report.sockets.unwrap_or([1, report.cpus, 1]);
        SinfoNode {
            name: report.name.clone(),
            host: said_or_name(report, "nodehostname").to_owned(),
            address: said_or_name(report, "nodeaddr").to_owned(),
            state: report.state,
            cpus: report.cpus,
            used_cpus: report.cpus_used,
            sockets,
            cores,
            threads,
            memory_mib: report.memory,
            used_memory_mib: report.memory_used,
            free_memory_mib: free.unwrap_or(0),
            disk_mib: report.tmp_disk.unwrap_or(0),
            weight: u64::from(report.weight),
            features: report.features.join(","),
            active_features: report.active_features.join(","),
            gres: gres(report),
            gres_used: gres_used(report),
            version: model::SPOKEN_VERSION.to_owned(),
            reason: reason_of(report).map(|reason| SinfoReason {
                text: reason.text.clone(),
                uid: uids.get(reason.user.as_str()).copied(),
                user: reason.user.clone(),
                at: moments.text(reason.at),
            }),
            partitions: cluster
                .partitions
                .iter()
                .filter(|partition| partition.nodes.contains(&report.name))
                .map(|partition| partition.name.clone())
                .collect(),
            load,
            comment: report.said.get("comment").cloned(),
            extra: report.said.get("extra").cloned(),
        }
    };
    let there = cluster.nodes.iter();
    let there = there.filter(|report| !report.state.is_future);
    there.map(node).collect()
}

/// The numbers of those who said why nodes take no jobs.
fn uids(cluster: &ClusterReport) -> BTreeMap<&str, u32> {
    let reasons = cluster.nodes.iter().filter_map(reason_of);
    let names: BTreeSet<&str> = reasons.map(|reason| reason.user.as_str()).collect();
    let entry = |name| sys::users::user_by_name(name).ok().flatten();
    let known = names
        .into_iter()
        .filter_map(|name| Some((name, entry(name)?.id)));
    known.collect()
}

/// Why a node takes no jobs: of one that does nothing is said.
fn reason_of(report: &NodeReport) -> Option<&NodeReason> {
    let state = &report.state;
    let is_out = state.is_down || state.is_drained || state.is_failing;
    report.reason.as_ref().filter(|_| is_out)
}

/// `gpu:v100:4`
pub fn gres(node: &NodeReport) -> String {
    if let Some(said) = node.said.get("gres") {
        return said.clone();
    }
    let gpus = node.gpus.iter().map(NodeGpus::text);
    let others = node.gres.iter().map(NodeGres::text);
    gpus.chain(others).collect::<Vec<_>>().join(",")
}

/// `gpu:v100:2(IDX:0-1)`
pub fn gres_used(node: &NodeReport) -> String {
    let gpus = node.gpus.iter().map(NodeGpus::used_text);
    let others = node.gres.iter().map(NodeGres::used_text);
    gpus.chain(others).collect::<Vec<_>>().join(",")
}
