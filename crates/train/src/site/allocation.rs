//! What a job would be given, whether a script or a run file asked for it.

use cluster_file::ClusterFile;
use model::{Request, TimeLimitRequest};
use resources::Verdict;
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
    /// The limit; where none was asked, what the partition or limits of QOS and accounts give.
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
    /// What a request of a user gets there; of anybody's where none is named.
    #[must_use]
    pub fn of(request: &Request, file: &ClusterFile, user: Option<&str>) -> Allocation {
        Allocation::judged(request, file, &resources::verdict(file, request, user))
    }

    /// What a request gets by its verdict.
    pub(super) fn judged(
        request: &Request,
        file: &ClusterFile,
        verdict: &Verdict<'_>,
    ) -> Allocation {
        let partition = verdict.partition;
        let given = resources::given(file, partition, request);
        let narrow = |amount: u64| u32::try_from(amount).unwrap_or(u32::MAX);
        Allocation {
            nodes: given.nodes,
            most_nodes: request.max_nodes.filter(|most| *most > given.nodes),
            tasks: given.tasks,
            cpus_per_node: narrow(given.cpus_per_node),
            gpus_per_node: narrow(given.gpus_per_node),
            gpu_type: given.gpu_kind,
            memory: given.mem_mib,
            time: verdict.time.as_ref().map(|time| time.limit),
            partition: partition.map(|partition| partition.name.clone()),
            constraint: request
                .rare
                .constraint
                .as_ref()
                .map(|features| ordered(&features.to_string())),
            exclusive: given.is_whole,
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

/// Features in one order, where the order makes no difference.
fn ordered(features: &str) -> String {
    if features.contains(['|', ',', '[', '(', '*']) {
        return features.to_owned();
    }
    let mut all: Vec<&str> = features.split('&').collect();
    all.sort_unstable();
    all.join("&")
}
