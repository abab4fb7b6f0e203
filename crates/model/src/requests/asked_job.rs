//! The checks and the arithmetic that Slurm's commands do with all options together, before they
//! send anything (`_opt_verify` of 22.05.8's `opt.c`).

use crate::options::diagnostic::{Diagnostic, Span, Voice, first_error};
use crate::options::given::{Given, Origin};
use crate::options::given_options::GivenOptions;
use crate::options::option_table::{Command, Key};
use crate::options::reading::Reading;
use crate::options::text_lengths;
use crate::options::{Show, value_check};
use crate::requests::job_description::JobDescription;
use crate::requests::{described_job, gres_check, node_files, refused_together};
use crate::values::{Constraint, GresList, Levels, NodeCount, SlurmVersion};
use std::sync::Arc;

/// Checks what only the options together can tell, settles nodes and tasks, and describes the job.
pub(crate) fn settle(reading: &mut Reading<'_>) -> JobDescription {
    text_lengths::check(reading);
    tasks_per_gpu(reading);
    reserved_cores(reading);
    power(reading);
    batch_features(reading);
    memory(reading);
    exclusions(reading);
    arbitrary_nodes(reading);
    let o = &reading.options;
    if o.quiet > 0 && o.verbose > 0 {
        error(
            reading,
            "don't specify both --verbose (-v) and --quiet (-Q)",
        );
    } else if o.burst_buffer && o.burst_buffer_file {
        error(reading, "Cannot specify both --burst-buffer and --bbf");
    }
    hint(reading);
    node_files::settle(reading);
    nodes_of_list(reading);
    plane(reading);
    tasks(reading);
    let o = &reading.options;
    let times = o.begin.zip(o.deadline);
    let late = times.is_some_and(|(begin, deadline)| deadline < begin);
    let arbitrary = is_arbitrary(o) && o.nodelist.is_empty();
    if late {
        error(
            reading,
            "Incompatible begin and deadline time specification",
        );
    }
    refused_together::check(reading);
    if let Some(Err(message)) = reading.options.propagate.clone() {
        let span = reading.last_of(&[Key::Propagate]);
        error_at(reading, span, &message);
    }
    if arbitrary {
        error(
            reading,
            "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option",
        );
    }
    let mut job = described_job::describe(&reading.options);
    // Another cluster's resources are not known to the command.
    let check = if is_step(reading) {
        gres_check::check_step
    } else {
        gres_check::check
    };
    if reading.options.clusters.is_none()
        && let Err(message) = check(&mut job, reading.surroundings.gres_types)
    {
        let span = unreadable_list(reading);
        error_at(reading, span, &message);
    }
    reading.options.tasks = job.tasks;
    gpus_twice(reading);
    job
}

/// Whether it is a step that is asked of a job, and no job.
fn is_step(reading: &Reading<'_>) -> bool {
    reading.command == Command::Srun && reading.options.job.is_some()
}

/// Where a list of generic resources is invalid; the whole where all of it is.
fn unreadable_list(reading: &Reading<'_>) -> Span {
    const OF_GPUS: [Key; 4] = [
        Key::Gpus,
        Key::GpusPerNode,
        Key::GpusPerSocket,
        Key::GpusPerTask,
    ];
    let unreadable = |given: &&Given| {
        let text = given.value.as_deref().unwrap_or_default();
        let list = match given.option.key {
            Some(Key::Gres) => GresList::of_gres(text),
            Some(key) if OF_GPUS.contains(&key) => Some(GresList::of_gpus(text)),
            _ => None,
        };
        list.is_some_and(|list| list.items().is_err())
    };
    let found = reading.given.iter().rev().find(unreadable);
    found.map_or(Span::Whole, |given| given.span.clone())
}

pub(crate) fn is_arbitrary(o: &GivenOptions) -> bool {
    let dealt = o.distribution.as_ref();
    dealt.is_some_and(|dealt| dealt.levels == Levels::Arbitrary)
}

fn error(reading: &mut Reading<'_>, message: &str) {
    error_at(reading, Span::Whole, message);
}

fn error_at(reading: &mut Reading<'_>, span: Span, message: &str) {
    let diagnostic = Diagnostic::error("conflict", span, message, 1);
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

/// What Slurm's commands of some versions refuse together.
fn exclusions(reading: &mut Reading<'_>) {
    let version = reading.surroundings.version;
    if version >= SlurmVersion::V23_02
        && reading.by_hand(Key::Exclusive)
        && reading.by_hand(Key::Oversubscribe)
    {
        fatal(
            reading,
            "--exclusive and --oversubscribe options are mutually exclusive",
        );
    }
    if version >= SlurmVersion::V23_11
        && reading.by_hand(Key::CpusPerTask)
        && reading.by_hand(Key::CpusPerGpu)
    {
        fatal(
            reading,
            "--cpus-per-task and --cpus-per-gpu are mutually exclusive",
        );
    }
}

/// Nodes that a list deals out can't be counted otherwise, says 23.11 (`slurm_opt.c`).
fn arbitrary_nodes(reading: &mut Reading<'_>) {
    let later = reading.surroundings.version >= SlurmVersion::V23_11;
    if later && reading.by_hand(Key::Nodes) && is_arbitrary(&reading.options) {
        error(
            reading,
            "--nodes is incompatible with --distribution=arbitrary",
        );
    }
}

/// `--ntasks-per-gpu` and its old name against each other and against other ways to count tasks.
fn tasks_per_gpu(reading: &mut Reading<'_>) {
    let (new, old) = (Key::TasksPerGpu, Key::TasksPerTres);
    if reading.origin(new).is_none() && reading.origin(old).is_none() {
        return;
    }
    let o = &mut reading.options;
    match (o.tasks_per_gpu, o.tasks_per_tres) {
        (Some(new), Some(old)) if new != old => {
            let origins = [Key::TasksPerGpu, Key::TasksPerTres].map(|key| reading.by_hand(key));
            match origins {
                [true, true] => fatal(
                    reading,
                    &format!(
                        "Inconsistent values set to --ntasks-per-gpu={new} and --ntasks-per-tres={old} "
                    ),
                ),
                [true, false] => reading.options.tasks_per_tres = None,
                [false, true] => reading.options.tasks_per_gpu = None,
                [false, false] => fatal(
                    reading,
                    &format!(
                        "Inconsistent values set by environment variables SLURM_NTASKS_PER_GPU={new} and SLURM_NTASKS_PER_TRES={old} "
                    ),
                ),
            }
        }
        _ => {}
    }
    for (key, long) in [
        (Key::GpusPerTask, "gpus-per-task"),
        (Key::GpusPerSocket, "gpus-per-socket"),
        (Key::TasksPerNode, "ntasks-per-node"),
    ] {
        let name = match reading.origin(key) {
            None => continue,
            Some(Origin::Environment) => {
                format!("SLURM_{}", long.to_ascii_uppercase().replace('-', "_"))
            }
            Some(Origin::Script | Origin::Arguments) => format!("--{long}"),
        };
        fatal(
            reading,
            &format!("{name} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"),
        );
    }
}

fn reserved_cores(reading: &mut Reading<'_>) {
    if reading.by_hand(Key::CoreSpec) && reading.by_hand(Key::ThreadSpec) {
        fatal(
            reading,
            "-S/--core-spec and --thred-spec options are mutually exclusive",
        );
    }
    let o = &reading.options;
    let which = match (o.core_spec, o.thread_spec) {
        _ if reading.surroundings.embedded => return,
        (_, Some(_)) => "--thread-spec",
        (Some(_), None) => "-S",
        (None, None) => return,
    };
    // What a cluster says that does not allow it, as most do not.
    let message = format!(
        "Ignoring {which} since it's not allowed by configuration (AllowSpecResourcesUsage = No)"
    );
    reading.diagnostics.push(Diagnostic {
        voice: Voice::Error,
        ..Diagnostic::warning("core-spec", Span::Whole, message)
    });
}

/// Other words of `--power` than its own are left out.
fn power(reading: &mut Reading<'_>) {
    let given = reading
        .given
        .iter()
        .filter(|given| given.option.long == "power");
    let unknown = given.flat_map(|given| {
        let words = described_job::power_flags(given.value.as_deref().unwrap_or_default()).unknown;
        words.into_iter().map(|word| Diagnostic {
            voice: Voice::Error,
            ..Diagnostic::warning(
                "power-flag",
                given.span.clone(),
                format!("Ignoring unrecognized power option ({word})"),
            )
        })
    });
    let unknown: Vec<Diagnostic> = unknown.collect();
    reading.diagnostics.extend(unknown);
}

/// Features of `--batch` are some of the job's.
fn batch_features(reading: &mut Reading<'_>) {
    let mut given = reading.given.iter().rev();
    let Some(given) = given.find(|given| given.option.long == "batch") else {
        return;
    };
    let asked = given.value.clone().unwrap_or_default();
    let of_job = reading
        .options
        .constraint
        .as_deref()
        .and_then(Constraint::parse);
    let names = of_job.as_ref().map(Constraint::names);
    let known = |name: &str| names.as_ref().is_some_and(|names| names.contains(&name));
    let words = asked.split(['&', '|']).filter(|word| !word.is_empty());
    if names.is_none() || !words.clone().all(known) {
        reading.refuse_whole_as_controller(
            "Job --batch option is invalid or not a subset of --constraints",
        );
    }
}

/// A hint and what it stands for take each other back.
fn hint(reading: &mut Reading<'_>) {
    const INSTEAD: [Key; 3] = [Key::TasksPerCore, Key::ThreadsPerCore, Key::ExtraNodeInfo];
    if reading.options.hint.is_none() {
        return;
    }
    if INSTEAD.iter().any(|key| reading.by_hand(*key)) {
        reading.options.hint = None;
        return;
    }
    let o = &mut reading.options;
    let text = o.hint.clone().unwrap_or_default();
    if let Err(word) = value_check::hint(&text) {
        let message = format!("unrecognized --hint argument \"{word}\", see --hint=help");
        return error(reading, &message);
    }
    if text
        .split(',')
        .any(|word| word.eq_ignore_ascii_case("help"))
    {
        if first_error(&reading.diagnostics).is_none() {
            reading.options.show = Some(Show::Hint);
        }
        return;
    }
    for word in text.split(',').map(str::to_ascii_lowercase) {
        let o = &mut reading.options;
        match word.as_str() {
            "compute_bound" => {
                (o.sockets_per_node, o.cores_per_socket) = (None, None);
                o.threads_per_core = Some(1);
            }
            "memory_bound" => {
                (o.cores_per_socket, o.threads_per_core) = (Some(1), Some(1));
            }
            "multithread" => o.threads_per_core = None,
            _ => o.threads_per_core = Some(1),
        }
    }
}

/// A list of nodes asks for all of them.
fn nodes_of_list(reading: &mut Reading<'_>) {
    if let Some(message) = reading.options.nodelist_wrong.take() {
        return error(reading, &message);
    }
    let listed = u32::try_from(reading.options.nodelist.len()).unwrap_or(u32::MAX);
    if listed == 0 {
        let o = &reading.options;
        if o.nodelist_names_none && is_step(reading) {
            return error(reading, "Hostlist is empty!  Can not run job.");
        }
        let o = &reading.options;
        // Of a held job it is not looked at.
        if o.nodelist_names_none && o.nodes.is_none() && !o.hold {
            reading.refuse_whole_as_controller("Node count specification invalid");
        }
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
            Arc::make_mut(&mut reading.options.nodelist).truncate(max as usize);
        }
        Some(max) if max < nodes.min => {
            let message = format!("invalid number of nodes (-N {}-{max})", nodes.min);
            error(reading, &message);
        }
        _ => reading.options.nodes = Some(nodes),
    }
}

/// Blocks of a plane that leave a node without a task: `srun` deals them out otherwise.
fn plane(reading: &mut Reading<'_>) {
    if reading.command == Command::Srun {
        return;
    }
    let o = &reading.options;
    let Some(Levels::Plane(size)) = o.distribution.as_ref().map(|dealt| &dealt.levels) else {
        return;
    };
    let nodes = o.nodes.map_or(1, |nodes| nodes.min);
    let tasks = o
        .tasks
        .unwrap_or_else(|| match (o.tasks_per_node, o.nodes) {
            (Some(each), _) => nodes.saturating_mul(each),
            (None, _) => 1,
        });
    if (nodes == 0 || tasks / size < nodes)
        && nodes.saturating_sub(1).saturating_mul(*size) >= tasks
    {
        error(
            reading,
            "Too few processes for the requested {plane,node} distribution",
        );
    }
}

/// `--gres` goes before `--gpus-per-node`, and Slurm says nothing.
fn gpus_twice(reading: &mut Reading<'_>) {
    let o = &reading.options;
    let gres = o.gres.clone().flatten().and_then(|gres| gres.gpus());
    let per_node = o.gpus_per_node.as_ref().and_then(GresList::gpus);
    if let (Some(gres), Some(per_node), true) = (gres, per_node, reading.surroundings.embedded)
        && gres != per_node
    {
        let message = format!(
            "--gpus-per-node={per_node} and --gres=gpu:{gres} ask for GPUs twice: Slurm takes --gres; leave one out"
        );
        let warning = Diagnostic::warning("gpus-twice", Span::Whole, message);
        reading.diagnostics.push(warning);
    }
}

/// Settles tasks against nodes.
fn tasks(reading: &mut Reading<'_>) {
    let o = &mut reading.options;
    let nodes = o.nodes.unwrap_or(NodeCount { min: 1, max: None });
    let fixed = nodes.max.is_none_or(|max| max == nodes.min);
    if let (None, Some(per_node), true) = (o.tasks, o.tasks_per_node, fixed) {
        o.tasks = Some(nodes.min.saturating_mul(per_node));
    }
    let arbitrary = is_arbitrary(o);
    if (o.nodes.is_some() || o.extra_node_info) && fixed && o.tasks.is_none() {
        let places = [o.sockets_per_node, o.cores_per_socket, o.threads_per_core];
        let known = places.iter().flatten();
        if known.clone().next().is_some() {
            let each = known.fold(1_u32, |product, count| product.saturating_mul(*count));
            o.tasks = Some(nodes.min.max(1).saturating_mul(each));
        }
    } else if let (Some(nodes), Some(tasks), true) = (o.nodes, o.tasks, o.task_nodes.is_empty()) {
        fewer_nodes(reading, nodes, tasks);
    }
    let o = &mut reading.options;
    if arbitrary && !o.task_nodes.is_empty() {
        let listed = u32::try_from(o.task_nodes.len()).unwrap_or(u32::MAX);
        o.tasks.get_or_insert(listed);
    }
}

/// A node without a task is left out.
fn fewer_nodes(reading: &mut Reading<'_>, nodes: NodeCount, tasks: u32) {
    let o = &mut reading.options;
    if tasks >= nodes.min {
        o.nodes = Some(NodeCount {
            min: nodes.min,
            max: nodes.max.map(|max| max.min(tasks)),
        });
        return;
    }
    o.nodes = Some(NodeCount {
        min: tasks,
        max: Some(tasks),
    });
    Arc::make_mut(&mut o.nodelist).truncate(tasks as usize);
    let message = format!(
        "Warning: can't run {tasks} processes on {} nodes, setting nnodes to {tasks}",
        nodes.min
    );
    let warning = Diagnostic::warning("fewer-nodes", Span::Whole, message);
    reading.diagnostics.push(warning);
}
