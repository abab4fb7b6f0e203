//! Amounts that are asked for each GPU or CPU.

use crate::show::plural;
use crate::{MemorySize, Refusal, RefusalKind, Resolved, ResourceSection, Source, say_mebibytes};

/// Puts `cpus_per_rank` and `memory` in place of what is asked for each GPU.
///
/// # Errors
/// Amounts for each GPU of a job that has none, or that are asked for in two ways.
pub(crate) fn resolve(
    asked: &mut ResourceSection,
    gpus_per_node: u32,
    ranks_per_node: u32,
) -> Result<(), Refusal> {
    once(&[
        ("cpus_per_rank", asked.cpus_per_rank.as_ref().map(source)),
        ("cpus_per_gpu", asked.cpus_per_gpu.as_ref().map(source)),
    ])?;
    once(&[
        ("memory", asked.memory.as_ref().map(source)),
        ("memory_per_gpu", asked.memory_per_gpu.as_ref().map(source)),
        ("memory_per_cpu", asked.memory_per_cpu.as_ref().map(source)),
    ])?;
    let gpus = plural(gpus_per_node, "GPU", "GPUs");
    if let Some(each) = asked.cpus_per_gpu.take() {
        has_gpus("cpus_per_gpu", &each.source, gpus_per_node)?;
        let all = each.value.saturating_mul(gpus_per_node);
        let ranks = plural(ranks_per_node, "rank", "ranks");
        let why = format!("{} a GPU, {gpus} for {ranks}", each.value);
        let cpus = all.div_ceil(ranks_per_node.max(1));
        asked.cpus_per_rank = Some(Resolved::new(cpus, Source::derived(why, &each.source)));
    }
    if let Some(each) = asked.memory_per_gpu.take() {
        has_gpus("memory_per_gpu", &each.source, gpus_per_node)?;
        let why = format!("{} a GPU, {gpus} a node", say_mebibytes(each.value));
        let size = MemorySize(Some(each.value.saturating_mul(u64::from(gpus_per_node))));
        asked.memory = Some(Resolved::new(size, Source::derived(why, &each.source)));
    }
    Ok(())
}

/// The memory of a node whose ranks have so many CPUs, from what is asked for each, in MiB.
pub(crate) fn memory_of_cpus(each: &Resolved<u64>, cpus: u32) -> Resolved<u64> {
    let why = format!("{} a CPU, {cpus} a node", say_mebibytes(each.value));
    let size = each.value.saturating_mul(u64::from(cpus));
    Resolved::new(size, Source::derived(why, &each.source))
}

fn source<T>(value: &Resolved<T>) -> &Source {
    &value.source
}

/// Refuses keys of one layer that say the same thing twice; of two layers the upper one's is left.
fn once(keys: &[(&str, Option<&Source>)]) -> Result<(), Refusal> {
    let set: Vec<(&str, &Source)> = keys
        .iter()
        .filter_map(|(key, source)| Some((*key, (*source)?)))
        .collect();
    let [(first, of_first), (second, of_second), ..] = set[..] else {
        return Ok(());
    };
    Err(Refusal {
        kind: RefusalKind::Usage,
        message: format!("{first} and {second} are both set"),
        asked: format!("{first} ({of_first}), {second} ({of_second})"),
        there: "both say how much a node gives to the job".to_owned(),
        todo: format!("leave {first} or {second} out"),
    })
}

fn has_gpus(key: &str, source: &Source, gpus_per_node: u32) -> Result<(), Refusal> {
    if gpus_per_node > 0 {
        return Ok(());
    }
    let instead = if key == "cpus_per_gpu" {
        "cpus_per_rank"
    } else {
        "memory or memory_per_cpu"
    };
    Err(Refusal {
        kind: RefusalKind::Usage,
        message: format!("{key} is set for a run without GPUs"),
        asked: format!("{key} ({source})"),
        there: "the run asks for no GPU".to_owned(),
        todo: format!("gpus or gpus_per_node, or {instead} in its place"),
    })
}
