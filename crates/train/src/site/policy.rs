//! What a site wants a job with GPUs to ask for.

use super::gpus::GpuChoice;
use crate::{Plan, Resolved, Source, say_mebibytes};
use model::cluster::{Bounds, ClusterFile, Mib, NodeSet, Sourced};

/// CPUs and memory where nobody asked for them: by the site's policy, and never more than a node
/// has.
pub(super) fn apply(
    plan: &mut Plan,
    file: &ClusterFile,
    set: &NodeSet<'_>,
    choice: &GpuChoice<'_>,
    assumed: &mut Vec<(String, String)>,
) {
    whole_node(plan);
    let gpus = plan.gpus_per_node.value;
    if gpus == 0 {
        return;
    }
    let named = choice.name().unwrap_or("GPU");
    let of_model = file.policy.gpus.iter().find(|of| {
        let called = choice.gpu.is_some_and(|gpu| gpu.is_called(&of.name));
        called || of.name.eq_ignore_ascii_case(named)
    });
    let cpus = of_model.and_then(|of| of.cpus_per_gpu.as_ref());
    let cpus = cpus.or(file.policy.cpus_per_gpu.as_ref());
    let memory = of_model.and_then(|of| of.memory_per_gpu.as_ref());
    let memory = memory.or(file.policy.memory_per_gpu.as_ref());
    if let Some(policy) = cpus
        && !plan.cpus_per_rank.source.is_asked()
        && !plan.exclusive.value
    {
        super::note(assumed, "policy.cpus_per_gpu".to_owned(), Some(policy));
        plan.cpus_per_rank = cpus_of(plan, file, set, named, policy);
    }
    if let Some(policy) = memory
        && plan
            .memory
            .as_ref()
            .is_none_or(|memory| !memory.source.is_asked())
        && !plan.exclusive.value
    {
        super::note(assumed, "policy.memory_per_gpu".to_owned(), Some(policy));
        plan.memory = Some(memory_of(gpus, file, set, named, policy));
    }
}

/// A node of one's own is used whole.
fn whole_node(plan: &mut Plan) {
    if plan.exclusive.value
        && plan
            .memory
            .as_ref()
            .is_none_or(|memory| !memory.source.is_asked())
    {
        let why = "the node is the job's alone".to_owned();
        plan.memory = Some(Resolved::new(0, Source::default(why)));
    }
}

fn cpus_of(
    plan: &Plan,
    file: &ClusterFile,
    set: &NodeSet<'_>,
    named: &str,
    policy: &Sourced<Bounds<u32>>,
) -> Resolved<u32> {
    let ranks = plan.ranks_per_node.value.max(1);
    let gpus = plan.gpus_per_node.value;
    let has = set.nodes.cpus.as_ref().map_or(u32::MAX, |cpus| cpus.value);
    let each = (policy.value.most.saturating_mul(gpus).min(has) / ranks).max(1);
    let why = format!("{}: {} CPUs a {named} (policy)", file.name, policy.value);
    Resolved::new(each, Source::cluster(why))
}

fn memory_of(
    gpus: u32,
    file: &ClusterFile,
    set: &NodeSet<'_>,
    named: &str,
    policy: &Sourced<Bounds<Mib>>,
) -> Resolved<u64> {
    let has = set
        .nodes
        .memory
        .as_ref()
        .map_or(u64::MAX, |memory| memory.value.0);
    let wanted = policy.value.most.0.saturating_mul(u64::from(gpus));
    let said = format!("{}: {} a {named} (policy)", file.name, policy.value);
    let why = match (policy.value.least == policy.value.most, wanted > has) {
        (_, true) => format!("{said}, as far as the node has it: {}", say_mebibytes(has)),
        (true, false) => said,
        (false, false) => format!("{said}, the upper end"),
    };
    Resolved::new(wanted.min(has), Source::cluster(why))
}
