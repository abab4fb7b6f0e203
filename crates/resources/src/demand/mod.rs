//! What a job needs, whatever the words were in which it was asked.

mod defaults;
mod max_memory;
mod of_request;
mod virtual_nodes;

pub use defaults::{CpuCap, Defaults, Layers};
pub(crate) use max_memory::over_memory;
pub use virtual_nodes::VirtualNeed;

use model::{AskedSwitches, Constraint, NodeName};
use std::sync::Arc;

/// What a job needs: made once of its request, and the only arithmetic of tasks, CPUs, memory and
/// GPUs that there is.
///
/// Defaults differ by partition, so that a job which names several has a demand for each. What
/// Slurm *prints* of a job that waits is not what it needs: that is [`crate::recorded`].
///
/// A node serves with `t` tasks and `g` of the GPUs that are asked for the whole job, if it has at
/// once: `max(node.cpus, t × task.cpus, GPUs × gpu.cpus, 1)` CPUs; `node` + `t × task` + `g`
/// GPUs; `node.mem` + CPUs × `mem_per_cpu` + GPUs × `gpu.mem` memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Demand {
    /// How many nodes.
    pub nodes: NodeRange,
    /// Tasks in all. None: as many as `tasks_per_node` says on each node, else one.
    pub tasks: Option<u32>,
    /// With `tasks` the most on a node, without them the number on each.
    pub tasks_per_node: Option<u32>,
    /// What each node must give at least.
    pub node: Need,
    /// What each task needs.
    pub task: Need,
    /// The CPUs of a task are those of its GPUs, and were not asked for.
    pub task_cpus_follow: bool,
    /// CPUs and memory beside each GPU.
    pub gpu: Need,
    /// What the job needs in all, wherever it is: every node gives at least one of each.
    pub job: Need,
    /// MiB for each CPU.
    pub mem_per_cpu: u64,
    /// All of the memory of each node.
    pub all_memory: bool,
    /// It asks for more memory of a node than its partition gives (`MaxMemPerNode`).
    pub is_over_memory: bool,
    /// The most CPUs of a node.
    pub cpu_cap: Option<CpuCap>,
    /// Who else may be on its nodes.
    pub sharing: Sharing,
    /// Features of its nodes.
    pub constraint: Option<Constraint>,
    /// Nodes that it must have.
    pub required: Arc<Vec<NodeName>>,
    /// Nodes that it must not have.
    pub excluded: Arc<Vec<NodeName>>,
    /// Features that its nodes should rather have.
    pub prefer: Option<Constraint>,
    /// It is on as many nodes as can be.
    pub spread: bool,
    /// Behind how many of the lowest switches its nodes are at most, and how long it waits for that.
    pub switches: Option<AskedSwitches>,
    /// Its nodes stand side by side.
    pub contiguous: bool,
    /// MiB of temporary disk on each node.
    pub tmp_mib: u64,
    /// What it asks of sockets, cores and threads.
    pub sockets: Option<Box<SocketNeed>>,
    /// Its CPUs and GPUs lie at the same sockets, wherever those of GPUs are known.
    pub enforce_binding: bool,
    /// Tasks share CPUs: a node gives one, however many tasks it has.
    pub overcommit: bool,
    /// A node has as many tasks as follow from its GPUs: `MinCPUsNode` counts one of them.
    pub tasks_by_gpus: bool,
}

/// How many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeRange {
    /// At least; never 0.
    pub least: u32,
    /// At most; none leaves it open, and the fewest are taken.
    pub most: Option<u32>,
    /// Of a range the least is taken where that is enough.
    pub fewest: bool,
    /// Both follow from GPUs in all and of each node, and were not asked for.
    pub follows: bool,
}

/// Amounts that are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Need {
    /// CPUs.
    pub cpus: u32,
    /// MiB.
    pub mem_mib: u64,
    /// GPUs and other counted resources, each name and type once.
    pub gres: Vec<GresNeed>,
}

/// A counted resource that is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GresNeed {
    /// `gpu`, `nvme`.
    pub name: String,
    /// The type; none takes any.
    pub kind: Option<String>,
    /// How many; never 0.
    pub count: u64,
}

impl GresNeed {
    /// Whether it is GPUs.
    #[must_use]
    pub fn is_gpus(&self) -> bool {
        self.name == "gpu"
    }
}

impl Need {
    /// GPUs of all types.
    #[must_use]
    pub fn gpus(&self) -> u64 {
        let gpus = self.gres.iter().filter(|gres| gres.is_gpus());
        gpus.fold(0, |all, gres| all.saturating_add(gres.count))
    }
}

/// Who else may be on the nodes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Others, with CPUs of their own.
    Any,
    /// The same; beside those too, as it is in their partition, that share each CPU among so many.
    Beside(u32),
    /// Others, with CPUs of its own, of partitions that share CPUs too (`FORCE:1`).
    Forced,
    /// No other job: it gets all CPUs and counted resources of its nodes, and memory as asked.
    Whole,
    /// Other jobs of its user alone.
    User,
    /// Other jobs that allow it too, on the same CPUs: so many of them on each.
    Over(u32),
}

/// What a job asks of the places of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SocketNeed {
    /// At least so many sockets of a node.
    pub sockets: u32,
    /// At least so many cores of a socket.
    pub cores: u32,
    /// At least so many threads of a core.
    pub threads: u32,
    /// At most so many tasks of a socket.
    pub tasks_per_socket: Option<u32>,
    /// At most so many tasks of a core.
    pub tasks_per_core: Option<u32>,
    /// So many GPUs of each socket, where it is known which are at which.
    pub gpus_per_socket: u32,
}

impl Demand {
    /// The fewest nodes that it can be on, whatever they have: as many as it asks, and as its
    /// tasks make of the most on each. Never more than it has tasks or than it allows.
    #[must_use]
    pub fn fewest_nodes(&self) -> u32 {
        let by_tasks = match (self.tasks, self.tasks_per_node) {
            (Some(tasks), Some(each)) => tasks.div_ceil(each.max(1)),
            _ => 1,
        };
        let most = self.tasks.unwrap_or(u32::MAX).max(1);
        let most = most.min(self.nodes.most.unwrap_or(u32::MAX)).max(1);
        self.nodes.least.max(by_tasks).clamp(1, most)
    }

    /// CPUs that a node must have to be one of the job's (`MinCPUsNode`): for a task, and for as many
    /// as one node may have.
    #[must_use]
    pub fn min_cpus_of_node(&self) -> u64 {
        let least = self.nodes.least;
        let of_nodes = self.tasks_per_node.map(|each| each.saturating_mul(least));
        let is_one = self.tasks.or(of_nodes).is_none_or(|tasks| tasks <= 1);
        let is_counted = !self.overcommit && !self.tasks_by_gpus && !is_one;
        let each = self.tasks_per_node.filter(|_| is_counted);
        let of_task = u64::from(self.task.cpus.max(1));
        let of_tasks = of_task.saturating_mul(each.unwrap_or(1).into());
        of_tasks.max(self.node.cpus.into())
    }

    /// CPUs of a node with so many of its tasks and GPUs.
    #[must_use]
    pub fn cpus_for(&self, tasks: u32, gpus: u64) -> u64 {
        let of_tasks = u64::from(tasks).saturating_mul(self.task.cpus.into());
        let of_gpus = gpus.saturating_mul(self.gpu.cpus.into());
        of_tasks.max(of_gpus).max(self.node.cpus.into()).max(1)
    }

    /// MiB of a node with so many of its CPUs and GPUs; of a job that takes all of it as asked
    /// beside that.
    #[must_use]
    pub fn mem_for(&self, cpus: u64, gpus: u64) -> u64 {
        let of_cpus = self.mem_per_cpu.saturating_mul(cpus);
        let of_gpus = self.gpu.mem_mib.saturating_mul(gpus);
        self.node
            .mem_mib
            .saturating_add(of_cpus)
            .saturating_add(of_gpus)
    }

    /// The type of its GPUs, where it names one.
    #[must_use]
    pub fn gpu_kind(&self) -> Option<&str> {
        let all = [&self.job, &self.node, &self.task].into_iter();
        let mut gpus = all
            .flat_map(|need| &need.gres)
            .filter(|gres| gres.is_gpus());
        gpus.find_map(|gres| gres.kind.as_deref())
    }

    /// CPUs in all that it asks for at the least: one a node, a task's for each task.
    #[must_use]
    pub fn least_cpus(&self) -> u64 {
        let least = self.nodes.least;
        let cpus = self.cpus_for(self.tasks_on(least), self.gpus_on(least));
        cpus.max(least.into())
    }

    /// Tasks in all on so many nodes.
    #[must_use]
    pub fn tasks_on(&self, nodes: u32) -> u32 {
        let each = self.tasks_per_node.unwrap_or(1);
        self.tasks.unwrap_or_else(|| each.saturating_mul(nodes))
    }

    /// GPUs in all on so many nodes.
    #[must_use]
    pub fn gpus_on(&self, nodes: u32) -> u64 {
        let of_nodes = self.node.gpus().saturating_mul(nodes.into());
        let of_tasks = self.task.gpus().saturating_mul(self.tasks_on(nodes).into());
        of_nodes
            .saturating_add(of_tasks)
            .saturating_add(self.job.gpus())
    }
}
