//! What the embedded engine's machine is, in the words of planning.

use api::{EngineFacts, NodeFacts};
use model::{
    ClusterFacts, ContainerFacts, ContainerRuntime, GpuGroup, Internet, NodeGroup, Seconds,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The engine's cluster: this machine as one node, or the nodes of its cluster file.
#[must_use]
pub fn embedded_facts(facts: &EngineFacts) -> ClusterFacts {
    let mut nodes: Vec<NodeGroup> = Vec::new();
    for node in facts.nodes.iter().filter(|node| !node.is_virtual) {
        let group = group(node);
        match nodes.iter_mut().find(|known| is_alike(known, &group)) {
            Some(known) => known.count += 1,
            None => nodes.push(group),
        }
    }
    // What TMPDIR names may be one folder of all nodes.
    let node_local = if facts.nodes_have_disks {
        PathBuf::from("/tmp")
    } else {
        node_local()
    };
    ClusterFacts {
        nodes_share_disk: !facts.nodes_have_disks,
        ..facts_of(facts.cluster.clone(), nodes, node_local)
    }
}

/// This machine as one node, as an engine of it sees it that doesn't run.
pub(crate) fn machine_facts(name: String) -> ClusterFacts {
    // A driver that doesn't answer is the engine's to say.
    let gpus = sys::gpus::ask().unwrap_or_default().into_iter();
    let cpus = sys::cpu::available().len();
    let node = NodeGroup {
        count: 1,
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        memory_mib: sys::memory::total_mib(),
        gpus: gpu_groups(gpus.map(|gpu| gpu.name)),
    };
    facts_of(name, vec![node], node_local())
}

fn facts_of(name: String, nodes: Vec<NodeGroup>, node_local: PathBuf) -> ClusterFacts {
    ClusterFacts {
        name,
        embedded: true,
        nodes,
        node_local,
        nodes_share_disk: false,
        // One machine: what the user can reach, its jobs can.
        internet: Internet::Compute,
        default_time: None,
        time_granularity: Seconds(1),
        comeback: model::Comeback::default(),
        containers: ContainerFacts {
            runtimes: runtimes_here(),
            ..ContainerFacts::default()
        },
    }
}

/// What runs containers on this machine: those whose program is on `PATH`.
#[must_use]
pub fn runtimes_here() -> Vec<ContainerRuntime> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let is_there = |runtime: &ContainerRuntime| {
        let program = runtime.program();
        program.is_some_and(|program| folders.iter().any(|at| at.join(program).is_file()))
    };
    ContainerRuntime::ALL.into_iter().filter(is_there).collect()
}

fn group(node: &NodeFacts) -> NodeGroup {
    NodeGroup {
        count: 1,
        cpus: node.cpus,
        memory_mib: node.memory,
        gpus: gpu_groups(node.gpus.iter().cloned()),
    }
}

/// GPUs by kind.
fn gpu_groups(each: impl Iterator<Item = String>) -> Vec<GpuGroup> {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for kind in each {
        *kinds.entry(kind).or_default() += 1;
    }
    let gpus = kinds.into_iter().map(|(kind, count)| GpuGroup {
        kind: Some(kind),
        count,
        memory_mib: None,
    });
    gpus.collect()
}

fn is_alike(one: &NodeGroup, other: &NodeGroup) -> bool {
    (one.cpus, one.memory_mib, &one.gpus) == (other.cpus, other.memory_mib, &other.gpus)
}

/// The folder for this machine's own files: `TMPDIR`, else `/tmp`. Isolated nodes of a pretended cluster have their
/// own `/tmp`.
#[must_use]
pub fn node_local() -> PathBuf {
    match std::env::var_os(sys::env_vars::TMPDIR) {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => PathBuf::from("/tmp"),
    }
}
