//! Which kinds of nodes a run could get, and why it could get none; `resources` judges.

use crate::describe::{describe, describe_by};
use crate::node_share::as_least;
use crate::{GpuMemory, MemorySize, Refusal, RefusalKind, Resolved, per_gpu, say_mebibytes};
use model::{ClusterFacts, GpuCount, GpuGroup, MemoryRequest, NodeGroup, Request};
use resources::NodeKinds;

/// What is asked of the nodes.
pub(crate) struct Wanted<'a> {
    pub facts: &'a ClusterFacts,
    pub nodes: &'a Resolved<u32>,
    pub ranks_per_node: &'a Resolved<u32>,
    pub gpus_per_node: &'a Resolved<u32>,
    pub gpu_type: Option<&'a Resolved<String>>,
    pub gpu_memory: Option<&'a Resolved<GpuMemory>>,
    pub cpus_per_rank: Option<&'a Resolved<u32>>,
    pub memory: Option<&'a Resolved<MemorySize>>,
    /// In MiB; never beside `memory`.
    pub memory_per_cpu: Option<&'a Resolved<u64>>,
}

/// What each node and rank gets.
pub(crate) struct NodeChoice {
    /// Places in the facts of the groups that could be given; the first is the one that is planned
    /// for. Several where no kind of GPUs is asked: what is planned must hold for each.
    pub groups: Vec<usize>,
    pub cpus_per_rank: Resolved<u32>,
    pub gpu_type: Option<Resolved<String>>,
    pub memory: Option<Resolved<u64>>,
}

impl NodeChoice {
    /// The largest group of nodes that has what is asked.
    pub fn find(wanted: &Wanted<'_>) -> Result<NodeChoice, Refusal> {
        let mut groups = wanted.groups()?;
        if !wanted.is_any_gpu() {
            groups.truncate(1);
        }
        let could = || groups.iter().map(|group| &wanted.facts.nodes[*group]);
        let cpus = could().map(|group| wanted.cpus_per_rank(group));
        let cpus = cpus.min_by_key(|cpus| cpus.value);
        let cpus = cpus.expect("invariant: a group has the memory, else it is refused");
        let memory = could().filter_map(|group| wanted.memory(group));
        let memory = memory.min_by_key(|memory| memory.value);
        let (cpus, memory) = match groups.len() {
            1 => (cpus, memory),
            _ => (as_least(cpus), memory.map(as_least)),
        };
        let gpu_type = could().next().and_then(|group| wanted.gpu_type(group));
        Ok(NodeChoice {
            cpus_per_rank: cpus,
            gpu_type,
            memory,
            groups,
        })
    }
}

impl Wanted<'_> {
    /// Nodes of this job that one node of the cluster holds: virtual nodes share the machine.
    fn on_one(&self) -> u32 {
        if self.facts.embedded {
            self.nodes.value
        } else {
            1
        }
    }

    pub(crate) fn ranks_on_one(&self) -> u32 {
        self.ranks_per_node.value.saturating_mul(self.on_one())
    }

    pub(crate) fn gpus_on_one(&self) -> u32 {
        self.gpus_per_node.value.saturating_mul(self.on_one())
    }

    /// Whether GPUs are asked of no kind.
    fn is_any_gpu(&self) -> bool {
        self.gpus_per_node.value > 0 && self.gpu_type.is_none() && self.gpu_memory.is_none()
    }

    pub(crate) fn is_wanted(&self, gpus: &GpuGroup) -> bool {
        let kind = self.gpu_type.is_none_or(|kind| gpus.is_kind(&kind.value));
        // A cluster that doesn't say how large its GPUs are is believed to have them.
        let large =
            |least: &Resolved<GpuMemory>| gpus.memory_mib.is_none_or(|size| size >= least.value.0);
        kind && self.gpu_memory.is_none_or(large)
    }

    pub(crate) fn gpus_of(&self, group: &NodeGroup) -> u32 {
        let wanted = group.gpus.iter().filter(|gpus| self.is_wanted(gpus));
        wanted.map(|gpus| gpus.count).sum()
    }

    /// The groups that could be given, by one amount after the other, so that a refusal names the
    /// first that is too much.
    fn groups(&self) -> Result<Vec<usize>, Refusal> {
        let kinds = NodeKinds::of(self.facts, |gpus| self.is_wanted(gpus));
        let gpus = gpus_asked(self.nodes.value, self.gpus_per_node.value);
        let by_gpus = match self.gpus_per_node.value {
            0 => (0..self.facts.nodes.len()).collect(),
            _ => kinds.by_gpus().serving(&gpus),
        };
        if by_gpus.is_empty() && self.gpus_per_node.value > 0 {
            return Err(self.no_gpus(&kinds.by_gpus()));
        }
        // Of a machine whose virtual nodes share it their number is one of CPUs.
        let enough = || self.facts.embedded || kinds.by_gpus().serve(&by_gpus, &gpus);
        if by_gpus.is_empty() || !enough() {
            return Err(self.too_few(&by_gpus));
        }
        let asked = self.cpus_per_rank.map_or(1, |cpus| cpus.value);
        let with_cpus = with_cpus(&gpus, self.ranks_per_node.value, asked);
        let mut by_cpus = kinds.serving(&with_cpus);
        by_cpus.retain(|group| by_gpus.contains(group));
        if !kinds.serve(&by_cpus, &with_cpus) {
            return Err(self.no_cpus(&kinds, &by_gpus, &gpus));
        }
        let mut by_memory = match self.least_memory().map(|memory| memory.value) {
            None | Some(0) => by_cpus.clone(),
            Some(memory) => kinds.serving(&with_memory(&with_cpus, memory)),
        };
        by_memory.retain(|group| by_cpus.contains(group));
        if by_memory.is_empty() {
            return Err(self.no_memory(&kinds, &with_cpus));
        }
        Ok(by_memory)
    }

    /// The least memory of a node that is asked for, by the node or by each CPU.
    fn least_memory(&self) -> Option<Resolved<u64>> {
        if let Some(each) = self.memory_per_cpu {
            let cpus = self.cpus_per_rank.map_or(1, |cpus| cpus.value);
            let cpus = cpus.saturating_mul(self.ranks_per_node.value);
            return Some(per_gpu::memory_of_cpus(each, cpus));
        }
        let memory = self.memory?;
        let size = memory.value.0?;
        Some(Resolved::new(size, memory.source.clone()))
    }

    /// A refusal of what no node ever has.
    fn never(&self, message: String, asked: String, todo: String) -> Refusal {
        Refusal {
            kind: RefusalKind::NeverFits,
            message: format!("{} {message}", self.facts.name),
            asked,
            there: describe(self.facts),
            todo,
        }
    }

    fn no_gpus(&self, kinds: &NodeKinds) -> Refusal {
        let kind = match self.gpu_type {
            Some(kind) => kind.value.clone(),
            None => "GPUs".to_owned(),
        };
        let any = self.facts.nodes.iter().any(|group| !group.gpus.is_empty());
        let message = match (any, self.facts.embedded) {
            (false, _) => "has no GPU".to_owned(),
            (true, true) => format!("has fewer than {} {kind}", self.gpus_on_one()),
            (true, false) => format!("has no node with {} {kind}", self.gpus_on_one()),
        };
        let of_type = self
            .gpu_type
            .map(|kind| format!(", gpu_type = {:?}", kind.value));
        let memory = self
            .gpu_memory
            .map(|least| format!(", gpu_memory = \"{}M\"", least.value.0));
        let nodes = (self.on_one() > 1).then(|| format!(", nodes = {}", self.nodes.value));
        let asked = format!(
            "gpus_per_node = {}{}{}{}   ({})",
            self.gpus_per_node.value,
            of_type.unwrap_or_default(),
            memory.unwrap_or_default(),
            nodes.unwrap_or_default(),
            self.gpus_per_node.source
        );
        self.never(message, asked, self.gpus_instead(kinds, any))
    }

    /// The nearest that would fit.
    fn gpus_instead(&self, kinds: &NodeKinds, any: bool) -> String {
        if !any {
            return "leave gpus_per_node out, or name a cluster that has some with --on".to_owned();
        }
        let on = |nodes: u32| {
            let asked = u64::from(self.gpus_per_node.value);
            let most = kinds.greatest(asked, |gpus| gpus_asked(nodes, narrow(gpus)));
            most.map_or(0, narrow)
        };
        let most = on(1);
        if most == 0 {
            return self.other_types();
        }
        if self.facts.embedded {
            return match on(self.nodes.value) {
                0 => format!("at most {most} in all, on one node"),
                each => format!("gpus_per_node = {each}"),
            };
        }
        // As many GPUs in all, on more nodes.
        let all = self.nodes.value.saturating_mul(self.gpus_per_node.value);
        let nodes = all.div_ceil(most);
        let wider = gpus_asked(nodes, most);
        if all.is_multiple_of(most) && kinds.serve(&kinds.serving(&wider), &wider) {
            format!("nodes = {nodes} with gpus_per_node = {most}")
        } else {
            format!("gpus_per_node = {most}")
        }
    }

    /// Types that there are.
    fn other_types(&self) -> String {
        let mut kinds: Vec<String> = Vec::new();
        for gpus in self.facts.nodes.iter().flat_map(|group| &group.gpus) {
            if let Some(kind) = &gpus.kind
                && !kinds.contains(kind)
            {
                kinds.push(kind.clone());
            }
        }
        if kinds.is_empty() {
            "leave gpu_type out".to_owned()
        } else {
            format!("gpu_type is one of {}", kinds.join(", "))
        }
    }

    /// Fewer nodes have the GPUs than are asked for.
    fn too_few(&self, groups: &[usize]) -> Refusal {
        let groups = groups.iter().map(|group| &self.facts.nodes[*group]);
        let count: u32 = groups.map(|group| group.count).sum();
        let (message, todo) = match count {
            0 => ("has no node".to_owned(), "see yard cluster show".to_owned()),
            count => (
                format!("has {count} such nodes"),
                format!("nodes = {count}"),
            ),
        };
        let asked = format!("nodes = {}   ({})", self.nodes.value, self.nodes.source);
        self.never(message, asked, todo)
    }

    fn no_cpus(&self, kinds: &NodeKinds, groups: &[usize], gpus: &Request) -> Refusal {
        let (nodes, ranks) = (self.nodes.value, self.ranks_per_node);
        let asked = self.cpus_per_rank.map_or(1, |cpus| cpus.value);
        let needed = asked.saturating_mul(self.ranks_on_one());
        let mut words = format!("ranks_per_node = {}   ({})", ranks.value, ranks.source);
        if let Some(cpus) = self.cpus_per_rank {
            words = format!("cpus_per_rank = {} ({}), {words}", cpus.value, cpus.source);
        }
        if nodes > 1 {
            words = format!("nodes = {nodes}, {words}");
        }
        let each = kinds.greatest(asked.into(), |cpus| {
            with_cpus(gpus, ranks.value, narrow(cpus))
        });
        let most = groups.iter().map(|group| self.facts.nodes[*group].cpus);
        let most = most.max().unwrap_or(0);
        let todo = match (each, self.facts.embedded && nodes > 1) {
            (None, true) => format!("at most {most} ranks in all: the nodes share this machine"),
            (None, false) => format!("ranks_per_node = {most} or fewer"),
            (Some(each), _) => format!("cpus_per_rank = {each}"),
        };
        let message = if self.facts.embedded {
            format!("has fewer than {needed} CPUs")
        } else {
            format!("has too few nodes with {needed} CPUs")
        };
        self.never(message, words, todo)
    }

    fn no_memory(&self, kinds: &NodeKinds, with_cpus: &Request) -> Refusal {
        let least = self.least_memory();
        let asked = least.as_ref().map_or(0, |memory| memory.value);
        let needed = asked.saturating_mul(u64::from(self.on_one()));
        let source = least.map(|memory| memory.source.to_string());
        let nodes = self.on_one();
        let one = Request {
            min_nodes: Some(nodes),
            max_nodes: Some(nodes),
            ..with_cpus.clone()
        };
        let most = kinds.greatest(asked, |memory| with_memory(&one, memory));
        let amount = say_mebibytes(needed);
        let words = format!(
            "memory = {}   ({})",
            say_mebibytes(asked),
            source.unwrap_or_default()
        );
        Refusal {
            there: describe_by(self.facts, |group| say_mebibytes(group.memory_mib)),
            ..self.never(
                format!("has no node with {amount} of memory"),
                words,
                format!("memory = \"{}\" or less", written(most.unwrap_or(0))),
            )
        }
    }
}

/// The nodes with their GPUs: of those that count, whatever their type is.
pub(crate) fn gpus_asked(nodes: u32, gpus: u32) -> Request {
    Request {
        min_nodes: Some(nodes),
        max_nodes: Some(nodes),
        gpus_per_node: (gpus > 0).then_some(GpuCount {
            kind: None,
            count: gpus,
        }),
        ..Request::default()
    }
}

fn with_cpus(request: &Request, ranks: u32, cpus: u32) -> Request {
    Request {
        tasks_per_node: Some(ranks),
        cpus_per_task: Some(cpus),
        ..request.clone()
    }
}

fn with_memory(request: &Request, mebibytes: u64) -> Request {
    Request {
        memory: Some(MemoryRequest::PerNode(mebibytes)),
        ..request.clone()
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// An amount as a run file has it: `1000G`, or `1500M` where that is no whole number of them.
fn written(mebibytes: u64) -> String {
    match mebibytes % 1024 {
        0 => format!("{}G", mebibytes / 1024),
        _ => format!("{mebibytes}M"),
    }
}
