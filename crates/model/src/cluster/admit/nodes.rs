//! Whether the nodes of a partition can serve a job at all.

use super::features::{holds, wanted};
use super::fewest::{Needed, Offer, Total, needed};
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
    /// GPUs of several types that each node must have.
    kinds_of_node: Vec<(String, u64)>,
    /// MiB on each node; none where it was not asked, or asked as all.
    memory_of_node: Option<u64>,
    /// Tasks in all, where they or what they follow from were asked.
    tasks: Option<u64>,
    cpus_of_task: u64,
    gpus_of_task: u64,
    /// The most tasks on a node.
    tasks_of_node: u64,
    /// MiB of each CPU, and of each GPU.
    memory_of_cpu: u64,
    memory_of_gpu: u64,
    cpus_of_gpu: u64,
}

impl Asked {
    pub fn of(request: &Request) -> Asked {
        let nodes = u64::from(request.min_nodes.unwrap_or(1).max(1));
        let number = |count: &Option<GpuCount>| count.as_ref().map(|gpus| u64::from(gpus.count));
        let per_node = number(&request.gpus_per_node);
        let per_task = number(&request.gpus_per_task).filter(|each| *each > 0);
        let asked_tasks = match (request.tasks, request.tasks_per_node) {
            (Some(tasks), _) => Some(u64::from(tasks)),
            (None, Some(each)) if request.min_nodes.is_some() => Some(u64::from(each) * nodes),
            // As many as have their GPUs.
            (None, _) => number(&request.gpus)
                .zip(per_task)
                .map(|(all, each)| all / each),
        };
        let each = u64::from(request.tasks_per_node.unwrap_or(1));
        let tasks = asked_tasks.unwrap_or(each * nodes);
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
            // Without --ntasks each node has its --ntasks-per-node.
            (None, false) if request.tasks.is_none() => {
                per_task.map_or(0, |each| each.saturating_mul(tasks_of_node).min(gpus))
            }
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
        let (memory_of_cpu, memory_of_gpu) = match request.memory {
            Some(MemoryRequest::PerCpu(size)) => (size, 0),
            Some(MemoryRequest::PerGpu(size)) => (0, size),
            _ => (0, 0),
        };
        Asked {
            nodes,
            most_nodes,
            cpus,
            cpus_of_node,
            gpus,
            gpus_of_node,
            kind,
            kinds_of_node: kinds_of_node(request),
            memory_of_node,
            tasks: asked_tasks,
            cpus_of_task: of_task,
            gpus_of_task: per_task.unwrap_or(0),
            tasks_of_node: request
                .tasks_per_node
                .map_or(u64::MAX, |each| u64::from(each.max(1))),
            memory_of_cpu,
            memory_of_gpu,
            cpus_of_gpu: of_gpus,
        }
    }

    /// GPUs that are asked for in all of the job's nodes together.
    fn in_all(&self) -> u64 {
        match self.gpus_of_node {
            0 => self.gpus,
            _ => 0,
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
        let count = |count: u64, noun: &str| match count {
            1 => format!("1 {noun}"),
            count => format!("{count} {noun}s"),
        };
        let is_open = request.min_nodes.is_none() && (self.tasks.is_some() || self.in_all() > 0);
        let mut parts = Vec::new();
        if !is_open {
            parts.push(count(self.nodes, "node"));
        }
        if let Some(tasks) = self.tasks.filter(|tasks| is_open || *tasks != self.nodes) {
            parts.push(count(tasks, "task"));
        }
        if !self.kinds_of_node.is_empty() {
            let kinds = self.kinds_of_node.iter();
            let kinds: Vec<String> = kinds
                .map(|(kind, count)| format!("{count} {kind}"))
                .collect();
            parts.push(format!("{} on one node", kinds.join(" and ")));
        } else if self.gpus > 0 {
            let kind = self.kind.as_deref().unwrap_or("GPUs");
            match (self.gpus_of_node, self.gpus_of_task) {
                (0, _) => parts.push(format!("{} {kind} in all", self.gpus)),
                (each, of_task) if is_open && of_task > 0 => {
                    parts.push(format!("{each} {kind} a task"));
                }
                (each, _) => parts.push(format!("{each} {kind} a node")),
            }
        }
        match is_open {
            true => parts.push(format!("{} in all", count(self.cpus, "CPU"))),
            false => parts.push(format!("{} a node", count(self.cpus_of_node, "CPU"))),
        }
        match (self.memory_of_cpu, self.memory_of_gpu, self.memory_of_node) {
            (size, _, _) if size > 0 && is_open => {
                parts.push(format!("{} a CPU", mebibytes_option(size)));
            }
            (_, size, _) if size > 0 && is_open => {
                parts.push(format!("{} a GPU", mebibytes_option(size)));
            }
            (_, _, Some(memory)) => parts.push(format!("{} a node", mebibytes_option(memory))),
            _ => {}
        }
        if let Some(constraint) = request.constraint.as_ref().map(ToString::to_string) {
            parts.push(format!("feature {constraint}"));
        }
        parts.join(", ")
    }
}

/// GPUs by type where several types are asked on each node.
fn kinds_of_node(request: &Request) -> Vec<(String, u64)> {
    let Ok(items) = request.asked.per_node.items() else {
        return Vec::new();
    };
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for item in items.into_iter().filter(|item| item.name == "gpu") {
        // Of a type that is given twice the later counts.
        let Some(kind) = item.kind else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some(known) => known.1 = item.count,
            None => kinds.push((kind, item.count)),
        }
    }
    if kinds.len() < 2 {
        kinds.clear();
    }
    kinds
}

impl ClusterFile {
    /// The fewest nodes of a partition, or of the whole cluster, that hold a job's tasks with their
    /// CPUs, memory and GPUs, and no fewer than it asks for; as if there were more of them where
    /// there are too few. None where nothing is known of them, or none of them would do.
    #[must_use]
    pub fn fewest_nodes(
        &self,
        partition: Option<&Named<Partition>>,
        request: &Request,
    ) -> Option<u32> {
        let sets = sets_of(self, partition);
        let asked = Asked::of(request);
        let features = wanted(request);
        let found = needed_of(&sets, partition, &asked, features.as_ref(), Trust::All)?;
        u32::try_from(found.nodes).ok()
    }
}

fn sets_of<'a>(file: &'a ClusterFile, partition: Option<&Named<Partition>>) -> Vec<NodeSet<'a>> {
    match partition {
        Some(partition) => file.nodes_of(partition),
        None => {
            let whole = |nodes| NodeSet {
                nodes,
                count: file.count_of(nodes),
                whole: true,
            };
            file.nodes.iter().map(whole).collect()
        }
    }
}

/// Why no nodes of a partition, or of all, can serve.
pub(super) fn no_nodes(
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
    request: &Request,
) -> Option<Refusal> {
    let sets = sets_of(file, partition);
    if sets.is_empty() {
        return None;
    }
    let mut asked = Asked::of(request);
    // More nodes than the partition has are told where its limits are looked at.
    let there: u64 = sets.iter().map(|set| u64::from(set.count)).sum();
    if partition.is_some() && asked.nodes > there {
        let fewer = Request {
            min_nodes: u32::try_from(there).ok(),
            tasks: request
                .tasks
                .filter(|tasks| u64::from(*tasks) > asked.nodes),
            ..request.clone()
        };
        asked = Asked::of(&fewer);
    }
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
    let Some(needed) = needed_of(sets, partition, asked, features, trust) else {
        return false;
    };
    let spare = partition.map_or(0, |partition| spare(partition, sets));
    let all: u64 = sets.iter().map(|set| u64::from(set.count)).sum();
    let is_open = trust == Trust::SaidAlone && sets.iter().any(|set| is_uncounted(set.nodes));
    let there = match is_open {
        true => u64::MAX,
        false => all.saturating_add(u64::from(spare)),
    };
    // A job that asks for more than the partition gives is told so already.
    let most = partition.and_then(|partition| partition.max_nodes.as_ref());
    let most = most.map_or(u64::MAX, |most| u64::from(most.value));
    let most = if asked.nodes > most { u64::MAX } else { most };
    needed.are_there && needed.nodes <= there.min(asked.most_nodes).min(most)
}

/// Nobody says how many there are.
fn is_uncounted(nodes: &Nodes) -> bool {
    nodes.count.is_none() && nodes.names.as_ref().is_none_or(Sourced::is_assumed)
}

/// The fewest nodes; none where no node would do.
fn needed_of(
    sets: &[NodeSet<'_>],
    partition: Option<&Named<Partition>>,
    asked: &Asked,
    features: Option<&Constraint>,
    trust: Trust,
) -> Option<Needed> {
    let spare = partition.map_or(0, |partition| spare(partition, sets));
    let offers: Vec<Offer> = sets
        .iter()
        .filter_map(|set| offer(set, partition, spare, asked, features, trust))
        .collect();
    let total = Total {
        nodes: asked.nodes,
        cpus: asked.cpus,
        gpus: asked.gpus,
        tasks: asked.tasks.unwrap_or(0),
    };
    needed(&offers, &total)
}

/// What nodes of one kind have for a job; none where they have not what each must have.
fn offer(
    set: &NodeSet<'_>,
    partition: Option<&Named<Partition>>,
    spare: u32,
    asked: &Asked,
    features: Option<&Constraint>,
    trust: Trust,
) -> Option<Offer> {
    // What isn't said, or not trusted, is enough for anything.
    let amount = |value: &Option<Sourced<u32>>| match value {
        Some(value) if trust == Trust::All || !value.is_assumed() => u64::from(value.value),
        _ => u64::MAX,
    };
    let cap = partition.and_then(|partition| partition.max_cpus_per_node.as_ref());
    let cap = cap.map_or(u64::MAX, |cap| u64::from(cap.value));
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
    let has_kind =
        |(kind, count): &(String, u64)| gpus_of(nodes, Some(kind), &amount, trust) >= *count;
    // As many of a thing as the node's share for each allows.
    let share = |all: u64, each: u64| all.checked_div(each).unwrap_or(u64::MAX);
    let usable_cpus = cpus.min(share(memory, asked.memory_of_cpu));
    let usable_gpus = gpus
        .min(share(memory, asked.memory_of_gpu))
        .min(share(cpus, asked.cpus_of_gpu));
    let enough = has
        && usable_cpus >= asked.cpus_of_node.max(1)
        && memory >= asked.memory_of_node.unwrap_or(0)
        && usable_gpus >= asked.gpus_of_node
        && asked.kinds_of_node.iter().all(has_kind)
        && (asked.gpus == 0 || usable_gpus > 0);
    if !enough {
        return None;
    }
    let tasks = share(usable_cpus, asked.cpus_of_task)
        .min(share(usable_gpus, asked.gpus_of_task))
        .min(asked.tasks_of_node);
    let count = match trust {
        Trust::SaidAlone if is_uncounted(nodes) => u64::MAX,
        Trust::SaidAlone => u64::from(set.count) + u64::from(spare),
        Trust::All => u64::from(set.count),
    };
    Some(Offer {
        count,
        cpus: usable_cpus,
        gpus: usable_gpus,
        tasks,
    })
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
                (None, []) if sets.iter().all(|set| set.nodes.gpus.is_empty()) => {
                    "a partition with GPUs".to_owned()
                }
                (None, []) => {
                    let models = sets.iter().flat_map(|set| &set.nodes.gpus);
                    let models = models.filter_map(|gpu| gpu.model.as_ref());
                    let mut models: Vec<&str> = models.map(|model| model.as_str()).collect();
                    models.dedup();
                    match models.is_empty() {
                        true => format!("ask without a type, or where {kind} are"),
                        false => format!(
                            "ask without a type for its {}, or where {kind} are",
                            models.join(", ")
                        ),
                    }
                }
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
        () if !asked.kinds_of_node.is_empty() => "ask for GPUs of one type".to_owned(),
        () => of_those_with_gpus(sets, asked)
            .unwrap_or_else(|| "fewer nodes or CPUs, or less of each at once".to_owned()),
    }
}

/// What is too much for the nodes that have the GPUs.
fn of_those_with_gpus(sets: &[NodeSet<'_>], asked: &Asked) -> Option<String> {
    if asked.gpus == 0 {
        return None;
    }
    let amount = |value: &Option<Sourced<u32>>| {
        value
            .as_ref()
            .map_or(u64::MAX, |value| u64::from(value.value))
    };
    let kind = asked.kind.as_deref();
    let has = |set: &&NodeSet<'_>| {
        gpus_of(set.nodes, kind, &amount, Trust::All) >= asked.gpus_of_node.max(1)
    };
    let having = sets.iter().filter(has);
    let what = kind.map_or_else(String::new, |kind| format!(" with {kind}"));
    let cpus = having.clone().map(|set| amount(&set.nodes.cpus)).max()?;
    if asked.cpus_of_node > cpus {
        return Some(format!("at most {cpus} CPUs a node{what}"));
    }
    let memory = having
        .clone()
        .map(|set| {
            set.nodes
                .memory
                .as_ref()
                .map_or(u64::MAX, |size| size.value.0)
        })
        .max()?;
    if asked.memory_of_node.is_some_and(|size| size > memory) {
        return Some(format!("at most {} a node{what}", mebibytes_option(memory)));
    }
    let all = having.fold(0_u64, |sum, set| {
        let each = gpus_of(set.nodes, kind, &amount, Trust::All);
        sum.saturating_add(each.saturating_mul(u64::from(set.count)))
    });
    let name = kind.unwrap_or("GPUs");
    (asked.gpus > all).then(|| format!("at most {all} {name} in all"))
}
