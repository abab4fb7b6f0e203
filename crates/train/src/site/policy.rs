//! What a site wants a job with GPUs to ask for.

use super::gpus::GpuChoice;
use crate::{Plan, Resolved, Source, per_gpu, say_mebibytes};
use cluster_file::{Bounds, ClusterFile, Mib, Named, NodeSet, Partition, Sourced};

/// CPUs and memory that were not requested: by the site's policy, and never more than a node
/// has. Where the job has its nodes whole all their memory is its own.
pub(super) fn apply(
    plan: &mut Plan,
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
    could: &[&NodeSet<'_>],
    kind: Option<&Resolved<String>>,
    memory_per_cpu: Option<&Resolved<u64>>,
    assumed: &mut Vec<(String, String)>,
) {
    let is_whole = whole_node(plan, file, partition, assumed);
    let gpus = plan.gpus_per_node.value;
    if gpus == 0 || is_whole {
        return;
    }
    let of_sets: Vec<OfSet<'_>> = could
        .iter()
        .map(|set| OfSet::of(file, set, &GpuChoice::of(set, kind)))
        .collect();
    if !plan.cpus_per_rank.source.is_asked() {
        let each = of_sets
            .iter()
            .filter_map(|of| Some((cpus_of(plan, file, of)?, of.cpus?)));
        if let Some((cpus, policy)) = each.min_by_key(|(cpus, _)| cpus.value) {
            let cpus = least(cpus, &of_sets);
            super::note(assumed, "policy.cpus_per_gpu".to_owned(), Some(policy));
            plan.cpus_per_rank = cpus;
            if let Some(each) = memory_per_cpu {
                let cpus = plan.cpus_per_rank.value * plan.ranks_per_node.value;
                plan.memory = Some(per_gpu::memory_of_cpus(each, cpus));
            }
        }
    }
    if !is_memory_asked(plan) {
        let each = of_sets
            .iter()
            .filter_map(|of| Some((memory_of(gpus, file, of)?, of.memory?)));
        if let Some((memory, policy)) = each.min_by_key(|(memory, _)| memory.value) {
            let memory = least(memory, &of_sets);
            super::note(assumed, "policy.memory_per_gpu".to_owned(), Some(policy));
            plan.memory = Some(memory);
        }
    }
}

/// Of several kinds that could be given the least holds for all.
fn least<T>(value: Resolved<T>, of_sets: &[OfSet<'_>]) -> Resolved<T> {
    if of_sets.iter().any(|of| of.named != of_sets[0].named) {
        crate::node_share::as_least(value)
    } else {
        value
    }
}

/// What the policy wants of a job on nodes of one kind.
struct OfSet<'a> {
    set: &'a NodeSet<'a>,
    /// Their GPUs, for a sentence.
    named: &'a str,
    cpus: Option<&'a Sourced<Bounds<u32>>>,
    memory: Option<&'a Sourced<Bounds<Mib>>>,
}

impl<'a> OfSet<'a> {
    fn of(file: &'a ClusterFile, set: &'a NodeSet<'a>, choice: &GpuChoice<'a>) -> OfSet<'a> {
        let named = choice.name().unwrap_or("GPU");
        let of_model = file.policy.gpus.iter().find(|of| {
            let called = choice.gpu.is_some_and(|gpu| gpu.is_called(&of.name));
            called || of.name.eq_ignore_ascii_case(named)
        });
        let cpus = of_model.and_then(|of| of.cpus_per_gpu.as_ref());
        let memory = of_model.and_then(|of| of.memory_per_gpu.as_ref());
        OfSet {
            set,
            named,
            cpus: cpus.or(file.policy.cpus_per_gpu.as_ref()),
            memory: memory.or(file.policy.memory_per_gpu.as_ref()),
        }
    }
}

/// A node of one's own is used whole: of one that was asked for, and of one in a partition that gives
/// no others, where a share of the memory would be all that the job may use. Whether it is so.
fn whole_node(
    plan: &mut Plan,
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
    assumed: &mut Vec<(String, String)>,
) -> bool {
    let of_partition = partition.and_then(|partition| {
        let exclusive = partition.exclusive.as_ref().filter(|flag| flag.value)?;
        Some((&partition.name, exclusive))
    });
    let source = match (plan.exclusive.value, of_partition) {
        (true, _) => Source::default("the node is the job's alone"),
        (false, Some((name, exclusive))) => {
            super::note(
                assumed,
                format!("partition.{name}.exclusive"),
                Some(exclusive),
            );
            let cluster = &file.name;
            Source::cluster(format!(
                "{cluster} allocates whole nodes in partition {name}"
            ))
        }
        (false, None) => return false,
    };
    if !is_memory_asked(plan) {
        plan.memory = Some(Resolved::new(0, source));
    }
    true
}

/// Whether a person said how much, or that it is the cluster's to say.
fn is_memory_asked(plan: &Plan) -> bool {
    let is_asked = |memory: &Resolved<u64>| memory.source.is_asked();
    plan.memory_left.is_some() || plan.memory.as_ref().is_some_and(is_asked)
}

fn cpus_of(plan: &Plan, file: &ClusterFile, of: &OfSet<'_>) -> Option<Resolved<u32>> {
    let policy = of.cpus?;
    let ranks = plan.ranks_per_node.value.max(1);
    let gpus = plan.gpus_per_node.value;
    let has = of.set.nodes.cpus.as_ref();
    let has = has.map_or(u32::MAX, |cpus| cpus.value);
    let each = (policy.value.most.saturating_mul(gpus).min(has) / ranks).max(1);
    let (cluster, named) = (&file.name, of.named);
    let why = format!("{cluster}: {} CPUs a {named} (policy)", policy.value);
    Some(Resolved::new(each, Source::cluster(why)))
}

fn memory_of(gpus: u32, file: &ClusterFile, of: &OfSet<'_>) -> Option<Resolved<u64>> {
    let policy = of.memory?;
    let has = of.set.nodes.memory.as_ref();
    let has = has.map_or(u64::MAX, |memory| memory.value.0);
    let wanted = policy.value.most.0.saturating_mul(u64::from(gpus));
    let said = format!("{}: {} a {} (policy)", file.name, policy.value, of.named);
    let why = match (policy.value.least == policy.value.most, wanted > has) {
        (_, true) => format!("{said}, as far as the node has it: {}", say_mebibytes(has)),
        (true, false) => said,
        (false, false) => format!("{said}, the upper end"),
    };
    Some(Resolved::new(wanted.min(has), Source::cluster(why)))
}
