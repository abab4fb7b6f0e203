//! Where a step runs within its job's allocation.

mod against_job;
mod gpu_types;
mod pick;

pub use against_job::step_against_job;
use gpu_types::of_asked_types;
use model::{Allocation, Distribution, GpuIndex, NodeShare, StepRequest};
use pick::{Offer, Wanted, offers, pick};
use resources::Cluster;

/// Where a step runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// What it uses, node by node, in the order that its ranks follow.
    pub nodes: Vec<NodeShare>,
    /// What of it no other step may hold meanwhile.
    pub holds: Vec<NodeShare>,
}

/// Why a step got no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepRefusal {
    /// Other steps hold what it needs.
    #[error("Requested nodes are busy")]
    Busy,
    /// The job's allocation could never hold it.
    #[error("{message}")]
    Never {
        /// Slurm's words; what there is in a line after them.
        message: String,
    },
}

/// A running step of the job, but for its script.
#[derive(Clone, Copy, Debug)]
pub struct RunningStep<'a> {
    /// What it uses.
    pub nodes: &'a [NodeShare],
    /// What of it no other step may hold meanwhile.
    pub holds: &'a [NodeShare],
}

/// Places a step in `job`, beside the steps that run.
///
/// As in Slurm since 20.11 a step holds all its job's CPUs on its nodes unless it is `exact`, and
/// nothing when it overlaps. `cluster` tells of which type the job's GPUs are.
///
/// # Errors
/// [`StepRefusal::Busy`] where waiting helps, else [`StepRefusal::Never`].
pub fn place_step(
    request: &StepRequest,
    job: &Allocation,
    cluster: &Cluster,
    running: &[RunningStep<'_>],
) -> Result<Placement, StepRefusal> {
    refuse_gpus_of_none(request, job)?;
    let job = of_asked_types(request, job, cluster)?;
    let placement = place(request, &job, running)?;
    match request.reserved_ports {
        0 => Ok(placement),
        // As in a Slurm without `MpiParams`, once all else is there.
        ports => Err(never(
            "Requires more ports than can be reserved",
            &format!("0 of the {ports} ports that are asked: programs choose their own here"),
        )),
    }
}

/// Places a step whose job has no GPUs of other types than it asks for.
fn place(
    request: &StepRequest,
    job: &Allocation,
    running: &[RunningStep<'_>],
) -> Result<Placement, StepRefusal> {
    let each = request.cpus_per_task.unwrap_or(1).max(1);
    against_excluded(request, job)?;
    let candidates = candidates(request, job)?;
    let wanted = Wanted::of(request, &candidates);
    if wanted.least > candidates.len() {
        return Err(too_few_nodes(request, job, candidates.len(), wanted.least));
    }
    let attempt = |running: &[RunningStep<'_>], least_cpus| {
        let offers = offers(request, &candidates, running, least_cpus);
        let picked = pick(request, offers, &wanted, each)?;
        let counts = layout(request, &picked, wanted.tasks(picked.len()), least_cpus)?;
        Some((picked, counts))
    };
    // As in Slurm, tasks that ask for CPUs need not find all of theirs on their own node where the job has
    // no room for that: all nodes together have to have them.
    let loose = || {
        let is_loose = request.exact && each > 1 && attempt(&[], each).is_none();
        is_loose.then(|| attempt(running, 1)).flatten()
    };
    let Some((picked, counts)) = attempt(running, each).or_else(loose) else {
        let waits = running.iter().any(|step| !step.holds.is_empty());
        return Err(if waits && fits_empty(request, job) {
            StepRefusal::Busy
        } else {
            never_fits(request, &candidates, &wanted)
        });
    };
    let mut placement = Placement {
        nodes: Vec::new(),
        holds: Vec::new(),
    };
    for (offer, tasks) in picked.into_iter().zip(counts) {
        let (uses, holds) = share_of(request, offer.all, &offer.left, tasks, each)?;
        placement.nodes.push(uses);
        placement.holds.extend(holds);
    }
    Ok(placement)
}

/// How many tasks each node gets, where a task needs `each` of its node's CPUs.
fn layout(request: &StepRequest, picked: &[Offer<'_>], tasks: u32, each: u32) -> Option<Vec<u32>> {
    let per_node = request.tasks_per_node.unwrap_or(u32::MAX);
    let capacity = |offer: &Offer<'_>| (offer.cpus / each).min(offer.gpu_tasks).min(per_node);
    let capacities: Vec<u32> = picked.iter().map(capacity).collect();
    let counts = if request.task_nodes.is_empty() {
        deal(request, tasks, &capacities)
    } else {
        as_listed(request, picked, &capacities)
    }?;
    // CPUs of a task that are its job's alone decide whether it fits, not where.
    let anywhere =
        !request.exact && request.tasks_per_node.is_none() && request.task_nodes.is_empty();
    let by_cpus = anywhere.then(|| {
        let capacity = |offer: &Offer<'_>| offer.cpus.min(offer.gpu_tasks);
        let capacities: Vec<u32> = picked.iter().map(capacity).collect();
        deal(request, tasks, &capacities)
    });
    let counts = by_cpus.flatten().unwrap_or(counts);
    // Tasks may share CPUs, but not the GPUs that each has for itself.
    let mut counted = picked.iter().zip(&counts);
    counted
        .all(|(offer, count)| *count <= offer.gpu_tasks)
        .then_some(counts)
}

/// The job has not as many nodes as are asked: in `srun`'s own words where it counts them itself.
fn too_few_nodes(
    request: &StepRequest,
    job: &Allocation,
    candidates: usize,
    asked: usize,
) -> StepRefusal {
    let all = job.nodes.len();
    if let Some(first) = request.relative {
        let option = if request.nodes_inherited {
            "SLURM_JOB_NUM_NODES"
        } else {
            "--nodes"
        };
        return StepRefusal::Never {
            message: format!(
                "--relative and {option} option incompatible with count of allocated nodes \
                 ({first}+{asked}>{all})"
            ),
        };
    }
    let is_excluded = |share: &&NodeShare| request.exclude.contains(&share.node);
    let left = all - job.nodes.iter().filter(is_excluded).count();
    if asked > left {
        let mut message = format!("Only allocated {left} nodes asked for {asked}");
        if !request.exclude.is_empty() {
            message.push_str("\nerror: Are required nodes explicitly excluded?");
        }
        return StepRefusal::Never { message };
    }
    never(
        "Requested node configuration is not available",
        &format!("the job has {candidates} of the {asked} nodes that are asked"),
    )
}

/// Slurm's words, and what there is.
fn never(words: &str, there: &str) -> StepRefusal {
    StepRefusal::Never {
        message: format!("{words}\n  there   {there}"),
    }
}

/// Whether the step would fit if no other ran: then waiting helps.
fn fits_empty(request: &StepRequest, job: &Allocation) -> bool {
    place(request, job, &[]).is_ok()
}

/// What `srun` says itself of nodes that it is to leave out, before it asks for a step
/// (`job_step_create_allocation` of 22.05.8's srun_job.c).
fn against_excluded(request: &StepRequest, job: &Allocation) -> Result<(), StepRefusal> {
    let mut excluded = request.exclude.iter();
    if let Some(node) = excluded.find(|node| request.nodelist.contains(node)) {
        let message = format!(
            "Requested node {node} is also in the excluded list.\nerror: Job not submitted."
        );
        return Err(StepRefusal::Never { message });
    }
    let is_left = |share: &NodeShare| !request.exclude.contains(&share.node);
    if job.nodes.iter().any(is_left) {
        return Ok(());
    }
    Err(never(
        "Hostlist is empty!  Can't run job.",
        "all nodes of the job are excluded",
    ))
}

/// The job's nodes that the request allows, in order.
fn candidates<'a>(
    request: &StepRequest,
    job: &'a Allocation,
) -> Result<Vec<&'a NodeShare>, StepRefusal> {
    for node in &request.nodelist {
        if !job.nodes.iter().any(|share| share.node == *node) {
            return Err(never(
                "Requested node configuration is not available",
                &format!("{node} is none of the job's nodes"),
            ));
        }
    }
    let first = request.relative.unwrap_or(0) as usize;
    // `--nodelist` names the least: the named ones come first, others may follow.
    let (named, others): (Vec<_>, Vec<_>) = job
        .nodes
        .iter()
        .skip(first)
        .filter(|share| !request.exclude.contains(&share.node))
        .partition(|share| request.nodelist.contains(&share.node));
    let more =
        request.task_nodes.is_empty() && request.min_nodes.unwrap_or(0) as usize > named.len();
    let mut candidates = named;
    if candidates.is_empty() || more {
        candidates.extend(others);
    }
    Ok(candidates)
}

/// How many tasks each node gets. No node of a step is without one.
fn deal(request: &StepRequest, tasks: u32, capacities: &[u32]) -> Option<Vec<u32>> {
    let at_once = request
        .distribution
        .as_ref()
        .and_then(Distribution::at_once);
    let dealt = at_once.map(|at_once| Distribution::counts(at_once, tasks, capacities));
    match dealt {
        Some(counts) if counts.as_ref().is_none_or(|counts| !counts.contains(&0)) => counts,
        Some(_) | None => Distribution::even_counts(tasks, capacities, request.overcommit),
    }
}

/// How many tasks each node has in the list of `--distribution=arbitrary`. They have to fit in all, not
/// node by node, as seen on 22.05.8.
fn as_listed(request: &StepRequest, picked: &[Offer<'_>], capacities: &[u32]) -> Option<Vec<u32>> {
    let listed = |offer: &Offer<'_>| {
        let nodes = request.task_nodes.iter();
        let count = nodes.filter(|node| **node == offer.all.node);
        u32::try_from(count.count()).unwrap_or(u32::MAX)
    };
    let counts: Vec<u32> = picked.iter().map(listed).collect();
    let sum = |counts: &[u32]| {
        counts
            .iter()
            .fold(0_u32, |sum, one| sum.saturating_add(*one))
    };
    (request.overcommit || sum(&counts) <= sum(capacities)).then_some(counts)
}

/// What a step uses of a node, and what of it it holds.
fn share_of(
    request: &StepRequest,
    all: &NodeShare,
    left: &NodeShare,
    tasks: u32,
    cpus_per_task: u32,
) -> Result<(NodeShare, Option<NodeShare>), StepRefusal> {
    let cpus: Vec<u32> = if request.exact {
        let count = tasks.saturating_mul(cpus_per_task) as usize;
        left.cpus.iter().copied().take(count).collect()
    } else {
        left.cpus.clone()
    };
    let gpus = gpus_of(request, all, left, tasks)?;
    let memory = match request.memory {
        Some(memory) => memory,
        None if request.exact => all.memory * cpus.len() as u64 / all.cpus.len().max(1) as u64,
        None => left.memory,
    };
    if !request.overlap && memory > left.memory {
        return Err(StepRefusal::Busy);
    }
    let uses = NodeShare {
        node: all.node.clone(),
        cpus,
        memory: if memory == 0 { all.memory } else { memory },
        gpus,
        tasks,
    };
    let holds = (!request.overlap).then(|| NodeShare {
        memory,
        ..uses.clone()
    });
    Ok((uses, holds))
}

fn gpus_of(
    request: &StepRequest,
    all: &NodeShare,
    left: &NodeShare,
    tasks: u32,
) -> Result<Vec<GpuIndex>, StepRefusal> {
    let asked = asked_gpus(request, all, tasks);
    if asked > all.gpus.len() {
        return Err(too_many_gpus(all, asked));
    }
    if asked > left.gpus.len() {
        return Err(StepRefusal::Busy);
    }
    Ok(left.gpus.iter().copied().take(asked).collect())
}

/// GPUs that so many tasks of the step have on a node.
fn asked_gpus(request: &StepRequest, all: &NodeShare, tasks: u32) -> usize {
    let asked = match (&request.gpus_per_node, &request.gpus_per_task) {
        (Some(gpus), _) if gpus.count > 0 || request.tasks_per_gpu.is_none() => gpus.count,
        (None, Some(gpus)) => gpus.count.saturating_mul(tasks),
        _ => match request.tasks_per_gpu {
            Some(each) => tasks.div_ceil(each.max(1)),
            None => u32::try_from(all.gpus.len()).unwrap_or(u32::MAX),
        },
    };
    asked as usize
}

/// GPUs of a job that has none: `srun` says so in a line of its own before.
fn refuse_gpus_of_none(request: &StepRequest, job: &Allocation) -> Result<(), StepRefusal> {
    let lists = [&request.gpus_per_node, &request.gpus_per_task];
    let asks = lists.into_iter().flatten().any(|gpus| gpus.count > 0);
    if !asks || job.nodes.iter().any(|share| !share.gpus.is_empty()) {
        return Ok(());
    }
    Err(never(
        "Step requested GRES but job doesn't have GRES\nInvalid generic resource (gres) specification",
        "the job has no GPUs",
    ))
}

fn too_many_gpus(all: &NodeShare, asked: usize) -> StepRefusal {
    never(
        "Invalid generic resource (gres) specification",
        &format!(
            "the job has {} GPUs on {}, {asked} are asked",
            all.gpus.len(),
            all.node
        ),
    )
}

/// Why the job's nodes could never hold the step.
fn never_fits(request: &StepRequest, candidates: &[&NodeShare], wanted: &Wanted) -> StepRefusal {
    let unfit = |share: &&NodeShare| {
        let gpus = asked_gpus(request, share, 1);
        if gpus > share.gpus.len() {
            return Some(too_many_gpus(share, gpus));
        }
        let memory = request.memory.filter(|memory| *memory > share.memory)?;
        Some(never(
            "Memory required by task is not available",
            &format!(
                "the job has {} MiB on {}, {memory} MiB are asked",
                share.memory, share.node
            ),
        ))
    };
    let mut unfit: Vec<StepRefusal> = candidates.iter().filter_map(unfit).collect();
    if candidates.len() - unfit.len() < wanted.least {
        return unfit.remove(0);
    }
    let there = if request.gpus_per_task.is_some() {
        "the job has fewer CPUs or GPUs than tasks with their CPUs and GPUs need"
    } else {
        "the job has fewer CPUs than tasks with their CPUs need"
    };
    let names_nodes = !(request.nodelist.is_empty() && request.exclude.is_empty());
    if !names_nodes || !request.task_nodes.is_empty() {
        return never("More processors requested than permitted", there);
    }
    let there = format!("on the nodes that the step may have {there}");
    never("Requested node configuration is not available", &there)
}

#[cfg(test)]
mod tests;
