//! Where a step runs within its job's allocation.

use model::{Allocation, Distribution, GpuIndex, NodeShare, StepRequest};
use std::collections::BTreeSet;

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

/// Places a step in `job`, where `held` is what running steps hold.
///
/// As in Slurm since 20.11 a step holds all its job's CPUs on its nodes unless it is `exact`, and
/// nothing when it overlaps. `cpus_per_task` is the job's own.
///
/// # Errors
/// [`StepRefusal::Busy`] where waiting helps, else [`StepRefusal::Never`].
pub fn place_step(
    request: &StepRequest,
    job: &Allocation,
    cpus_per_task: Option<u32>,
    held: &[&[NodeShare]],
) -> Result<Placement, StepRefusal> {
    let cpus_per_task = request.cpus_per_task.or(cpus_per_task).unwrap_or(1).max(1);
    let candidates = candidates(request, job)?;
    let (nodes, tasks) = nodes_and_tasks(request, job, &candidates);
    if nodes > candidates.len() {
        return Err(never(
            "Requested node configuration is not available",
            &format!(
                "the job has {} of the {nodes} nodes that are asked",
                candidates.len()
            ),
        ));
    }
    let exact = request.exact;
    let mut busy = false;
    let mut free: Vec<NodeShare> = Vec::new();
    for share in candidates {
        if free.len() == nodes {
            break;
        }
        let left = left_on(share, held, request.overlap);
        let whole = exact || request.overlap || left == *share;
        let cpus = if request.overlap {
            share.cpus.len()
        } else {
            left.cpus.len()
        };
        if whole && cpus >= cpus_per_task as usize {
            free.push(left);
        } else {
            busy |= share.cpus.len() >= cpus_per_task as usize;
        }
    }
    let refusal = |message: &str| {
        if busy
            || held.iter().any(|held| !held.is_empty()) && fits_empty(request, job, cpus_per_task)
        {
            StepRefusal::Busy
        } else {
            never(
                message,
                "the job has fewer CPUs than tasks with their CPUs need",
            )
        }
    };
    if free.len() < nodes {
        return Err(refusal("Requested node configuration is not available"));
    }
    let capacity = |share: &NodeShare| {
        let cpus = u32::try_from(share.cpus.len()).unwrap_or(u32::MAX) / cpus_per_task;
        cpus.min(request.tasks_per_node.unwrap_or(u32::MAX))
    };
    let capacities: Vec<u32> = free.iter().map(capacity).collect();
    let dealt = if request.task_nodes.is_empty() {
        deal(request, tasks, &capacities)
    } else {
        as_listed(request, &free, &capacities)
    };
    let layout = dealt.ok_or_else(|| refusal("More processors requested than permitted"))?;
    // CPUs of a task that are its job's alone decide whether it fits, not where.
    let anywhere =
        !request.exact && request.tasks_per_node.is_none() && request.task_nodes.is_empty();
    let by_cpus = anywhere.then(|| {
        let cpus = |share: &NodeShare| u32::try_from(share.cpus.len()).unwrap_or(u32::MAX);
        let cpus: Vec<u32> = free.iter().map(cpus).collect();
        deal(request, tasks, &cpus)
    });
    let layout = by_cpus.flatten().unwrap_or(layout);
    let mut placement = Placement {
        nodes: Vec::new(),
        holds: Vec::new(),
    };
    for (left, tasks) in free.into_iter().zip(layout) {
        let all = job.nodes.iter().find(|share| share.node == left.node);
        let all = all.unwrap_or(&left);
        let (uses, holds) = share_of(request, all, &left, tasks, cpus_per_task, exact)?;
        placement.nodes.push(uses);
        placement.holds.extend(holds);
    }
    Ok(placement)
}

/// Slurm's words, and what there is.
fn never(words: &str, there: &str) -> StepRefusal {
    StepRefusal::Never {
        message: format!("{words}\n  there   {there}"),
    }
}

/// Whether the step would fit if no other ran: then waiting helps.
fn fits_empty(request: &StepRequest, job: &Allocation, cpus_per_task: u32) -> bool {
    place_step(request, job, Some(cpus_per_task), &[]).is_ok()
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

fn nodes_and_tasks(
    request: &StepRequest,
    job: &Allocation,
    candidates: &[&NodeShare],
) -> (usize, u32) {
    let by_tasks = match (request.tasks, request.tasks_per_node) {
        (Some(tasks), Some(per_node)) => Some(tasks.div_ceil(per_node.max(1))),
        _ => None,
    };
    let count = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
    if !request.task_nodes.is_empty() {
        let tasks = u32::try_from(request.task_nodes.len()).unwrap_or(u32::MAX);
        return (candidates.len(), tasks);
    }
    let nodes = request.min_nodes.or(request.max_nodes);
    let nodes = nodes.or(by_tasks).unwrap_or(count).max(1);
    let whole = nodes as usize == job.nodes.len();
    let gpus = request.gpus_per_node.as_ref().filter(|gpus| gpus.count > 0);
    let of_gpus = request.tasks_per_gpu.zip(gpus);
    let of_gpus = of_gpus.map(|(each, gpus)| each.saturating_mul(gpus.count).saturating_mul(nodes));
    let tasks = match (of_gpus.or(request.tasks), request.tasks_per_node) {
        (Some(tasks), _) => tasks,
        (None, Some(per_node)) => per_node.saturating_mul(nodes),
        (None, None) if whole && request.min_nodes.is_none() => job.tasks(),
        (None, None) => nodes,
    };
    let tasks = tasks.max(1);
    // Slurm warns and takes fewer nodes rather than leave one without a task.
    (nodes.min(tasks) as usize, tasks)
}

/// What is left of a node's share beside what other steps hold there.
fn left_on(share: &NodeShare, held: &[&[NodeShare]], overlap: bool) -> NodeShare {
    if overlap {
        return share.clone();
    }
    let mut cpus: BTreeSet<u32> = share.cpus.iter().copied().collect();
    let mut gpus: BTreeSet<GpuIndex> = share.gpus.iter().copied().collect();
    let mut left = share.clone();
    for held in held.iter().flat_map(|held| held.iter()) {
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
fn as_listed(request: &StepRequest, nodes: &[NodeShare], capacities: &[u32]) -> Option<Vec<u32>> {
    let listed = |share: &NodeShare| {
        let count = request
            .task_nodes
            .iter()
            .filter(|node| **node == share.node);
        u32::try_from(count.count()).unwrap_or(u32::MAX)
    };
    let counts: Vec<u32> = nodes.iter().map(listed).collect();
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
    exact: bool,
) -> Result<(NodeShare, Option<NodeShare>), StepRefusal> {
    let cpus: Vec<u32> = if exact {
        let count = tasks.saturating_mul(cpus_per_task) as usize;
        left.cpus.iter().copied().take(count).collect()
    } else {
        left.cpus.clone()
    };
    let gpus = gpus_of(request, all, left, tasks)?;
    let memory = match request.memory {
        Some(memory) if memory > all.memory => {
            return Err(never(
                "Memory required by task is not available",
                &format!(
                    "the job has {} MiB on {}, {memory} MiB are asked",
                    all.memory, all.node
                ),
            ));
        }
        Some(memory) if memory > 0 => memory,
        Some(_) => 0,
        None if exact => all.memory * cpus.len() as u64 / all.cpus.len().max(1) as u64,
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
    let asked = match (&request.gpus_per_node, &request.gpus_per_task) {
        (Some(gpus), _) if gpus.count > 0 || request.tasks_per_gpu.is_none() => gpus.count,
        (None, Some(gpus)) => gpus.count.saturating_mul(tasks),
        _ => match request.tasks_per_gpu {
            Some(each) => tasks.div_ceil(each.max(1)),
            None => u32::try_from(all.gpus.len()).unwrap_or(u32::MAX),
        },
    } as usize;
    if asked > all.gpus.len() {
        return Err(never(
            "Invalid generic resource (gres) specification",
            &format!(
                "the job has {} GPUs on {}, {asked} are asked",
                all.gpus.len(),
                all.node
            ),
        ));
    }
    if asked > left.gpus.len() {
        return Err(StepRefusal::Busy);
    }
    Ok(left.gpus.iter().copied().take(asked).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use model::NodeName;

    fn job(nodes: &[(&str, &[u32])]) -> Allocation {
        let share = |(node, cpus): &(&str, &[u32])| NodeShare {
            node: NodeName::new(node),
            cpus: cpus.to_vec(),
            memory: 100 * cpus.len() as u64,
            gpus: vec![],
            tasks: u32::try_from(cpus.len()).unwrap_or_default(),
        };
        Allocation {
            nodes: nodes.iter().map(share).collect(),
        }
    }

    #[track_caller]
    fn check(request: &StepRequest, job: &Allocation, held: &[&[NodeShare]], want: Expect) {
        let shown = match place_step(request, job, None, held) {
            Ok(placement) => {
                let show = |shares: &[NodeShare]| {
                    let each = shares.iter().map(|share| {
                        format!(
                            "{} {}× {:?} {}M",
                            share.node, share.tasks, share.cpus, share.memory
                        )
                    });
                    each.collect::<Vec<_>>().join(", ")
                };
                format!("{} | {}", show(&placement.nodes), show(&placement.holds))
            }
            Err(refusal) => refusal.to_string(),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn without_options_a_step_is_the_job_itself() {
        let job = job(&[("a", &[0, 1]), ("b", &[2])]);
        check(
            &StepRequest::default(),
            &job,
            &[],
            expect!["a 2× [0, 1] 200M, b 1× [2] 100M | a 2× [0, 1] 200M, b 1× [2] 100M"],
        );
    }

    #[test]
    fn a_second_step_waits_unless_it_overlaps() {
        let job = job(&[("a", &[0, 1])]);
        let all = job.nodes.clone();
        let one = StepRequest {
            tasks: Some(1),
            ..StepRequest::default()
        };
        check(&one, &job, &[&all], expect!["Requested nodes are busy"]);
        let overlap = StepRequest {
            overlap: true,
            ..one
        };
        check(&overlap, &job, &[&all], expect!["a 1× [0, 1] 200M | "]);
    }

    #[test]
    fn exact_steps_stand_side_by_side() {
        let job = job(&[("a", &[0, 1])]);
        let exact = StepRequest {
            tasks: Some(1),
            exact: true,
            ..StepRequest::default()
        };
        check(&exact, &job, &[], expect!["a 1× [0] 100M | a 1× [0] 100M"]);
        let first = place_step(&exact, &job, None, &[]).map(|placement| placement.holds);
        let first = first.unwrap_or_default();
        check(
            &exact,
            &job,
            &[&first],
            expect!["a 1× [1] 100M | a 1× [1] 100M"],
        );
        let two = StepRequest {
            tasks: Some(2),
            ..exact
        };
        check(&two, &job, &[&first], expect!["Requested nodes are busy"]);
    }

    #[test]
    fn one_task_a_node_and_single_nodes() {
        let job = job(&[("a", &[0, 1]), ("b", &[2, 3])]);
        let agents = StepRequest {
            min_nodes: Some(2),
            tasks: Some(2),
            tasks_per_node: Some(1),
            overlap: true,
            memory: Some(0),
            ..StepRequest::default()
        };
        check(
            &agents,
            &job,
            &[&job.nodes.clone()],
            expect!["a 1× [0, 1] 200M, b 1× [2, 3] 200M | "],
        );
        let second = StepRequest {
            nodelist: vec![NodeName::new("b")],
            tasks: Some(1),
            ..StepRequest::default()
        };
        check(
            &second,
            &job,
            &[],
            expect!["b 1× [2, 3] 200M | b 1× [2, 3] 200M"],
        );
        let few = StepRequest {
            tasks: Some(3),
            ..StepRequest::default()
        };
        check(
            &few,
            &job,
            &[],
            expect!["a 2× [0, 1] 200M, b 1× [2, 3] 200M | a 2× [0, 1] 200M, b 1× [2, 3] 200M"],
        );
    }

    /// As a real Slurm was seen to deal tasks out.
    #[test]
    fn tasks_are_dealt_out_in_turn_as_far_as_cpus_go() {
        #[track_caller]
        fn check(tasks: u32, cpus: &[u32], overcommit: bool, want: Option<&[u32]>) {
            let counts = Distribution::even_counts(tasks, cpus, overcommit);
            assert_eq!(counts.as_deref(), want);
        }
        check(4, &[3, 1], false, Some(&[3, 1]));
        check(4, &[8, 8], false, Some(&[2, 2]));
        check(7, &[5, 1, 1], false, Some(&[5, 1, 1]));
        check(3, &[2, 1], false, Some(&[2, 1]));
        check(9, &[8, 1], false, Some(&[8, 1]));
        check(12, &[1], false, None);
        check(12, &[1], true, Some(&[12]));
        check(7, &[2, 1], true, Some(&[4, 3]));
    }

    #[test]
    fn tasks_follow_a_list_of_nodes() {
        let job = job(&[("a", &[0, 1]), ("b", &[2]), ("c", &[3])]);
        let listed = |names: &[&str]| StepRequest {
            min_nodes: Some(3),
            tasks: Some(9),
            nodelist: vec![NodeName::new("a"), NodeName::new("b")],
            task_nodes: names.iter().copied().map(NodeName::new).collect(),
            ..StepRequest::default()
        };
        check(
            &listed(&["b", "a", "b"]),
            &job,
            &[],
            expect!["a 1× [0, 1] 200M, b 2× [2] 100M | a 1× [0, 1] 200M, b 2× [2] 100M"],
        );
        check(
            &listed(&["b", "a", "b", "b"]),
            &job,
            &[],
            expect![[r#"
                More processors requested than permitted
                  there   the job has fewer CPUs than tasks with their CPUs need"#]],
        );
    }

    #[test]
    fn more_than_the_job_has_is_never() {
        let job = job(&[("a", &[0])]);
        let tasks = StepRequest {
            tasks: Some(2),
            ..StepRequest::default()
        };
        check(
            &tasks,
            &job,
            &[],
            expect![[r#"
                More processors requested than permitted
                  there   the job has fewer CPUs than tasks with their CPUs need"#]],
        );
        let nodes = StepRequest {
            min_nodes: Some(2),
            ..StepRequest::default()
        };
        check(
            &nodes,
            &job,
            &[],
            expect![[r#"
                Requested node configuration is not available
                  there   the job has 1 of the 2 nodes that are asked"#]],
        );
    }
}
