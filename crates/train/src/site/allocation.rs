//! What a job would be given, whether a script or a run file asked for it.

use cluster_file::{ClusterFile, Named, NodeSet, Partition};
use model::{GpuCount, MemoryRequest, Request, TimeLimitRequest};
use std::fmt;

/// What a job would be given on a cluster: counts that Slurm works out stand as it works them out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Nodes; the least where a range was asked.
    pub nodes: u32,
    /// The most of them, where a range was asked that goes further.
    pub most_nodes: Option<u32>,
    /// Tasks in all.
    pub tasks: u32,
    /// CPUs of each node.
    pub cpus_per_node: u32,
    /// GPUs of each node.
    pub gpus_per_node: u32,
    /// Their GRES type, where one was asked.
    pub gpu_type: Option<String>,
    /// Memory of each node in MiB, 0 is all of it; `None` leaves it to the cluster.
    pub memory: Option<u64>,
    /// The limit; the partition's where none was asked.
    pub time: Option<TimeLimitRequest>,
    /// The partition; the default one where none was asked.
    pub partition: Option<String>,
    /// Features, in the order of their names where all of them must hold.
    pub constraint: Option<String>,
    /// No other job on its nodes.
    pub exclusive: bool,
}

/// One field of two allocations that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field's name, such as `cpus per node`.
    pub field: &'static str,
    /// The first one's value.
    pub first: String,
    /// The other's.
    pub other: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.field, self.first, self.other)
    }
}

impl Allocation {
    /// What a request gets there.
    #[must_use]
    pub fn of(request: &Request, file: &ClusterFile) -> Allocation {
        Allocation::in_partition(
            request,
            file,
            resources::admission(file, request, None).partition,
        )
    }

    /// What a request gets in a partition; in one of which nothing is known where there is none.
    pub(super) fn in_partition(
        request: &Request,
        file: &ClusterFile,
        partition: Option<&Named<Partition>>,
    ) -> Allocation {
        let sets = super::partition::nodes(file, partition);
        let count = |gpus: &Option<GpuCount>| gpus.as_ref().map(|gpus| gpus.count);
        let set = fitting(&sets, request);
        let gpus_there = set.map_or(0, gpus_of);
        let tasks = tasks(request, gpus_there);
        let gpus = count(&request.gpus)
            .or_else(|| Some(count(&request.gpus_per_task)?.saturating_mul(tasks?)))
            .filter(|gpus| *gpus > 0);
        let fewest = resources::fewest_nodes(file, partition, request);
        let nodes = fewest.unwrap_or_else(|| nodes(request, tasks, gpus, gpus_there));
        // More than it allows it never gets, whatever it would need.
        let nodes = nodes.min(request.max_nodes.unwrap_or(u32::MAX)).max(1);
        let tasks = tasks.unwrap_or_else(|| {
            let each = request.tasks_per_node.unwrap_or(1);
            each.saturating_mul(nodes)
        });
        let gpus_per_node =
            count(&request.gpus_per_node).or_else(|| gpus.map(|gpus| gpus.div_ceil(nodes)));
        let gpus_per_node = gpus_per_node.unwrap_or(0);
        let whole = request.exclusive
            || partition.is_some_and(|p| p.exclusive.as_ref().is_some_and(|e| e.value));
        let of_tasks = tasks
            .div_ceil(nodes)
            .saturating_mul(request.cpus_per_task.unwrap_or(1).max(1));
        let default_cpus = || Some(partition?.default_cpus_per_gpu.as_ref()?.value);
        let of_one = match (request.cpus_per_gpu, request.cpus_per_task) {
            (Some(asked), _) => asked,
            // A default is there for those who ask for no CPUs at all.
            (None, Some(_)) => 0,
            (None, None) => default_cpus().unwrap_or(0),
        };
        let of_gpus = gpus_per_node.saturating_mul(of_one);
        let all = set.and_then(|set| Some(set.nodes.cpus.as_ref()?.value));
        let cpus_per_node = match (whole, all) {
            (true, Some(all)) => all,
            _ => of_tasks.max(of_gpus),
        };
        let default_memory = || super::memory::default(file, partition).map(|(asked, _)| asked);
        let memory = request.memory.or_else(default_memory);
        let memory = memory.map(|memory| match memory {
            MemoryRequest::PerNode(size) => size,
            MemoryRequest::PerCpu(size) => size.saturating_mul(u64::from(cpus_per_node)),
            MemoryRequest::PerGpu(size) => size.saturating_mul(u64::from(gpus_per_node)),
        });
        let kinds = [
            &request.gpus_per_node,
            &request.gpus,
            &request.gpus_per_task,
        ];
        let default_time = partition.and_then(|partition| {
            let time = partition.default_time.as_ref();
            Some(time.or(partition.max_time.as_ref())?.value)
        });
        Allocation {
            nodes,
            most_nodes: request.max_nodes.filter(|most| *most > nodes),
            tasks,
            cpus_per_node,
            gpus_per_node,
            gpu_type: kinds
                .into_iter()
                .find_map(|gpus| gpus.as_ref()?.kind.clone()),
            memory,
            time: request.time.or(default_time),
            partition: partition.map(|partition| partition.name.clone()),
            constraint: request
                .constraint
                .as_ref()
                .map(|features| ordered(&features.to_string())),
            exclusive: whole,
        }
    }

    /// What differs in another one.
    #[must_use]
    pub fn differences(&self, other: &Allocation) -> Vec<Difference> {
        let (first, other) = (self.fields(), other.fields());
        let pairs = first.into_iter().zip(other);
        pairs
            .filter(|((_, first), (_, other))| first != other)
            .map(|((field, first), (_, other))| Difference {
                field,
                first,
                other,
            })
            .collect()
    }

    /// `2`, or `1 to 8`.
    pub(super) fn say_nodes(&self) -> String {
        match self.most_nodes {
            None => self.nodes.to_string(),
            Some(most) => format!("{} to {most}", self.nodes),
        }
    }

    /// Each field with its value in words.
    #[must_use]
    pub fn fields(&self) -> [(&'static str, String); 9] {
        let dash = || "–".to_owned();
        let memory = match self.memory {
            None => dash(),
            Some(0) => "all".to_owned(),
            Some(size) => crate::say_mebibytes(size),
        };
        let kind = self.gpu_type.as_ref().map(|kind| format!(" {kind}"));
        let partition = self.partition.clone().unwrap_or_else(dash);
        [
            ("nodes", self.say_nodes()),
            ("tasks", self.tasks.to_string()),
            ("cpus per node", self.cpus_per_node.to_string()),
            (
                "gpus per node",
                format!("{}{}", self.gpus_per_node, kind.unwrap_or_default()),
            ),
            ("memory", memory),
            ("time", self.time.map_or_else(dash, crate::say_limit)),
            ("partition", partition),
            ("constraint", self.constraint.clone().unwrap_or_else(dash)),
            (
                "exclusive",
                if self.exclusive { "yes" } else { "no" }.to_owned(),
            ),
        ]
    }
}

/// The group of nodes that the job most likely gets: the first with its GPUs and CPUs.
fn fitting<'s, 'a>(sets: &'s [NodeSet<'a>], request: &Request) -> Option<&'s NodeSet<'a>> {
    let asks = [
        &request.gpus_per_node,
        &request.gpus,
        &request.gpus_per_task,
    ];
    let asked = asks.into_iter().find_map(Option::as_ref);
    let needed = match (&request.gpus_per_node, asked) {
        (Some(gpus), _) => gpus.count,
        (None, Some(_)) => 1,
        (None, None) => 0,
    };
    // Those of all tasks where one node has them all.
    let tasks = match request.max_nodes {
        Some(1) => request.tasks.or(request.tasks_per_node),
        _ => request.tasks_per_node,
    };
    let of_task = request.cpus_per_task.unwrap_or(1).max(1);
    let cpus = of_task.saturating_mul(tasks.unwrap_or(1));
    let kind = asked.and_then(|gpus| gpus.kind.as_deref());
    let features = request.constraint.as_ref().map(ToString::to_string);
    let has = |set: &&NodeSet<'_>| {
        let own = set.nodes.features.as_ref();
        let named = |name: &str| own.is_some_and(|own| own.iter().any(|own| own == name));
        let called = |kind: &str| set.nodes.gpus.iter().any(|gpu| gpu.is_called(kind));
        let cpus_there = set.nodes.cpus.as_ref();
        gpus_of(set) >= needed
            && cpus_there.is_none_or(|there| there.value >= cpus)
            && kind.is_none_or(called)
            && features
                .as_deref()
                .is_none_or(|all| all.split('&').all(named))
    };
    sets.iter().find(has).or(sets.first())
}

fn gpus_of(set: &NodeSet<'_>) -> u32 {
    let gpus = set.nodes.gpus.iter();
    gpus.map(|gpu| gpu.count.as_ref().map_or(1, |count| count.value))
        .sum()
}

/// Tasks in all, where they were asked for or follow from what was.
fn tasks(request: &Request, gpus_there: u32) -> Option<u32> {
    if request.tasks.is_some() {
        return request.tasks;
    }
    if let (Some(each), Some(nodes)) = (request.tasks_per_node, request.min_nodes) {
        return Some(each.saturating_mul(nodes));
    }
    let gpus = request.gpus.as_ref()?.count;
    if let Some(each) = request.gpus_per_task.as_ref().filter(|each| each.count > 0) {
        return Some(gpus / each.count);
    }
    let each = request.tasks_per_node?;
    Some(each.saturating_mul(gpus.div_ceil(gpus_there.max(1)).max(1)))
}

/// The least number of nodes that holds tasks and GPUs.
fn nodes(request: &Request, tasks: Option<u32>, gpus: Option<u32>, gpus_there: u32) -> u32 {
    if let Some(nodes) = request.min_nodes {
        return nodes.max(1);
    }
    let by_tasks = match (tasks, request.tasks_per_node) {
        (Some(tasks), Some(each)) if each > 0 => tasks.div_ceil(each),
        _ => 1,
    };
    let by_gpus = gpus.map_or(1, |gpus| gpus.div_ceil(gpus_there.max(1)));
    by_tasks.max(by_gpus).max(1)
}

/// Features in one order, where the order makes no difference.
fn ordered(features: &str) -> String {
    if features.contains(['|', ',', '[', '(', '*']) {
        return features.to_owned();
    }
    let mut all: Vec<&str> = features.split('&').collect();
    all.sort_unstable();
    all.join("&")
}
