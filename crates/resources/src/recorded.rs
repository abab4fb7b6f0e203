//! What a controller prints of a job that waits, which is not what the job needs.

use crate::demand::{Defaults, Demand};
use model::{GpuCount, JobRecord, JobState, PendingReason, Recorded, ViewFacts};

/// The largest node of a job's partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargestNode {
    /// Its CPUs.
    pub cpus: u32,
    /// Its memory in MiB: what all of a node's memory counts as.
    pub mem_mib: u64,
}

/// What a controller records of a job before it has nodes: `NumNodes`, `NumCPUs`, `NumTasks` and
/// `TRES` of `scontrol show job`. With these counts limits are compared too.
///
/// The arithmetic is that of 22.05.8's `job_mgr.c` (`_copy_job_desc_to_job_record`,
/// `job_set_req_tres`, `job_get_tres_mem`, `_pack_default_job_details`), and was compared with the
/// answers of a real one. A held job is one at which its scheduler did not look: of those with
/// several CPUs a task it counts a node too many.
#[must_use]
pub fn recorded(demand: &Demand, largest: LargestNode, is_held: bool) -> Recorded {
    let least = demand.nodes.least;
    let of_nodes = demand.tasks_per_node.map(|each| each.saturating_mul(least));
    let counted = demand.tasks.or(of_nodes);
    let cpus = cpus(demand, counted);
    let gpus = gpus(demand, counted.unwrap_or(least));
    let all_gpus = gpus
        .iter()
        .fold(0_u64, |sum, gpu| sum.saturating_add(gpu.count.into()));
    Recorded {
        nodes: nodes(demand, largest, is_held),
        least_nodes: least,
        most_nodes: demand.nodes.most,
        cpus,
        tres_cpus: cpus,
        tasks: counted.unwrap_or(least),
        min_cpus_per_node: u32::try_from(demand.min_cpus_of_node()).unwrap_or(u32::MAX),
        mem_mib: memory(demand, largest, cpus, all_gpus),
        gpus,
    }
}

/// What a controller with those facts records of a job.
#[must_use]
pub fn recorded_of(record: &JobRecord, facts: &ViewFacts) -> Recorded {
    let defaults = Defaults {
        memory: Some(facts.memory_of(record)),
        ..Defaults::default()
    };
    let largest = LargestNode {
        cpus: facts.node_cpus,
        mem_mib: facts.node_memory,
    };
    let held = JobState::Pending {
        reason: PendingReason::JobHeldUser,
    };
    let demand = Demand::of(&record.request, &defaults);
    let is_held = record.state == held;
    let mut recorded = recorded(&demand, largest, is_held);
    let times = facts.cpus_for_memory(record);
    if times > 1 {
        // CPUs that memory brings are CPUs of its tasks, which its `TRES` and the least of a node leave out.
        let defaults = Defaults {
            max_memory_per_cpu: facts
                .view_of(record)
                .and_then(|view| view.max_memory_per_cpu),
            ..defaults
        };
        let demand = Demand::of(&record.request, &defaults);
        recorded.nodes = nodes(&demand, largest, is_held);
        recorded.cpus = recorded.cpus.saturating_mul(times);
        recorded.mem_mib = memory(&demand, largest, recorded.cpus, recorded.gpu_count());
    }
    let options = record.request.rare.node_options.as_deref();
    if let Some(cpus) = options.and_then(|options| options.cpus) {
        recorded.cpus = cpus.least;
        recorded.tasks = record.request.tasks.unwrap_or(recorded.least_nodes);
        // It is not counted anew before the job starts.
        let cpus = recorded.tasks.saturating_mul(demand.task.cpus.max(1));
        recorded.mem_mib = memory(&demand, largest, cpus, recorded.gpu_count());
    }
    // The scheduler that looked at it found so many nodes for it.
    if demand.spread && !is_held {
        let most = demand.nodes.most.unwrap_or(facts.node_count);
        recorded.nodes = recorded.tasks.min(most).max(demand.nodes.least);
    }
    recorded
}

/// CPUs in all: what `sbatch` sends as the least, unless tasks that follow from nodes are more.
fn cpus(demand: &Demand, tasks: Option<u32>) -> u32 {
    let range = demand.nodes;
    if demand.overcommit {
        return range.least;
    }
    let is_fixed = range.most.is_none_or(|most| most == range.least) && !range.follows;
    let implied = if is_fixed { range.least } else { 1 };
    let asked = if demand.task_cpus_follow {
        1
    } else {
        demand.task.cpus
    };
    let sent = demand.tasks.unwrap_or(implied).saturating_mul(asked);
    match tasks.filter(|tasks| *tasks > sent) {
        Some(tasks) => tasks.saturating_mul(demand.task.cpus),
        None => sent,
    }
}

fn nodes(demand: &Demand, largest: LargestNode, is_held: bool) -> u32 {
    let least = demand.nodes.least;
    let of_nodes = demand.tasks_per_node.map(|each| each.saturating_mul(least));
    let Some(tasks) = demand.tasks.or(of_nodes) else {
        return least;
    };
    if let Some(each) = demand.tasks_per_node {
        return (tasks / each.max(1)).max(least);
    }
    let of_task = demand.task.cpus.max(1);
    let each = (largest.cpus / of_task).max(1);
    let is_short = u32::from(!tasks.is_multiple_of(each));
    if is_held && of_task > 1 {
        (tasks / each).max(least).saturating_add(is_short)
    } else {
        tasks.div_ceil(each).max(least)
    }
}

/// GPUs in all by type.
fn gpus(demand: &Demand, tasks: u32) -> Vec<GpuCount> {
    let times = [
        (&demand.job, 1),
        (&demand.node, demand.nodes.least),
        (&demand.task, tasks),
    ];
    let all = times.into_iter().flat_map(|(need, times)| {
        let gpus = need.gres.iter().filter(|gres| gres.is_gpus());
        gpus.map(move |gres| GpuCount {
            kind: gres.kind.clone(),
            count: u32::try_from(gres.count.saturating_mul(times.into())).unwrap_or(u32::MAX),
        })
    });
    all.collect()
}

fn memory(demand: &Demand, largest: LargestNode, cpus: u32, gpus: u64) -> u64 {
    let nodes = u64::from(demand.nodes.least);
    if demand.all_memory {
        return largest.mem_mib.saturating_mul(nodes);
    }
    let of_nodes = demand.node.mem_mib.saturating_mul(nodes);
    let of_cpus = demand.mem_per_cpu.saturating_mul(cpus.into());
    let of_gpus = demand.gpu.mem_mib.saturating_mul(gpus);
    of_nodes.saturating_add(of_cpus).saturating_add(of_gpus)
}
