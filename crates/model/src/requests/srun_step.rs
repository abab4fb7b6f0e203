//! What a step asks of its job, out of `srun`'s options.

use crate::options::given_options::{Exclusive, GivenOptions};
use crate::options::option_table::Key;
use crate::options::reading::Reading;
use crate::requests::{StepRequest, described_job, handed_on};
use crate::values::{GpuBind, GpuCount, GresList};

/// Tasks as given, or one a node.
pub(super) fn tasks(o: &GivenOptions) -> Option<u32> {
    let fixed = o.nodes.filter(|_| !is_range(o));
    o.tasks.or(fixed.map(|nodes| nodes.min.max(1)))
}

/// Whether the number of nodes is open.
pub(super) fn is_range(o: &GivenOptions) -> bool {
    let nodes = o.nodes;
    nodes.is_some_and(|nodes| nodes.max.is_some_and(|max| max != nodes.min))
}

/// What the step asks of its job; `base` is its program's name.
pub(super) fn step(reading: &Reading<'_>, base: &str) -> StepRequest {
    let o = &reading.options;
    let nodes_inherited = o.nodes.is_some() && !reading.by_hand(Key::Nodes);
    // The job may have fewer nodes by now: then as many tasks as are left.
    let tasks = o.tasks.or_else(|| tasks(o).filter(|_| !nodes_inherited));
    // The job's own name is inherited too, and is not the step's.
    let named = o.job_name.clone().filter(|_| reading.by_hand(Key::JobName));
    let gpus = step_gpus(reading);
    let exact = !o.whole
        && (o.exact || reading.by_hand(Key::CpusPerTask) || o.exclusive == Some(Exclusive::Yes));
    StepRequest {
        name: named.unwrap_or_else(|| base.to_owned()),
        submit_line: None,
        min_nodes: o.nodes.map(|nodes| nodes.min.max(1)),
        max_nodes: o.nodes.and_then(|nodes| nodes.max),
        nodes_inherited,
        tasks,
        tasks_per_node: o.tasks_per_node,
        cpus_per_task: o.cpus_per_task,
        cpus_per_gpu: o.cpus_per_gpu,
        threads_per_core: o.threads_per_core,
        memory: step_memory(reading, gpus.as_ref(), exact),
        gpus_per_node: gpus,
        gpus_per_task: o.gpus_per_task.as_ref().and_then(GresList::gpus),
        tasks_per_gpu: o.tasks_per_tres.or(o.tasks_per_gpu),
        gpu_bind: gpu_bind(o),
        overcommit: o.overcommit,
        overlap: o.overlap,
        exact,
        nodelist: o.nodelist.to_vec(),
        task_nodes: o.task_nodes.to_vec(),
        exclude: o.exclude.to_vec(),
        relative: o.relative,
        distribution: o.distribution.clone(),
        cpu_bind: handed_on::cpu_bind(reading),
        kill_on_bad_exit: o.kill_on_bad_exit.unwrap_or(false),
        no_kill: o.no_kill,
        reserved_ports: o.reserved_ports.unwrap_or(0),
    }
}

/// How its tasks are bound to GPUs, in words or by how they were counted.
fn gpu_bind(o: &GivenOptions) -> Option<GpuBind> {
    let of_tasks = || {
        let tasks = o.tasks_per_tres.or(o.tasks_per_gpu)?;
        Some(format!("gpu:single:{tasks}"))
    };
    let of_gpus = || {
        let gpus = o.gpus_per_task.as_ref().and_then(GresList::gpus)?;
        Some(format!("gpu:per_task:{gpus}"))
    };
    let text = o.gpu_bind.clone().or_else(of_tasks).or_else(of_gpus)?;
    Some(GpuBind::read(&text))
}

/// GPUs of a step on each node. The job's own total is inherited as `SLURM_GPUS` and asks for
/// nothing new.
fn step_gpus(reading: &Reading<'_>) -> Option<GpuCount> {
    let o = &reading.options;
    let none = GpuCount {
        kind: None,
        count: 0,
    };
    if matches!(o.gres, Some(None)) {
        return Some(none);
    }
    // A job of its own whose number of nodes is open has them where they are.
    let is_open = o.job.is_none() && is_range(o);
    let in_all = o
        .gpus
        .as_ref()
        .filter(|_| reading.by_hand(Key::Gpus) && !is_open)
        .and_then(GresList::gpus)
        .map(|gpus| GpuCount {
            kind: gpus.kind.clone(),
            count: gpus
                .count
                .div_ceil(o.nodes.map_or(1, |nodes| nodes.min.max(1))),
        });
    let by_hand = reading.by_hand(Key::GpusPerNode) || reading.by_hand(Key::Gres);
    let per_node = described_job::gpus_of_a_node(o);
    // Where it names GPUs at all, those of its job are none of its own (`_copy_job_tres_to_step` of 22.05.8's
    // step_mgr.c).
    let names_gpus = by_hand || reading.by_hand(Key::Gpus) || reading.by_hand(Key::GpusPerTask);
    let is_zero = |list: &GresList| !list.is_empty() && list.gpus().is_none();
    let lists = [&o.gpus, &o.gpus_per_node, &o.gpus_per_task];
    let mut lists = lists.into_iter().flatten().chain(o.gres.iter().flatten());
    let asks_for_none = names_gpus && lists.any(is_zero);
    let asked = if by_hand {
        per_node
    } else {
        in_all.or(per_node)
    };
    let no_others = o.gpus_per_task.as_ref().and_then(GresList::gpus).is_none();
    asked.or((asks_for_none && no_others && is_own(reading)).then_some(none))
}

/// Whether no count of GPUs is inherited from the job around it.
fn is_own(reading: &Reading<'_>) -> bool {
    let o = &reading.options;
    let mut lists = [(Key::Gpus, &o.gpus), (Key::GpusPerNode, &o.gpus_per_node)].into_iter();
    !lists.any(|(key, list)| {
        !reading.by_hand(key) && list.as_ref().and_then(GresList::gpus).is_some()
    })
}

/// Memory of a step on each node in MiB: what was asked for by hand. What is inherited is the
/// job's, which is what a step gets anyway, also one that is exact about its CPUs: another one beside it waits then,
/// unless the job's memory is of its CPUs.
fn step_memory(reading: &Reading<'_>, gpus: Option<&GpuCount>, exact: bool) -> Option<u64> {
    let o = &reading.options;
    if reading.by_hand(Key::Mem) {
        return o.memory;
    }
    if reading.by_hand(Key::MemPerCpu) {
        let nodes = o.nodes.map_or(1, |nodes| nodes.min.max(1));
        let tasks = u64::from(tasks(o)?.div_ceil(nodes));
        let cpus = tasks * u64::from(o.cpus_per_task.unwrap_or(1));
        return o.memory_per_cpu?.checked_mul(cpus);
    }
    if reading.by_hand(Key::MemPerGpu) {
        return o.memory_per_gpu?.checked_mul(u64::from(gpus?.count));
    }
    o.memory.filter(|_| exact)
}
