//! Which of its job's nodes a step takes.

use super::{RunningStep, asked_gpus};
use model::{GpuIndex, NodeShare, StepRequest};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How many nodes and tasks a step is to have.
pub(super) struct Wanted {
    /// Nodes, at least.
    pub(super) least: usize,
    /// Nodes, where so many are free.
    most: usize,
    /// Tasks in all; none are one on each node.
    tasks: Option<u32>,
    /// How many of the candidates are asked by name.
    named: usize,
}

impl Wanted {
    /// What is asked of the candidates.
    pub(super) fn of(request: &StepRequest, candidates: &[&NodeShare]) -> Wanted {
        let named = candidates.iter();
        let named = named.filter(|share| request.nodelist.contains(&share.node));
        let named = named.count();
        if !request.task_nodes.is_empty() {
            return Wanted {
                named,
                least: candidates.len(),
                most: candidates.len(),
                tasks: Some(u32::try_from(request.task_nodes.len()).unwrap_or(u32::MAX)),
            };
        }
        let by_tasks = match (request.tasks, request.tasks_per_node) {
            (Some(tasks), Some(per_node)) => Some(tasks.div_ceil(per_node.max(1))),
            _ => None,
        };
        let count = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
        let nodes = request.min_nodes.or(request.max_nodes);
        let nodes = nodes.or(by_tasks).unwrap_or(count).max(1);
        let most = request.max_nodes.filter(|_| request.min_nodes.is_some());
        let most = most.map_or(nodes, |most| most.min(count).max(nodes));
        let gpus = request.gpus_per_node.as_ref().filter(|gpus| gpus.count > 0);
        let of_gpus = request.tasks_per_gpu.zip(gpus);
        let of_gpus =
            of_gpus.map(|(each, gpus)| each.saturating_mul(gpus.count).saturating_mul(nodes));
        let tasks = match (of_gpus.or(request.tasks), request.tasks_per_node) {
            (Some(tasks), _) => Some(tasks.max(1)),
            (None, Some(per_node)) => Some(per_node.saturating_mul(nodes).max(1)),
            (None, None) => None,
        };
        // Slurm warns and takes fewer nodes rather than leave one without a task.
        let with_task = tasks.unwrap_or(u32::MAX);
        Wanted {
            least: nodes.min(with_task) as usize,
            most: most.min(with_task) as usize,
            tasks,
            named,
        }
    }

    /// Tasks on so many nodes.
    pub(super) fn tasks(&self, nodes: usize) -> u32 {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        self.tasks.unwrap_or(nodes)
    }
}

/// What a node has for the step.
pub(super) struct Offer<'a> {
    /// The job's share of it.
    pub(super) all: &'a NodeShare,
    /// What of that is free.
    pub(super) left: NodeShare,
    /// CPUs that are free.
    pub(super) cpus: u32,
    /// For how many tasks there are GPUs, where each has its own.
    pub(super) gpu_tasks: u32,
    /// No other step is there.
    is_idle: bool,
}

/// The nodes on which the step could have a task now, where that needs so many CPUs.
pub(super) fn offers<'a>(
    request: &StepRequest,
    candidates: &[&'a NodeShare],
    running: &[RunningStep<'_>],
    least_cpus: u32,
) -> Vec<Offer<'a>> {
    let offer = |all: &&'a NodeShare| {
        // One that holds nothing makes its nodes busy too.
        let mut others = running.iter().flat_map(|step| step.nodes);
        let is_idle = others.all(|other| other.node != all.node);
        let left = left_on(all, running, request.overlap);
        let is_whole = request.exact || request.overlap || left == **all;
        let cpus = left.cpus.len().min(cpus_with_memory(request, all, &left));
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
        let per_task = request.gpus_per_task.as_ref().map_or(0, |gpus| gpus.count);
        let gpus = u32::try_from(left.gpus.len()).unwrap_or(u32::MAX);
        let gpu_tasks = gpus.checked_div(per_task).unwrap_or(u32::MAX);
        let fits = is_whole
            && cpus >= least_cpus
            && gpu_tasks > 0
            && asked_gpus(request, all, 1) <= left.gpus.len()
            && request.memory.is_none_or(|memory| memory <= left.memory);
        fits.then_some(Offer {
            all,
            left,
            cpus,
            gpu_tasks,
            is_idle,
        })
    };
    candidates.iter().filter_map(offer).collect()
}

/// How many CPUs of a node have memory left for them: a step that asks for its CPUs alone takes along what the
/// job has of the node's memory for each.
fn cpus_with_memory(request: &StepRequest, all: &NodeShare, left: &NodeShare) -> usize {
    if !request.exact || request.overlap || request.memory.is_some() || all.memory == 0 {
        return usize::MAX;
    }
    let cpus = left.memory.saturating_mul(all.cpus.len() as u64) / all.memory;
    usize::try_from(cpus).unwrap_or(usize::MAX)
}

/// The nodes that are taken, where there are enough: as in Slurm, those without another step go first, and
/// those with CPUs for their part of the tasks before others.
pub(super) fn pick<'a>(
    request: &StepRequest,
    offers: Vec<Offer<'a>>,
    wanted: &Wanted,
    cpus_per_task: u32,
) -> Option<Vec<Offer<'a>>> {
    let is_named = |offer: &Offer<'_>| request.nodelist.contains(&offer.all.node);
    // Of more named nodes than are wanted some are taken, else all.
    let named = offers.iter().filter(|offer| is_named(offer)).count();
    if named < wanted.named.min(wanted.least) {
        return None;
    }
    let usable = |offer: &Offer<'_>| {
        let with_gpus = offer.gpu_tasks.saturating_mul(cpus_per_task);
        offer.cpus.min(with_gpus)
    };
    let of = |mut pool: Vec<(usize, &Offer<'_>)>| {
        if pool.len() < wanted.least {
            return None;
        }
        let count = wanted.most.min(pool.len());
        let nodes = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let cpus = if request.overcommit {
            0
        } else {
            wanted.tasks(count).saturating_mul(cpus_per_task)
        };
        let target = cpus.div_ceil(nodes);
        pool.sort_by_key(|(_, offer)| (!is_named(offer), Reverse(usable(offer).min(target))));
        pool.truncate(count);
        let usable = pool.iter().map(|(_, offer)| usable(offer));
        let sum = usable.fold(0_u32, u32::saturating_add);
        let places = pool.iter().map(|(place, _)| *place);
        (sum >= cpus).then(|| places.collect::<BTreeSet<usize>>())
    };
    let all = || offers.iter().enumerate();
    let idle = all().filter(|(_, offer)| is_named(offer) || offer.is_idle);
    // Nodes that are counted from one are taken from there.
    let idle = request.relative.is_none().then(|| of(idle.collect()));
    let picked = idle.flatten().or_else(|| of(all().collect()))?;
    let places = offers.into_iter().enumerate();
    let picked = places.filter(|(place, _)| picked.contains(place));
    Some(picked.map(|(_, offer)| offer).collect())
}

/// What is left of a node's share beside what other steps hold there.
fn left_on(share: &NodeShare, running: &[RunningStep<'_>], overlap: bool) -> NodeShare {
    if overlap {
        return share.clone();
    }
    let mut cpus: BTreeSet<u32> = share.cpus.iter().copied().collect();
    let mut gpus: BTreeSet<GpuIndex> = share.gpus.iter().copied().collect();
    let mut left = share.clone();
    for held in running.iter().flat_map(|step| step.holds) {
        if held.node == share.node {
            held.cpus.iter().for_each(|cpu| {
                cpus.remove(cpu);
            });
            held.gpus.iter().for_each(|gpu| {
                gpus.remove(gpu);
            });
            left.memory = left.memory.saturating_sub(held.memory);
        }
    }
    left.cpus = cpus.into_iter().collect();
    left.gpus = gpus.into_iter().collect();
    left
}
