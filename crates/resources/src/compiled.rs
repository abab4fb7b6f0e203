//! A demand against one cluster: which nodes could serve it, and what each class must give.

use crate::amounts::LANE_MAX;
use crate::cluster::{ClassId, Cluster, Lane, NodeClass, NodeId, PartId, UNBOUNDED};
use crate::demand::{Demand, GresNeed, Sharing};
use crate::feature_choices::{Choice, choices, expand};
use crate::one_type::of_each_type;
use crate::{Amounts, NodeSet};

/// A demand, worked out against a cluster and a partition once for all attempts to place it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The demand.
    pub demand: Demand,
    /// What is known of the shares before nodes are chosen.
    pub(crate) form: Form,
    /// Sets of nodes among which all of the job's are: the first that serves is taken.
    pub(crate) choices: Vec<Choice>,
    /// Nodes that must be among them; none where one of them is not there.
    pub(crate) required: Option<Vec<NodeId>>,
    /// No more nodes than the partition gives a job (`MaxNodes`).
    partition_most: Option<u32>,
    /// What a node must give at least, by class; none for a class that never serves.
    least: Vec<Option<Amounts>>,
    /// The same with GPUs of each type, where all of the job's have one: the first that serves is taken.
    pub(crate) of_types: Vec<Compiled>,
}

/// What is known of the shares before nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// So many nodes that each give the same.
    Alike {
        /// Nodes.
        nodes: u32,
        /// Tasks on each.
        tasks: u32,
    },
    /// Nodes are added until tasks and GPUs are met.
    Spanning,
}

impl Compiled {
    /// Works a demand out against the nodes of a partition, or of the whole cluster.
    #[must_use]
    pub fn new(cluster: &Cluster, partition: Option<PartId>, mut demand: Demand) -> Compiled {
        let of_types = of_each_type(cluster, &demand).into_iter();
        let of_types = of_types.map(|demand| Compiled::new(cluster, partition, demand));
        let of_types = of_types.collect();
        let limits = partition.map(|partition| cluster.partition(partition));
        let least = limits.map_or(0, |limits| limits.min_nodes);
        let most = limits.and_then(|limits| limits.max_nodes);
        // A job that asks for fewer waits for the partition to change.
        if demand.nodes.most.is_none_or(|asked| asked >= least) {
            demand.nodes.least = demand.nodes.least.max(least);
        }
        let partition_most = most.filter(|most| demand.nodes.least <= *most);
        let mut nodes = cluster.nodes_of(partition);
        for name in demand.excluded.iter() {
            // Of a node that splits the virtual ones stay.
            if let Some(node) = cluster.node(name)
                && !cluster.class(node).splits
            {
                nodes.remove(node);
            }
        }
        let required = demand.required.iter().map(|name| {
            let node = cluster.node(name)?;
            nodes.contains(node).then_some(node)
        });
        let required: Option<Vec<NodeId>> = required.collect();
        let required = required.map(|mut required| {
            required.sort_unstable();
            required.dedup();
            required
        });
        let mut choices = choices(cluster, &nodes, demand.constraint.as_ref());
        let allowed = [demand.nodes.most, partition_most];
        choices.retain(|choice| allowed.iter().flatten().all(|most| choice.least <= *most));
        let counted = choices.iter().map(|choice| choice.least).min();
        demand.nodes.least = demand.nodes.least.max(counted.unwrap_or(0));
        // No node of a job is without a task's share.
        let least = demand.nodes.least;
        demand.tasks = demand.tasks.map(|tasks| tasks.max(least));
        if let Some(prefer) = &demand.prefer {
            // What it prefers stands in place of what it asks, as a 22.05 has it.
            let mut preferred = expand(cluster, &nodes, prefer);
            preferred.append(&mut choices);
            choices = preferred;
        }
        let mut compiled = Compiled {
            form: form(&demand),
            choices,
            required,
            partition_most,
            least: Vec::new(),
            of_types,
            demand,
        };
        compiled.least = cluster
            .classes()
            .iter()
            .map(|class| compiled.least_of(cluster, class))
            .collect();
        compiled
    }

    /// What a node of a class must give at least; none where it never serves.
    #[must_use]
    pub fn least(&self, class: ClassId) -> Option<&Amounts> {
        self.least.get(class.0 as usize)?.as_ref()
    }

    /// The most nodes that it may be on: as many as it allows and as the partition gives.
    pub(crate) fn most_nodes(&self) -> u32 {
        let asked = self.demand.nodes.most.unwrap_or(u32::MAX);
        asked.min(self.partition_most.unwrap_or(u32::MAX))
    }

    /// The nodes that its names and features leave, whatever they have.
    #[must_use]
    pub fn candidates(&self) -> NodeSet {
        let mut all = NodeSet::default();
        self.choices
            .iter()
            .for_each(|choice| all.add(&choice.nodes));
        all
    }

    fn least_of(&self, cluster: &Cluster, class: &NodeClass) -> Option<Amounts> {
        let demand = &self.demand;
        let tasks = match self.form {
            Form::Alike { tasks, .. } => tasks,
            Form::Spanning if demand.tasks.is_none() => demand.tasks_on(1),
            Form::Spanning => 1,
        };
        let of_job: Vec<u64> = match self.form {
            Form::Alike { .. } => demand.job.gres.iter().map(|gres| gres.count).collect(),
            Form::Spanning => demand
                .job
                .gres
                .iter()
                .map(|gres| gres.count.min(1))
                .collect(),
        };
        if !has_disk(demand, class) || tasks > most_tasks(demand, class) {
            return None;
        }
        // A node with fewer CPUs than the most tasks of one need is none, however many it would have;
        // nor is one with fewer than a GPU brings, though none is asked.
        let cpus = demand.min_cpus_of_node().max(demand.gpu.cpus.into());
        if cpus > u64::from(class.total.cpus) {
            return None;
        }
        let needs = &demand.node.gres;
        let unknown = |gres: &GresNeed| {
            !gres.is_gpus() && lane_of(class, gres).is_none() && is_counted(cluster, gres)
        };
        if needs.iter().any(unknown) || !has_sockets(demand, class) {
            return None;
        }
        let least = amounts(demand, class, tasks, &of_job)?;
        class.total.fits(&least).then_some(least)
    }
}

/// Whether any class counts a resource of that name; one that none counts is not looked at.
fn is_counted(cluster: &Cluster, gres: &GresNeed) -> bool {
    let mut lanes = cluster
        .classes()
        .iter()
        .flat_map(|class| class.lanes.iter().flatten());
    lanes.any(|lane| lane.name == gres.name)
}

/// The shares that follow from the demand alone.
fn form(demand: &Demand) -> Form {
    let range = demand.nodes;
    let fixed = range.most.is_none_or(|most| most <= range.least);
    match (range.most, demand.tasks) {
        (Some(1), _) => Form::Alike {
            nodes: 1,
            tasks: demand.tasks_on(1),
        },
        _ if !demand.job.gres.is_empty() || !fixed => Form::Spanning,
        (_, None) => Form::Alike {
            nodes: range.least,
            tasks: demand.tasks_on(1),
        },
        (Some(_), Some(tasks)) => {
            let nodes = range.least.min(tasks).max(1);
            let full = demand
                .tasks_per_node
                .is_some_and(|each| tasks == each.saturating_mul(nodes));
            if tasks == nodes || full {
                Form::Alike {
                    nodes,
                    tasks: tasks / nodes,
                }
            } else {
                Form::Spanning
            }
        }
        (None, Some(1)) => Form::Alike { nodes: 1, tasks: 1 },
        (None, Some(_)) => Form::Spanning,
    }
}

/// The most tasks on a node of a class.
pub(crate) fn most_tasks(demand: &Demand, class: &NodeClass) -> u32 {
    let mut most = demand.tasks_per_node.unwrap_or(u32::MAX);
    if let (Some(need), Some(there)) = (&demand.sockets, class.sockets) {
        let of_sockets = need
            .tasks_per_socket
            .map(|each| each.saturating_mul(there.sockets));
        let cores = there.sockets.saturating_mul(there.cores);
        let of_cores = need.tasks_per_core.map(|each| each.saturating_mul(cores));
        let of_both = [of_sockets, of_cores].into_iter().flatten();
        most = of_both.fold(most, u32::min);
    }
    most
}

impl Demand {
    /// What Slurm says of nodes of a class that have too few CPUs, too little memory or temporary disk, or
    /// other sockets than are asked for; none where they have enough of each.
    pub(crate) fn lacking(&self, class: &NodeClass) -> Option<&'static str> {
        if self.min_cpus_of_node() > u64::from(class.total.cpus) {
            return Some("CPU count per node can not be satisfied");
        }
        if self.node.mem_mib > u64::from(class.total.mem_mib) {
            return Some("Memory specification can not be satisfied");
        }
        if !has_disk(self, class) {
            return Some("Temporary disk specification can not be satisfied");
        }
        let words = "Socket, core and/or thread specification can not be satisfied";
        (!has_sockets(self, class)).then_some(words)
    }
}

fn has_disk(demand: &Demand, class: &NodeClass) -> bool {
    class.tmp_mib.is_none_or(|there| there >= demand.tmp_mib)
}

fn has_sockets(demand: &Demand, class: &NodeClass) -> bool {
    let (Some(need), Some(there)) = (&demand.sockets, class.sockets) else {
        return true;
    };
    there.sockets >= need.sockets && there.cores >= need.cores && there.threads >= need.threads
}

/// What a node of a class gives for so many tasks and so much of what the whole job asks; none
/// where it never has it.
pub(crate) fn amounts(
    demand: &Demand,
    class: &NodeClass,
    tasks: u32,
    of_job: &[u64],
) -> Option<Amounts> {
    let mut gpus = 0_u64;
    let mut need = Amounts::default();
    let of_task = demand.task.gres.iter().map(|gres| (gres, u64::from(tasks)));
    let of_node = demand.node.gres.iter().map(|gres| (gres, 1));
    let of_all = demand.job.gres.iter().zip(of_job);
    let all = of_node
        .chain(of_task)
        .map(|(gres, times)| (gres, gres.count.saturating_mul(times)))
        .chain(of_all.map(|(gres, count)| (gres, *count)));
    for (gres, count) in all {
        if gres.is_gpus() {
            gpus = gpus.saturating_add(count);
            let mut groups = class.gpus_called(gres.kind.as_deref());
            match (groups.next(), groups.next()) {
                (None, _) if count > 0 => return None,
                (Some(only), None) if only.lane > 0 => add(&mut need, only.lane.into(), count)?,
                _ => {}
            }
        } else if let Some((lane, unit)) = lane_of(class, gres) {
            add(&mut need, lane, unit.units_for(count))?;
        }
    }
    add(&mut need, 0, gpus)?;
    let (given, cpus) = cpus_of(demand, class, tasks, gpus);
    // A node that is one of the job's gives what it must have for that.
    let least = demand.min_cpus_of_node();
    let (given, cpus) = if class.splits || demand.overcommit {
        (given, cpus)
    } else {
        let threads = u64::from(class.core_cpus.max(1));
        let least = least.div_ceil(threads) * threads;
        (given.max(least), cpus.max(least))
    };
    need.cpus = u32::try_from(given).ok()?;
    if demand.cpu_cap.is_some_and(|cap| need.cpus > cap.most) {
        return None;
    }
    need.mem_mib = if demand.all_memory {
        class.total.mem_mib
    } else {
        u32::try_from(demand.mem_for(cpus, gpus)).ok()?
    };
    match demand.sharing {
        Sharing::Whole => whole(demand, class, need, gpus),
        Sharing::Any | Sharing::Beside(_) | Sharing::Forced | Sharing::User | Sharing::Over(_) => {
            Some(need)
        }
    }
}

/// CPUs that a node gives for so many tasks and GPUs, in whole cores where it gives those, and of them
/// those that bring memory: threads that the job leaves idle by `--threads-per-core` do not.
fn cpus_of(demand: &Demand, class: &NodeClass, tasks: u32, gpus: u64) -> (u64, u64) {
    let cpus = demand.cpus_for(tasks, gpus);
    let threads = u64::from(class.core_cpus);
    if threads <= 1 {
        return (cpus, cpus);
    }
    let need = demand.sockets.as_deref();
    let of_core = need.map_or(0, |need| u64::from(need.threads));
    if (1..threads).contains(&of_core) {
        return (cpus.div_ceil(of_core) * threads, cpus);
    }
    let by_tasks = need.and_then(|need| need.tasks_per_core);
    let by_tasks = by_tasks.map_or(0, |each| tasks.div_ceil(each.max(1)).into());
    let given = cpus.div_ceil(threads).max(by_tasks) * threads;
    (given, given)
}

/// All CPUs and counted resources of a node that has what is needed, also of memory where that is asked for
/// each CPU, and that has no more CPUs than the partition gives of one.
fn whole(demand: &Demand, class: &NodeClass, need: Amounts, gpus: u64) -> Option<Amounts> {
    let total = &class.total;
    // Where nothing is said of its CPUs, those that it asks for.
    if !total.fits(&need) || total.cpus == UNBOUNDED {
        return total.fits(&need).then_some(need);
    }
    let is_over = demand.cpu_cap.is_some_and(|cap| total.cpus > cap.most);
    if is_over || demand.mem_per_cpu.saturating_mul(total.cpus.into()) > total.mem_mib.into() {
        return None;
    }
    let mem = demand.mem_for(total.cpus.into(), gpus);
    let mem = u32::try_from(mem).unwrap_or(u32::MAX).min(total.mem_mib);
    Some(total.with_mem(mem.max(need.mem_mib)))
}

fn add(need: &mut Amounts, lane: usize, count: u64) -> Option<()> {
    let sum = u64::from(need.lane(lane)).checked_add(count)?;
    need.set_lane(lane, sum);
    (sum <= u64::from(LANE_MAX)).then_some(())
}

/// The lane that counts a resource other than GPUs.
pub(crate) fn lane_of<'a>(class: &'a NodeClass, gres: &GresNeed) -> Option<(usize, &'a Lane)> {
    let lanes = class.lanes.iter().enumerate();
    let mut lanes = lanes.filter_map(|(index, lane)| Some((index, lane.as_ref()?)));
    lanes
        .find(|(_, lane)| lane.name == gres.name && (gres.kind.is_none() || lane.kind == gres.kind))
}
