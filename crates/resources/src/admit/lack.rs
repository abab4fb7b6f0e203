//! What no node of a partition has of one option alone, whatever else the job asks.

use super::{Denial, Idle, judged};
use cluster_file::{ClusterFile, GpuKind, Mib, Named, NodeSet, Partition, Sourced};
use model::option_table::Key;
use model::{GpuCount, MemoryRequest, Request};

/// What one option asks of a node, and what nodes of the partition have at most.
#[derive(Clone, Debug, PartialEq)]
pub enum Lack<'a> {
    /// CPUs of the tasks of a node.
    Cpus {
        /// So many.
        asked: u32,
        /// Of the largest node.
        most: &'a Sourced<u32>,
    },
    /// Memory of a node.
    Memory {
        /// In MiB.
        asked: u64,
        /// Of the largest node.
        most: &'a Sourced<Mib>,
    },
    /// GPUs.
    Gpus {
        /// The options that may ask for them.
        keys: &'static [Key],
        /// Their number and type, as asked.
        asked: GpuCount,
        /// What there is of them.
        there: GpuLack<'a>,
    },
}

/// What of GPUs is not there.
#[derive(Clone, Debug, PartialEq)]
pub enum GpuLack<'a> {
    /// The partition has none of them; these do.
    None {
        /// Names of partitions.
        elsewhere: Vec<&'a str>,
    },
    /// Fewer in one node than are asked of one.
    Fewer {
        /// Of the node that has most.
        most: &'a Sourced<u32>,
    },
}

/// What no node of a partition has, each option of a request looked at alone. Of nodes of which the file
/// tells nothing, they may have it.
#[must_use]
pub fn lacks<'a>(
    file: &'a ClusterFile,
    partition: &'a Named<Partition>,
    request: &Request,
    user: Option<&str>,
) -> Vec<Lack<'a>> {
    // What a machine has not got it says of the whole request.
    if file.machine.is_some() {
        return Vec::new();
    }
    let alone = Alone {
        idle: Idle::new(file),
        partition,
        sets: file.nodes_of(partition),
        user,
    };
    let mut all = alone.gpus(request);
    all.extend(alone.cpus(request));
    all.extend(alone.memory(request));
    all
}

struct Alone<'a, 'r> {
    idle: Idle<'a>,
    partition: &'a Named<Partition>,
    sets: Vec<NodeSet<'a>>,
    user: Option<&'r str>,
}

impl<'a> Alone<'a, '_> {
    /// Whether no node has what a request asks for.
    fn no_node(&self, request: Request) -> bool {
        let request = Request {
            partition: Some(self.partition.name.clone()),
            ..request
        };
        let found = judged(&self.idle, &request, self.user).findings;
        found.iter().any(|found| found.denial == Denial::NodeConfig)
    }

    /// The largest of a value of nodes; none where one of them does not tell it.
    fn most<T: Ord>(
        &self,
        value: impl Fn(&NodeSet<'a>) -> Option<&'a Sourced<T>>,
    ) -> Option<&'a Sourced<T>> {
        let all: Option<Vec<&Sourced<T>>> = self.sets.iter().map(value).collect();
        all?.into_iter()
            .max_by(|one, other| one.value.cmp(&other.value))
    }

    fn cpus(&self, request: &Request) -> Option<Lack<'a>> {
        let most = self.most(|set| set.nodes.body.cpus.as_ref())?;
        let each = request.cpus_per_task.unwrap_or(1);
        let asked = each.saturating_mul(request.tasks_per_node.unwrap_or(1).max(1));
        let alone = Request {
            cpus_per_task: request.cpus_per_task,
            tasks_per_node: request.tasks_per_node,
            ..Request::default()
        };
        self.no_node(alone).then_some(Lack::Cpus { asked, most })
    }

    fn memory(&self, request: &Request) -> Option<Lack<'a>> {
        let most = self.most(|set| set.nodes.body.memory.as_ref())?;
        let Some(MemoryRequest::PerNode(asked)) = request.memory else {
            return None;
        };
        let alone = Request {
            memory: request.memory,
            ..Request::default()
        };
        self.no_node(alone).then_some(Lack::Memory { asked, most })
    }

    fn gpus(&self, request: &Request) -> Vec<Lack<'a>> {
        if self.sets.is_empty() {
            return Vec::new();
        }
        let asked: [(_, &'static [Key], bool); 3] = [
            (&request.gpus_per_node, &[Key::GpusPerNode, Key::Gres], true),
            (&request.gpus, &[Key::Gpus], false),
            (&request.rare.gpus_per_task, &[Key::GpusPerTask], true),
        ];
        let lack = |(gpus, keys, of_a_node): (&Option<GpuCount>, _, bool)| {
            let asked = gpus.as_ref().filter(|gpus| gpus.count > 0)?;
            let there = self.gpus_alone(asked, of_a_node)?;
            Some(Lack::Gpus {
                keys,
                asked: asked.clone(),
                there,
            })
        };
        asked.into_iter().filter_map(lack).collect()
    }

    /// Of GPUs of the whole job one is looked for: how many there are in all is another finding.
    fn gpus_alone(&self, asked: &GpuCount, of_a_node: bool) -> Option<GpuLack<'a>> {
        let alone = Request {
            gpus_per_node: Some(GpuCount {
                kind: asked.kind.clone(),
                count: if of_a_node { asked.count } else { 1 },
            }),
            ..Request::default()
        };
        if !self.no_node(alone) {
            return None;
        }
        let file = self.idle.file;
        let is_called = |kind: &GpuKind<'_>| {
            let called = |name| kind.gpu.is_called(name);
            asked.kind.as_deref().is_none_or(called)
        };
        // GPUs of which the file names neither type nor model may be those that are requested.
        let may_be = |kind: &GpuKind<'_>| kind.gpu.has_no_name() || is_called(kind);
        let mut own = file.gpus(Some(self.partition));
        own.retain(may_be);
        if own.is_empty() {
            let others = file.partitions.iter();
            let have = others.filter(|other| file.gpus(Some(other)).iter().any(is_called));
            return Some(GpuLack::None {
                elsewhere: have.map(|other| other.name.as_str()).collect(),
            });
        }
        let counts = own.iter().filter_map(|kind| kind.gpu.count.as_ref());
        let most = counts.max_by_key(|count| count.value)?;
        let is_less = of_a_node && most.value < asked.count;
        is_less.then_some(GpuLack::Fewer { most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
[nodes.a]
names = "a[1-4]"
cpus = 8
memory = "16G"
gpu = { type = "x", count = 2 }
[nodes.b]
names = "b1"
cpus = { value = 16, assumed = "no source says it" }
memory = "8G"
gpu = { type = "y", count = 4 }
[nodes.c]
names = "c1"
[partition.all]
nodes = ["a", "b"]
[partition.small]
nodes = ["a"]
[partition.open]
nodes = ["a", "c"]
"#;

    #[track_caller]
    fn check(partition: &str, request: Request, want: &[&str]) {
        let file = ClusterFile::parse("test", FILE).expect("it can be read");
        let partition = file.partition(partition).expect("it has it");
        let said = lacks(&file, partition, &request, None).into_iter();
        let said = said.map(|lack| match lack {
            Lack::Cpus { asked, most } => format!("cpus {asked} {} {:?}", most.value, most.doubt()),
            Lack::Memory { asked, most } => format!("memory {asked} {}", most.value.0),
            Lack::Gpus { keys, there, .. } => match there {
                GpuLack::None { elsewhere } => format!("{:?} {elsewhere:?}", keys[0]),
                GpuLack::Fewer { most } => format!("{:?} {}", keys[0], most.value),
            },
        });
        assert_eq!(said.collect::<Vec<String>>(), want);
    }

    #[test]
    fn each_option_is_looked_at_alone() {
        let gpus = |kind: Option<&str>, count| {
            Some(GpuCount {
                kind: kind.map(str::to_owned),
                count,
            })
        };
        let large = || Request {
            cpus_per_task: Some(6),
            tasks_per_node: Some(3),
            memory: Some(MemoryRequest::PerNode(20 << 10)),
            gpus_per_node: gpus(Some("y"), 5),
            ..Request::default()
        };
        let of_cpus = "cpus 18 16 Some(Assumed)";
        let of_memory = "memory 20480 16384";
        check("all", large(), &["GpusPerNode 4", of_cpus, of_memory]);
        let small = [r#"GpusPerNode ["all"]"#, "cpus 18 8 None", of_memory];
        check("small", large(), &small);
        // CPUs and memory of one kind of its nodes are not known.
        check("open", large(), &small[..1]);
        let fits = Request {
            cpus_per_task: Some(16),
            memory: Some(MemoryRequest::PerNode(16 << 10)),
            gpus: gpus(None, 40),
            ..Request::default()
        };
        check("all", fits, &[]);
    }
}
