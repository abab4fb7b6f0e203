//! Whether a cluster has what is asked, and what each rank gets of it.

use crate::{GpuMemory, MemorySize, Refusal, RefusalKind, Resolved, Source, say_mebibytes};
use model::{ClusterFacts, GpuGroup, NodeGroup};

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
}

/// What each node and rank gets.
pub(crate) struct Fit {
    /// Places in the facts of the groups that could be given; the first is the one that is planned
    /// for. Several where no kind of GPUs is asked: what is planned must hold for each.
    pub groups: Vec<usize>,
    pub cpus_per_rank: Resolved<u32>,
    pub gpu_type: Option<Resolved<String>>,
    pub memory: Option<Resolved<u64>>,
}

impl Fit {
    /// The largest group of nodes that has what is asked.
    pub fn find(wanted: &Wanted<'_>) -> Result<Fit, Refusal> {
        let by_gpus = wanted.groups_with_gpus()?;
        let by_cpus = wanted.groups_with_cpus(&by_gpus)?;
        let by_memory = wanted.groups_with_memory(&by_cpus)?;
        let could = if wanted.is_any_gpu() {
            &by_memory[..]
        } else {
            &by_memory[..1]
        };
        let place = |group: &&NodeGroup| {
            let is_it = |own: &NodeGroup| std::ptr::eq(own, *group);
            wanted.facts.nodes.iter().position(is_it).unwrap_or(0)
        };
        let cpus = could.iter().map(|group| wanted.cpus_per_rank(group));
        let cpus = cpus.min_by_key(|cpus| cpus.value);
        let cpus = cpus.expect("invariant: a group has the memory, else it is refused");
        let memory = could.iter().filter_map(|group| wanted.memory(group));
        let memory = memory.min_by_key(|memory| memory.value);
        let (cpus, memory) = match could.len() {
            1 => (cpus, memory),
            _ => (as_least(cpus), memory.map(as_least)),
        };
        Ok(Fit {
            groups: could.iter().map(place).collect(),
            cpus_per_rank: cpus,
            gpu_type: wanted.gpu_type(could[0]),
            memory,
        })
    }
}

/// Says that a value that was not requested is the least of those that could be given.
pub(crate) fn as_least<T>(value: Resolved<T>) -> Resolved<T> {
    if value.source.is_asked() {
        return value;
    }
    let why = format!("{}: the least of what could be given", value.source);
    Resolved::new(value.value, Source::cluster(why))
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

    /// Nodes of the cluster that the job needs.
    fn needed(&self) -> u32 {
        if self.facts.embedded {
            1
        } else {
            self.nodes.value
        }
    }

    fn ranks_on_one(&self) -> u32 {
        self.ranks_per_node.value.saturating_mul(self.on_one())
    }

    fn gpus_on_one(&self) -> u32 {
        self.gpus_per_node.value.saturating_mul(self.on_one())
    }

    /// Whether GPUs are asked of no kind.
    fn is_any_gpu(&self) -> bool {
        self.gpus_per_node.value > 0 && self.gpu_type.is_none() && self.gpu_memory.is_none()
    }

    fn is_wanted(&self, gpus: &GpuGroup) -> bool {
        let kind = self.gpu_type.is_none_or(|kind| gpus.is_kind(&kind.value));
        // A cluster that doesn't say how large its GPUs are is believed to have them.
        let large =
            |least: &Resolved<GpuMemory>| gpus.memory_mib.is_none_or(|size| size >= least.value.0);
        kind && self.gpu_memory.is_none_or(large)
    }

    fn gpus_of(&self, group: &NodeGroup) -> u32 {
        let wanted = group.gpus.iter().filter(|gpus| self.is_wanted(gpus));
        wanted.map(|gpus| gpus.count).sum()
    }

    fn gpus_asked(&self) -> String {
        let kind = self
            .gpu_type
            .map(|kind| format!(", gpu_type = {:?}", kind.value));
        let memory = self
            .gpu_memory
            .map(|least| format!(", gpu_memory = \"{}M\"", least.value.0));
        let nodes = (self.on_one() > 1).then(|| format!(", nodes = {}", self.nodes.value));
        format!(
            "gpus_per_node = {}{}{}{}   ({})",
            self.gpus_per_node.value,
            kind.unwrap_or_default(),
            memory.unwrap_or_default(),
            nodes.unwrap_or_default(),
            self.gpus_per_node.source
        )
    }

    /// Groups that have the GPUs, and enough nodes.
    fn groups_with_gpus(&self) -> Result<Vec<&NodeGroup>, Refusal> {
        let groups = &self.facts.nodes;
        if self.gpus_per_node.value == 0 {
            return self.enough(groups.iter().collect());
        }
        let fitting: Vec<&NodeGroup> = groups
            .iter()
            .filter(|group| self.gpus_of(group) >= self.gpus_on_one())
            .collect();
        if !fitting.is_empty() {
            return self.enough(fitting);
        }
        let cluster = &self.facts.name;
        let kind = match self.gpu_type {
            Some(kind) => kind.value.clone(),
            None => "GPUs".to_owned(),
        };
        let any = groups.iter().any(|group| !group.gpus.is_empty());
        let message = match (any, self.facts.embedded) {
            (false, _) => format!("{cluster} has no GPU"),
            (true, true) => format!("{cluster} has fewer than {} {kind}", self.gpus_on_one()),
            (true, false) => format!("{cluster} has no node with {} {kind}", self.gpus_on_one()),
        };
        Err(Refusal {
            kind: RefusalKind::NeverFits,
            message,
            asked: self.gpus_asked(),
            there: describe(self.facts),
            todo: self.gpus_instead(any),
        })
    }

    /// The nearest that would fit.
    fn gpus_instead(&self, any: bool) -> String {
        if !any {
            return "leave gpus_per_node out, or name a cluster that has some with --on".to_owned();
        }
        let most = self
            .facts
            .nodes
            .iter()
            .map(|group| (self.gpus_of(group), group.count));
        let (most, count) = most.max().unwrap_or((0, 0));
        if self.facts.embedded {
            return match (most / self.nodes.value.max(1), most) {
                (0, 0) => self.other_types(),
                (0, most) => format!("at most {most} in all, on one node"),
                (each, _) => format!("gpus_per_node = {each}"),
            };
        }
        if most == 0 {
            return self.other_types();
        }
        let all = self.nodes.value.saturating_mul(self.gpus_per_node.value);
        let nodes = all.div_ceil(most);
        if all.is_multiple_of(most) && nodes <= count {
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

    /// Whether so many nodes are there: of one kind, or of several together.
    fn enough<'g>(&self, groups: Vec<&'g NodeGroup>) -> Result<Vec<&'g NodeGroup>, Refusal> {
        let count: u32 = groups.iter().map(|group| group.count).sum();
        if count >= self.needed() {
            return Ok(groups);
        }
        let (message, todo) = match count {
            0 => ("has no node".to_owned(), "see yard cluster show".to_owned()),
            count => (
                format!("has {count} such nodes"),
                format!("nodes = {count}"),
            ),
        };
        Err(Refusal {
            kind: RefusalKind::NeverFits,
            message: format!("{} {message}", self.facts.name),
            asked: format!("nodes = {}   ({})", self.nodes.value, self.nodes.source),
            there: describe(self.facts),
            todo,
        })
    }

    fn groups_with_cpus<'g>(
        &self,
        groups: &[&'g NodeGroup],
    ) -> Result<Vec<&'g NodeGroup>, Refusal> {
        let asked = self.cpus_per_rank.map_or(1, |cpus| cpus.value);
        let needed = asked.saturating_mul(self.ranks_on_one());
        let fitting = |group: &&&NodeGroup| group.cpus >= needed;
        let fitting: Vec<&NodeGroup> = groups.iter().filter(fitting).copied().collect();
        let enough: u32 = fitting.iter().map(|group| group.count).sum();
        if enough >= self.needed() {
            return Ok(fitting);
        }
        let most = groups.iter().map(|group| group.cpus).max().unwrap_or(0);
        let each = most / self.ranks_on_one().max(1);
        let mut asked = format!(
            "ranks_per_node = {}   ({})",
            self.ranks_per_node.value, self.ranks_per_node.source
        );
        if let Some(cpus) = self.cpus_per_rank {
            asked = format!("cpus_per_rank = {} ({}), {asked}", cpus.value, cpus.source);
        }
        if self.nodes.value > 1 {
            asked = format!("nodes = {}, {asked}", self.nodes.value);
        }
        let todo = match (each, self.facts.embedded && self.nodes.value > 1) {
            (0, true) => format!("at most {most} ranks over all virtual nodes"),
            (0, false) => format!("ranks_per_node = {most} or fewer"),
            (each, _) => format!("cpus_per_rank = {each}"),
        };
        let message = if self.facts.embedded {
            format!("{} has fewer than {needed} CPUs", self.facts.name)
        } else {
            format!("{} has too few nodes with {needed} CPUs", self.facts.name)
        };
        Err(Refusal {
            kind: RefusalKind::NeverFits,
            message,
            asked,
            there: describe(self.facts),
            todo,
        })
    }

    /// Those of the groups that have the memory; never empty.
    fn groups_with_memory<'g>(
        &self,
        groups: &[&'g NodeGroup],
    ) -> Result<Vec<&'g NodeGroup>, Refusal> {
        let asked = self.memory.and_then(|memory| memory.value.0).unwrap_or(0);
        let needed = asked.saturating_mul(u64::from(self.on_one()));
        let fits = |group: &&&NodeGroup| group.memory_mib >= needed;
        let fitting: Vec<&NodeGroup> = groups.iter().filter(fits).copied().collect();
        if !fitting.is_empty() {
            return Ok(fitting);
        }
        let most = groups
            .iter()
            .map(|group| group.memory_mib)
            .max()
            .unwrap_or(0);
        let source = self.memory.map(|memory| memory.source.to_string());
        Err(Refusal {
            kind: RefusalKind::NeverFits,
            message: format!(
                "{} has no node with {} of memory",
                self.facts.name,
                say_mebibytes(needed)
            ),
            asked: format!(
                "memory = {}   ({})",
                say_mebibytes(asked),
                source.unwrap_or_default()
            ),
            there: describe_by(self.facts, |group| say_mebibytes(group.memory_mib)),
            todo: format!(
                "memory = \"{}\" or less",
                written(most / u64::from(self.on_one()))
            ),
        })
    }

    fn cpus_per_rank(&self, group: &NodeGroup) -> Resolved<u32> {
        if let Some(asked) = self.cpus_per_rank {
            return asked.clone();
        }
        let ranks = self.ranks_on_one().max(1);
        let gpus = self.gpus_of(group);
        if self.gpus_per_node.value > 0 && gpus > 0 {
            let share = u64::from(group.cpus) * u64::from(self.gpus_on_one()) / u64::from(gpus);
            let share = u32::try_from(share).unwrap_or(u32::MAX);
            let why = format!("a node's {} CPUs for its {gpus} GPUs", group.cpus);
            return Resolved::new((share / ranks).max(1), Source::cluster(why));
        }
        let why = match (self.facts.embedded, ranks) {
            (true, 1) => format!("this machine's {} CPUs for 1 rank", group.cpus),
            (true, _) => format!("this machine's {} CPUs for {ranks} ranks", group.cpus),
            (false, 1) => format!("a node's {} CPUs for its 1 rank", group.cpus),
            (false, _) => format!("a node's {} CPUs for its {ranks} ranks", group.cpus),
        };
        Resolved::new((group.cpus / ranks).max(1), Source::cluster(why))
    }

    /// As asked; with `gpu_memory`, the type that has it, since Slurm can't be asked for memory.
    fn gpu_type(&self, group: &NodeGroup) -> Option<Resolved<String>> {
        if let Some(asked) = self.gpu_type {
            // As the cluster writes it: Slurm compares types letter by letter.
            let own = group.gpus.iter().find(|gpus| gpus.is_kind(&asked.value));
            let own = own.and_then(|gpus| gpus.kind.clone());
            let value = own.unwrap_or_else(|| asked.value.clone());
            return Some(Resolved::new(value, asked.source.clone()));
        }
        let least = self.gpu_memory?;
        let gpus = group.gpus.iter().find(|gpus| self.is_wanted(gpus))?;
        let why = match gpus.memory_mib {
            Some(size) => format!("has {}; {}", say_mebibytes(size), least.source),
            None => format!("{}", least.source),
        };
        Some(Resolved::new(gpus.kind.clone()?, Source::cluster(why)))
    }

    /// On Slurm memory is always asked: without it a job may get a whole node's, and wait for it.
    fn memory(&self, group: &NodeGroup) -> Option<Resolved<u64>> {
        if let Some(asked) = self.memory {
            let size = asked.value.0?;
            return Some(Resolved::new(size, asked.source.clone()));
        }
        if self.facts.embedded {
            return None;
        }
        let cpus = self.cpus_per_rank(group).value;
        let used = u64::from(
            cpus.saturating_mul(self.ranks_per_node.value)
                .min(group.cpus),
        );
        let by_cpus = group.memory_mib * used / u64::from(group.cpus.max(1));
        let gpus = u64::from(self.gpus_of(group));
        let by_gpus = match gpus {
            0 => 0,
            gpus => group.memory_mib * u64::from(self.gpus_per_node.value).min(gpus) / gpus,
        };
        let why = format!("this share of a node's {}", say_mebibytes(group.memory_mib));
        Some(Resolved::new(
            by_cpus.max(by_gpus).max(1),
            Source::cluster(why),
        ))
    }
}

/// An amount as a run file has it: `1000G`, or `1500M` where that is no whole number of them.
fn written(mebibytes: u64) -> String {
    match mebibytes % 1024 {
        0 => format!("{}G", mebibytes / 1024),
        _ => format!("{mebibytes}M"),
    }
}

/// What a cluster has, in words: `4 nodes with 2 v100, 1 with 8 p100`.
pub(crate) fn describe(facts: &ClusterFacts) -> String {
    describe_by(facts, describe_node)
}

fn describe_by(facts: &ClusterFacts, node: impl Fn(&NodeGroup) -> String) -> String {
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
