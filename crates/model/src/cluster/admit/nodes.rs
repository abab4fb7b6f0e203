//! Whether the nodes of a partition can serve a job at all.

use super::features::{holds, wanted};
use super::{Denial, Refusal};
use crate::cluster::{ClusterFile, List, Named, NodeSet, Nodes, Partition, Sourced};
use crate::{Constraint, GpuCount, MemoryRequest, Request, mebibytes_option};

/// What a job asks for, counted up. Where it leaves the number of nodes open it is the least.
pub(super) struct Asked {
    pub nodes: u64,
    /// The most nodes that it can be spread over.
    most_nodes: u64,
    pub cpus: u64,
    /// CPUs that must be on one node.
    cpus_of_node: u64,
    pub gpus: u64,
    gpus_of_node: u64,
    kind: Option<String>,
    /// MiB on each node; none where it was not asked, or asked as all.
    memory_of_node: Option<u64>,
}

impl Asked {
    pub fn of(request: &Request) -> Asked {
        let nodes = u64::from(request.min_nodes.unwrap_or(1).max(1));
        let number = |count: &Option<GpuCount>| count.as_ref().map(|gpus| u64::from(gpus.count));
        let tasks = match (request.tasks, request.tasks_per_node) {
            (Some(tasks), _) => u64::from(tasks),
            (None, Some(each)) => u64::from(each) * nodes,
            (None, None) => nodes,
        };
        let per_node = number(&request.gpus_per_node);
        let per_task = number(&request.gpus_per_task);
        let gpus = number(&request.gpus)
            .or(per_node.map(|each| each * nodes))
            .or(per_task.map(|each| each * tasks))
            .unwrap_or(0);
        let of_task = u64::from(request.cpus_per_task.unwrap_or(1).max(1));
        let of_gpus = u64::from(request.cpus_per_gpu.unwrap_or(0));
        let tasks_of_node = u64::from(request.tasks_per_node.unwrap_or(1).max(1));
        let most_nodes = request.max_nodes.map_or(u64::MAX, u64::from);
        // A job of one node has all its CPUs there.
        let one_node = most_nodes == 1;
        let cpus = (tasks * of_task).max(gpus * of_gpus);
        let gpus_of_node = match (per_node, one_node) {
            (Some(each), _) => each,
            (None, true) => gpus,
            (None, false) => per_task.unwrap_or(0),
        };
        let cpus_of_node = match one_node {
            true => cpus,
            false => (tasks_of_node * of_task).max(gpus_of_node * of_gpus),
        };
        let memory_of_node = match request.memory {
            Some(MemoryRequest::PerNode(size)) if size > 0 => Some(size),
            Some(MemoryRequest::PerCpu(size)) => Some(size.saturating_mul(cpus_of_node)),
            Some(MemoryRequest::PerGpu(size)) => Some(size.saturating_mul(gpus_of_node)),
            _ => None,
        };
        let kind = [
            &request.gpus,
            &request.gpus_per_node,
            &request.gpus_per_task,
        ]
        .into_iter()
        .find_map(|gpus| gpus.as_ref()?.kind.clone());
        Asked {
            nodes,
            most_nodes,
            cpus,
            cpus_of_node,
            gpus,
            gpus_of_node,
            kind,
            memory_of_node,
        }
    }

    /// The amount of a resource by Slurm's name; none where it isn't known.
    pub fn tres(&self, name: &str) -> Option<u64> {
        match name {
            "cpu" => Some(self.cpus),
            "node" => Some(self.nodes),
            "mem" => self
                .memory_of_node
                .map(|size| size.saturating_mul(self.nodes)),
            "gres/gpu" => Some(self.gpus),
            name => {
                let kind = name.strip_prefix("gres/gpu:")?;
                (self.kind.as_deref() == Some(kind)).then_some(self.gpus)
            }
        }
    }

    fn text(&self, request: &Request) -> String {
        let mut parts = vec![format!(
            "{} node{}",
            self.nodes,
            if self.nodes == 1 { "" } else { "s" }
        )];
        if self.gpus > 0 {
            let kind = self.kind.as_deref().unwrap_or("GPUs");
            match self.gpus_of_node {
                0 => parts.push(format!("{} {kind} in all", self.gpus)),
                each => parts.push(format!("{each} {kind} a node")),
            }
        }
        parts.push(match self.cpus_of_node {
            1 => "1 CPU a node".to_owned(),
            cpus => format!("{cpus} CPUs a node"),
        });
        if let Some(memory) = self.memory_of_node {
            parts.push(format!("{} a node", mebibytes_option(memory)));
        }
        if let Some(constraint) = request.constraint.as_ref().map(ToString::to_string) {
            parts.push(format!("feature {constraint}"));
        }
        parts.join(", ")
    }
}

/// Why no nodes of a partition, or of all, can serve.
pub(super) fn no_nodes(
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
    request: &Request,
) -> Option<Refusal> {
    let sets: Vec<NodeSet<'_>> = match partition {
        Some(partition) => file.nodes_of(partition),
        None => {
            let whole = |nodes| NodeSet {
                nodes,
                count: file.count_of(nodes),
                whole: true,
            };
            file.nodes.iter().map(whole).collect()
        }
    };
    if sets.is_empty() {
        return None;
    }
    let asked = Asked::of(request);
    let features = wanted(request);
    let serves = |trust: Trust| serve(&sets, partition, &asked, features.as_ref(), trust);
    if serves(Trust::All) {
        return None;
    }
    let place = partition.map_or_else(
        || file.name.clone(),
        |partition| format!("partition {}", partition.name),
    );
    let kinds: Vec<String> = sets.iter().map(describe).collect();
    Some(Refusal {
        denial: Denial::NodeConfig,
        waits: None,
        detail: None,
        asked: asked.text(request),
        there: format!("{place} has {}", kinds.join("; ")),
        todo: todo(&sets, &asked),
        most: None,
        at: partition.map(|partition| format!("partition.{}.nodes", partition.name)),
        span: partition
            .and_then(|partition| partition.nodes.as_ref())
            .map_or(0..0, |nodes| nodes.span.clone()),
        assumed: !file.knows_all(List::Nodes) || serves(Trust::SaidAlone),
    })
}

/// Whether assumed values count.
#[derive(Clone, Copy, PartialEq)]
enum Trust {
    All,
    /// What is assumed is believed to be enough.
    SaidAlone,
}

fn serve(
    sets: &[NodeSet<'_>],
    partition: Option<&Named<Partition>>,
    asked: &Asked,
    features: Option<&Constraint>,
    trust: Trust,
) -> bool {
    // What isn't said, or not trusted, is enough for anything.
    let amount = |value: &Option<Sourced<u32>>| match value {
        Some(value) if trust == Trust::All || !value.is_assumed() => u64::from(value.value),
        _ => u64::MAX,
    };
    let cap = partition.and_then(|partition| partition.max_cpus_per_node.as_ref());
    let cap = cap.map_or(u64::MAX, |cap| u64::from(cap.value));
    let spare = partition.map_or(0, |partition| spare(partition, sets));
    let mut fitting: Vec<(u64, u64, u64)> = Vec::new();
    for set in sets {
        let nodes = set.nodes;
        let cpus = amount(&nodes.cpus).min(cap);
        let memory = match &nodes.memory {
            Some(memory) if trust == Trust::All || !memory.is_assumed() => memory.value.0,
            _ => u64::MAX,
        };
        let gpus = gpus_of(nodes, asked.kind.as_deref(), &amount, trust);
        let has = match (features, &nodes.features) {
            (None, _) => true,
            (Some(wanted), Some(own)) => {
                holds(wanted, own) || (trust == Trust::SaidAlone && own.is_assumed())
            }
            (Some(_), None) => false,
        };
        let enough = has
            && cpus >= asked.cpus_of_node
            && memory >= asked.memory_of_node.unwrap_or(0)
            && gpus >= asked.gpus_of_node
            && (asked.gpus == 0 || gpus > 0);
        if enough {
            let is_assumed =
                nodes.count.is_none() && nodes.names.as_ref().is_none_or(Sourced::is_assumed);
            let count = match trust {
                Trust::SaidAlone if is_assumed => u64::MAX,
                Trust::SaidAlone => u64::from(set.count) + u64::from(spare),
                Trust::All => u64::from(set.count),
            };
            fitting.push((gpus, cpus, count));
        }
    }
    let count = fitting
        .iter()
        .fold(0_u64, |sum, (_, _, count)| sum.saturating_add(*count));
    let open = fitting.iter().any(|(_, _, count)| *count == u64::MAX);
    let all: u64 = sets.iter().map(|set| u64::from(set.count)).sum();
    let most = if open {
        u64::MAX
    } else {
        all + u64::from(spare)
    };
    if count.min(most) < asked.nodes {
        return false;
    }
    // The richest nodes first, as many as the job may be spread over.
    let sum = |amount: fn(&(u64, u64, u64)) -> u64| {
        let mut by_size = fitting.clone();
        by_size.sort_by_key(|set| std::cmp::Reverse(amount(set)));
        let mut left = asked.most_nodes;
        let mut sum = 0_u64;
        for set in by_size {
            let taken = set.2.min(left);
            sum = sum.saturating_add(amount(&set).saturating_mul(taken));
            left -= taken;
        }
        sum
    };
    sum(|set| set.0) >= asked.gpus && sum(|set| set.1) >= asked.cpus
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

/// GPUs of a node, of a GRES type or of any. A group that says nothing of GPUs has none.
fn gpus_of(
    nodes: &Nodes,
    kind: Option<&str>,
    amount: &impl Fn(&Option<Sourced<u32>>) -> u64,
    trust: Trust,
) -> u64 {
    let mut sum = 0_u64;
    for gpu in &nodes.gpus {
        let is = match (kind, &gpu.kind) {
            (None, _) => true,
            (Some(kind), Some(own)) => {
                own.value == kind || (trust == Trust::SaidAlone && own.is_assumed())
            }
            // A document that asks without a type need not mean that there is none.
            (Some(kind), None) => trust == Trust::SaidAlone && gpu.is_called(kind),
        };
        if is {
            sum = sum.saturating_add(if gpu.count.is_some() {
                amount(&gpu.count)
            } else {
                1
            });
        }
    }
    sum
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

/// The first thing that no node has.
fn todo(sets: &[NodeSet<'_>], asked: &Asked) -> String {
    let most =
        |value: fn(&Nodes) -> u64| sets.iter().map(|set| value(set.nodes)).max().unwrap_or(0);
    let cpus = most(|nodes| {
        nodes
            .cpus
            .as_ref()
            .map_or(u64::MAX, |cpus| u64::from(cpus.value))
    });
    let memory = most(|nodes| nodes.memory.as_ref().map_or(u64::MAX, |size| size.value.0));
    if let Some(kind) = &asked.kind {
        let called = |set: &&NodeSet<'_>| set.nodes.gpus.iter().any(|gpu| gpu.is_called(kind));
        let typed = sets
            .iter()
            .flat_map(|set| &set.nodes.gpus)
            .filter_map(|gpu| gpu.kind.as_ref());
        let types: Vec<&str> = typed.map(|kind| kind.as_str()).collect();
        if !types.contains(&kind.as_str()) {
            return match (sets.iter().find(called), &types[..]) {
                (Some(set), []) => format!(
                    "ask without a type: its {} GPUs have none",
                    set.nodes
                        .gpus
                        .first()
                        .and_then(|gpu| gpu.model.as_ref())
                        .map_or("", |m| m.as_str())
                ),
                (None, []) => "a partition with GPUs".to_owned(),
                (_, types) => format!("its GPU types are {}", types.join(", ")),
            };
        }
    }
    let gpus = sets.iter().map(|set| {
        let own = set.nodes.gpus.iter();
        let own = own.filter(|gpu| {
            asked
                .kind
                .as_ref()
                .is_none_or(|kind| gpu.kind.as_ref().is_some_and(|own| own.value == *kind))
        });
        own.map(|gpu| gpu.count.as_ref().map_or(1, |count| u64::from(count.value)))
            .sum::<u64>()
    });
    let gpus = gpus.max().unwrap_or(0);
    match () {
        () if asked.gpus > 0 && gpus == 0 => "a partition with GPUs".to_owned(),
        () if asked.gpus_of_node > gpus => format!("at most {gpus} GPUs a node"),
        () if asked.cpus_of_node > cpus => format!("at most {cpus} CPUs a node"),
        () if asked.memory_of_node.unwrap_or(0) > memory => {
            format!("at most {} a node", mebibytes_option(memory))
        }
        () => "fewer nodes or CPUs, or less of each at once".to_owned(),
    }
}
