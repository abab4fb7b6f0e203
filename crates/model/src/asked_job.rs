//! From options to a job's [`Request`]: the checks and the arithmetic that Slurm's commands do
//! before they send anything (`_opt_verify` of 22.05.8).

use crate::diagnostic::{Diagnostic, Span, Voice};
use crate::given::Origin;
use crate::given_options::{Exclusive, GivenOptions, Reading};
use crate::option_table::{Command, Key};
use crate::{GpuCount, MemoryRequest, NodeCount, Request, Seconds, TimeLimitRequest};

/// Checks what only the options together can tell, and settles nodes and tasks.
pub(crate) fn settle(reading: &mut Reading<'_>) {
    memory(reading);
    exclusions(reading);
    nodes_of_list(reading);
    gpus(reading);
    tasks(reading);
    let o = &reading.options;
    if o.quiet && o.verbose > 0 {
        let message = "don't specify both --verbose (-v) and --quiet (-Q)";
        error(reading, message);
    } else if o
        .begin
        .zip(o.deadline)
        .is_some_and(|(begin, deadline)| deadline < begin)
    {
        error(
            reading,
            "Incompatible begin and deadline time specification",
        );
    }
}

/// The request that settled options make; `name` is the job's where none was given.
pub(crate) fn request(reading: &Reading<'_>, name: &str) -> Request {
    let o = &reading.options;
    let mut mail_types = Vec::new();
    for event in &o.mail_types {
        if !mail_types.contains(event) {
            mail_types.push(*event);
        }
    }
    Request {
        name: o.job_name.clone().unwrap_or_else(|| name.to_owned()),
        account: o.account.clone(),
        partition: o.partition.clone(),
        qos: o.qos.clone(),
        min_nodes: o.nodes.map(|nodes| nodes.min.max(1)),
        max_nodes: o.nodes.and_then(|nodes| nodes.max),
        tasks: o.tasks,
        tasks_per_node: o.tasks_per_node,
        cpus_per_task: o.cpus_per_task,
        memory: asked_memory(o),
        gpus: asked(o.gpus.as_ref()),
        gpus_per_node: asked(gpus_of_a_node(o)),
        gpus_per_task: asked(o.gpus_per_task.as_ref()),
        cpus_per_gpu: o.cpus_per_gpu,
        exclusive: matches!(o.exclusive, Some(Exclusive::Yes | Exclusive::User)),
        time: o.time.map(whole_minutes),
        begin: o.begin.filter(|begin| *begin > reading.surroundings.now),
        hold: o.hold || o.priority == Some(0),
        nice: o.nice,
        priority: o.priority,
        dependency: o.dependency.clone(),
        array: o.array.clone(),
        signal: o.signal,
        requeue: o.requeue,
        output: o.output.clone(),
        error: o.error.clone(),
        input: o.input.clone(),
        open_mode: o.open_mode,
        chdir: o
            .chdir
            .clone()
            .unwrap_or_else(|| reading.surroundings.cwd.to_owned()),
        comment: o.comment.clone(),
        constraint: o.constraint.clone(),
        nodelist: o.nodelist.clone(),
        exclude: o.exclude.clone(),
        reservation: o.reservation.clone(),
        mail_types,
        mail_user: o.mail_user.clone(),
    }
}

/// `--gpus-per-node`, or what `--gres` asks of each node.
pub(crate) fn gpus_of_a_node(o: &GivenOptions) -> Option<&GpuCount> {
    let gres = o.gres.as_ref().and_then(Option::as_ref);
    o.gpus_per_node.as_ref().or(gres)
}

fn asked(gpus: Option<&GpuCount>) -> Option<GpuCount> {
    gpus.filter(|gpus| gpus.count > 0).cloned()
}

fn asked_memory(o: &GivenOptions) -> Option<MemoryRequest> {
    o.memory
        .map(MemoryRequest::PerNode)
        .or(o.memory_per_cpu.map(MemoryRequest::PerCpu))
        .or(o.memory_per_gpu.map(MemoryRequest::PerGpu))
}

fn error(reading: &mut Reading<'_>, message: &str) {
    let diagnostic = Diagnostic::error("conflict", Span::Whole, message, 1);
    reading.diagnostics.push(diagnostic);
}

fn fatal(reading: &mut Reading<'_>, message: &str) {
    let diagnostic = Diagnostic::fatal("conflict", Span::Whole, message);
    reading.diagnostics.push(diagnostic);
}

/// Of the three ways to ask for memory one is taken; one given by hand goes before the
/// environment's.
fn memory(reading: &mut Reading<'_>) {
    const KEYS: [Key; 3] = [Key::Mem, Key::MemPerCpu, Key::MemPerGpu];
    let by_hand: Vec<Key> = KEYS
        .into_iter()
        .filter(|key| reading.by_hand(*key))
        .collect();
    let by_variable = |key: &&Key| reading.origin(**key) == Some(Origin::Environment);
    match by_hand.as_slice() {
        [] if KEYS.iter().filter(by_variable).count() > 1 => fatal(
            reading,
            "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.",
        ),
        [] => {}
        [key] => {
            let o = &mut reading.options;
            o.memory = o.memory.filter(|_| *key == Key::Mem);
            o.memory_per_cpu = o.memory_per_cpu.filter(|_| *key == Key::MemPerCpu);
            o.memory_per_gpu = o.memory_per_gpu.filter(|_| *key == Key::MemPerGpu);
        }
        _ => fatal(
            reading,
            "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.",
        ),
    }
}

fn exclusions(reading: &mut Reading<'_>) {
    if reading.by_hand(Key::CpusPerTask) && reading.by_hand(Key::CpusPerGpu) {
        fatal(
            reading,
            "--cpus-per-task and --cpus-per-gpu are mutually exclusive",
        );
    }
    if reading.origin(Key::TasksPerGpu).is_some() {
        for (key, long) in [
            (Key::GpusPerTask, "gpus-per-task"),
            (Key::TasksPerNode, "ntasks-per-node"),
        ] {
            if reading.by_hand(key) {
                let message = format!(
                    "--{long} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
                );
                fatal(reading, &message);
            }
        }
    }
}

/// A list of nodes asks for all of them.
fn nodes_of_list(reading: &mut Reading<'_>) {
    let listed = u32::try_from(reading.options.nodelist.len()).unwrap_or(u32::MAX);
    if listed == 0 {
        return;
    }
    let nodes = match reading.options.nodes {
        Some(nodes) => NodeCount {
            min: nodes.min.max(listed),
            max: nodes.max,
        },
        None => NodeCount {
            min: listed,
            max: None,
        },
    };
    match nodes.max {
        Some(max) if max < nodes.min && reading.command == Command::Srun => {
            let message = format!(
                "Required nodelist includes more nodes than permitted by max-node count ({} > {max}). \
                 Eliminating nodes from the nodelist.",
                nodes.min
            );
            reading.diagnostics.push(Diagnostic {
                voice: Voice::Error,
                ..Diagnostic::warning("nodes-left-out", Span::Whole, message)
            });
            reading.options.nodelist.truncate(max as usize);
        }
        Some(max) if max < nodes.min => {
            let message = format!("invalid number of nodes (-N {}-{max})", nodes.min);
            error(reading, &message);
        }
        _ => reading.options.nodes = Some(nodes),
    }
}

fn gpus(reading: &mut Reading<'_>) {
    let o = &reading.options;
    let gres = o.gres.clone().flatten();
    if let (Some(per_node), Some(gres)) = (&o.gpus_per_node, &gres)
        && per_node != gres
    {
        let message = format!(
            "--gpus-per-node={per_node} and --gres=gpu:{gres} ask for GPUs twice: the first is taken; leave one out"
        );
        let warning = Diagnostic::warning("gpus-twice", Span::Whole, message);
        reading.diagnostics.push(warning);
    }
    let o = &reading.options;
    let any = o.gpus.is_some() || o.gpus_per_node.is_some() || gres.is_some();
    let tasks_known = o.tasks.is_some() || o.tasks_per_node.is_some();
    if o.gpus_per_task.is_some() && !tasks_known && o.gpus.is_none() {
        let message = "Failed to validate job spec. --gpus-per-task used without either --gpus or \
                       -n/--ntasks is not allowed.\nInvalid generic resource (gres) specification";
        error(reading, message);
    } else if o.memory_per_gpu.is_some() && !any && o.gpus_per_task.is_none() {
        let message = "--mem-per-gpu used without any GPU asked for\n\
                       Invalid generic resource (gres) specification";
        error(reading, message);
    }
}

/// Settles tasks against nodes and GPUs.
fn tasks(reading: &mut Reading<'_>) {
    let o = &mut reading.options;
    let nodes = o.nodes.unwrap_or(NodeCount { min: 1, max: None });
    let fixed = nodes.max.is_none_or(|max| max == nodes.min);
    let per_node = gpus_of_a_node(o).map(|gpus| gpus.count);
    if let (None, Some(per_gpu)) = (o.tasks, o.tasks_per_gpu) {
        let gpus = match (&o.gpus, per_node) {
            (Some(gpus), _) => Some(gpus.count),
            (None, Some(gpus)) if fixed => Some(gpus.saturating_mul(nodes.min.max(1))),
            _ => None,
        };
        o.tasks = gpus
            .map(|gpus| gpus.saturating_mul(per_gpu))
            .filter(|tasks| *tasks > 0);
    }
    if let (Some(tasks), Some(per_gpu), None, None) = (o.tasks, o.tasks_per_gpu, &o.gpus, per_node)
    {
        o.gpus = Some(GpuCount {
            kind: None,
            count: tasks.div_ceil(per_gpu),
        });
    }
    if let (None, Some(per_node), true) = (o.tasks, o.tasks_per_node, fixed) {
        o.tasks = Some(nodes.min.max(1).saturating_mul(per_node));
    }
    // `--gpus` with `--gpus-per-task` says how many tasks there are.
    if let (None, Some(gpus), Some(each)) = (o.tasks, &o.gpus, &o.gpus_per_task)
        && let Some(tasks) = gpus.count.checked_div(each.count)
    {
        o.tasks = Some(tasks.max(1));
    }
    let (Some(nodes), Some(tasks)) = (o.nodes, o.tasks) else {
        return;
    };
    let mut fewer = NodeCount {
        min: nodes.min,
        max: nodes.max.map(|max| max.min(tasks)),
    };
    if tasks < nodes.min {
        fewer = NodeCount {
            min: tasks,
            max: Some(tasks),
        };
        o.nodelist.truncate(tasks as usize);
    }
    o.nodes = Some(fewer);
    if tasks < nodes.min {
        let message = format!(
            "Warning: can't run {tasks} processes on {} nodes, setting nnodes to {tasks}",
            nodes.min
        );
        let warning = Diagnostic::warning("fewer-nodes", Span::Whole, message);
        reading.diagnostics.push(warning);
    }
}

/// Slurm's own syntax speaks of minutes and rounds up; only a run file can ask for seconds.
fn whole_minutes(time: TimeLimitRequest) -> TimeLimitRequest {
    match time {
        TimeLimitRequest::Limit(Seconds(seconds)) => {
            TimeLimitRequest::Limit(Seconds(seconds.div_ceil(60).saturating_mul(60)))
        }
        TimeLimitRequest::Unlimited => TimeLimitRequest::Unlimited,
    }
}
