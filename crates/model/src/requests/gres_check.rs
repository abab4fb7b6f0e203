//! Generic resources against tasks, nodes and CPUs: what Slurm's commands check and work out
//! before they send a job (`gres_job_state_validate` of 22.05.8's `gres.c`).

use crate::options::GresTypes;
use crate::requests::job_description::{GresTotal, JobDescription};
use crate::values::{GresList, MemoryRequest};

/// The last line of what is said.
const INVALID: &str = "Invalid generic resource (gres) specification";

/// Checks a job's generic resources and settles what follows from them. `types` are the resources
/// that the cluster has. The error is what Slurm says, with several lines.
pub fn check(job: &mut JobDescription, types: GresTypes<'_>) -> Result<(), String> {
    let mut totals = count(job, types)?;
    for total in &mut totals {
        against_others(job, total)?;
    }
    job.gres_totals = merged(totals)?;
    Ok(())
}

/// Checks the generic resources that a step asks of its job: how many of them there are is looked at where the
/// job is known (`gres_step_state_validate`).
pub fn check_step(step: &mut JobDescription, types: GresTypes<'_>) -> Result<(), String> {
    step.gres_totals = merged(count(step, types)?)?;
    Ok(())
}

/// What is asked of each resource, and the tasks that follow.
fn count(job: &mut JobDescription, types: GresTypes<'_>) -> Result<Vec<GresTotal>, String> {
    let memory_per_gpu = match job.memory {
        Some(MemoryRequest::PerGpu(mib)) => Some(mib),
        _ => None,
    };
    let lists = [
        &job.gres_per_job,
        &job.gres_per_node,
        &job.gres_per_socket,
        &job.gres_per_task,
    ];
    let asked = lists.iter().any(|list| !list.is_empty());
    if !asked
        && job.cpus_per_gpu.is_none()
        && memory_per_gpu.is_none()
        && job.tasks_per_gpu.is_none()
    {
        return Ok(Vec::new());
    }
    implied_tasks(job);
    let mut totals: Vec<GresTotal> = Vec::new();
    let counted = count_lists(job, &mut totals, types);
    let asked_gpus = totals.iter().any(|total| {
        let asked = total.per_job | total.per_node | total.per_socket | total.per_task;
        total.name == "gpu" && asked > 0
    });
    // None is no request.
    if let Some(mib) = memory_per_gpu.filter(|mib| *mib > 0) {
        let gpu = GresList::of_gpus("1");
        each(&mut totals, &gpu, types, |total, _| total.memory_each = mib)?;
    }
    for total in &mut totals {
        total.tasks_each = job.tasks_per_gpu;
    }
    // A list that is none is told of last.
    tasks_of_gpus(job, &mut totals, asked_gpus)?;
    counted?;
    if totals.is_empty() {
        return Ok(totals);
    }
    if let Some(mib) = memory_per_gpu.filter(|_| !asked_gpus && job.tasks_per_gpu.is_none()) {
        return Err(said(&format!(
            "Requested mem_per_tres=gres:gpu:{mib} but did not request any GPU."
        )));
    }
    Ok(totals)
}

/// Counts what each list asks for.
fn count_lists(
    job: &JobDescription,
    totals: &mut Vec<GresTotal>,
    types: GresTypes<'_>,
) -> Result<(), String> {
    let gpu = GresList::of_gpus("1");
    if let Some(cpus) = job.cpus_per_gpu {
        each(totals, &gpu, types, |total, _| {
            total.cpus_each = u64::from(cpus)
        })?;
    }
    let count = |number: Option<u32>| number.map_or(1, u64::from);
    let nodes = count(job.min_nodes);
    each(totals, &job.gres_per_job, types, |total, count| {
        total.per_job = count;
        total.total = total.total.max(count);
    })?;
    each(totals, &job.gres_per_node, types, |total, count| {
        total.per_node = count;
        total.total = total.total.max(count.saturating_mul(nodes));
    })?;
    let sockets = match (
        job.min_nodes,
        job.sockets_per_node,
        job.tasks,
        job.tasks_per_socket,
    ) {
        (Some(nodes), Some(sockets), ..) => u64::from(nodes) * u64::from(sockets),
        (_, _, Some(tasks), Some(each)) => u64::from(tasks.div_ceil(each.max(1))),
        _ => 1,
    };
    each(totals, &job.gres_per_socket, types, |total, count| {
        total.per_socket = count;
        total.total = total.total.max(count.saturating_mul(sockets));
    })?;
    let tasks = count(job.tasks);
    each(totals, &job.gres_per_task, types, |total, count| {
        total.per_task = count;
        total.total = total.total.max(count.saturating_mul(tasks));
    })?;
    Ok(())
}

/// Tasks that follow from a fixed number of nodes, where resources are counted by task.
fn implied_tasks(job: &mut JobDescription) {
    let by_task = !job.gres_per_task.is_empty() || job.tasks_per_gpu.is_some();
    let (Some(nodes), None, true) = (job.min_nodes, job.tasks, by_task) else {
        return;
    };
    if job.max_nodes != Some(nodes) {
        return;
    }
    job.tasks = match (job.tasks_per_gpu, job.tasks_per_node, job.cpus_per_task) {
        (Some(each), ..) | (None, Some(each), _) => Some(nodes.saturating_mul(each)),
        (None, None, None) => Some(nodes),
        (None, None, Some(_)) => None,
    };
}

/// Calls `set` with the entry and count of each item of a list.
fn each(
    totals: &mut Vec<GresTotal>,
    list: &GresList,
    types: GresTypes<'_>,
    set: impl Fn(&mut GresTotal, u64),
) -> Result<(), String> {
    for item in list.items().map_err(|_| INVALID.to_owned())? {
        if !types.may_have(&item.name) {
            return Err(INVALID.to_owned());
        }
        let same = |total: &GresTotal| total.name == item.name && total.kind == item.kind;
        let index = totals.iter().position(same).unwrap_or_else(|| {
            totals.push(GresTotal {
                name: item.name.clone(),
                kind: item.kind.clone(),
                ..GresTotal::default()
            });
            totals.len() - 1
        });
        set(&mut totals[index], item.count);
    }
    Ok(())
}

/// `--ntasks-per-gpu` makes tasks of GPUs, or GPUs of tasks.
fn tasks_of_gpus(
    job: &mut JobDescription,
    totals: &mut Vec<GresTotal>,
    asked_gpus: bool,
) -> Result<(), String> {
    let Some(per_gpu) = job.tasks_per_gpu else {
        return Ok(());
    };
    if asked_gpus {
        let gpus: u64 = totals
            .iter()
            .filter(|total| total.name == "gpu")
            .fold(0, |gpus, total| u64::saturating_add(gpus, total.total));
        job.tasks =
            Some(u32::try_from(gpus.saturating_mul(u64::from(per_gpu))).unwrap_or(u32::MAX));
        return Ok(());
    }
    let Some(tasks) = job.tasks.filter(|tasks| *tasks > 0) else {
        return Err(said(
            "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask specification",
        ));
    };
    let gpus = GresList::of_gpus(&(tasks / per_gpu).to_string());
    each(totals, &gpus, GresTypes::Unknown, |total, count| {
        total.per_job = count;
        total.total = total.total.max(count);
        total.tasks_each = Some(per_gpu);
    })
}

/// Checks one resource's numbers against each other and the job's, and settles what follows.
fn against_others(job: &mut JobDescription, total: &mut GresTotal) -> Result<(), String> {
    let name = total.name.clone();
    let fail = |text: String| Err(said(&text));
    let GresTotal {
        per_job,
        per_node,
        per_socket,
        per_task,
        cpus_each,
        ..
    } = *total;
    if per_job > 0 && (per_node > per_job || per_task > per_job || per_socket > per_job) {
        return fail(format!(
            "Failed to ensure --{name}s >= --gres={name}/--{name}s-per-node >= --{name}s-per-socket"
        ));
    }
    if per_node > 0 && (per_task > per_node || per_socket > per_node) {
        return fail(format!("Failed to ensure --{name}s >= --{name}s-per-task"));
    }
    if per_socket > 0 && job.sockets_per_node.is_none() {
        return fail(format!(
            "--{name}s-per-socket option requires --sockets-per-node specification"
        ));
    }
    if cpus_each > 0 && job.cpus_per_task.is_some() {
        return fail(format!(
            "--cpus-per-{name} is mutually exclusive with --cpus-per-task"
        ));
    }
    if per_job > 0 && per_node > 0 {
        if per_job % per_node != 0 {
            return fail(format!(
                "Failed to validate job spec, --{name}s is not multiple of --gres={name}/--{name}s-per-node"
            ));
        }
        let nodes = u32::try_from(per_job / per_node).unwrap_or(u32::MAX);
        // Slurm prints what was not asked for as the greatest numbers that it has.
        let most = job.max_nodes.unwrap_or(u32::MAX - 1);
        if job.min_nodes.is_some_and(|least| nodes < least) || nodes > most {
            let least = job.min_nodes.unwrap_or(u32::MAX - 1);
            return fail(format!(
                "Failed to validate job spec. Based on --{name} and --gres={name}/--{name}s-per-node required nodes ({nodes}) doesn't fall between min_nodes ({least}) and max_nodes ({most}) boundaries."
            ));
        }
        (job.min_nodes, job.max_nodes) = (Some(nodes), Some(nodes));
    }
    if per_node > 0 && per_socket > 0 {
        if per_node % per_socket != 0 {
            return fail(format!(
                "Failed to validate job spec, --gres={name}/--{name}s-per-node not multiple of --{name}s-per-socket."
            ));
        }
        if job.sockets_per_node.map(u64::from) != Some(per_node / per_socket) {
            return fail(format!(
                "Failed to validate job spec. Based on --gres={name}/--{name}s-per-node and --{name}s-per-socket required number of sockets differ from --sockets-per-node."
            ));
        }
    }
    if let (Some(each), Some(tasks)) = (total.tasks_each, job.tasks)
        && tasks % each != 0
    {
        return fail(format!(
            "Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-{name}."
        ));
    }
    tasks_of_resource(job, total, &name)?;
    if cpus_each > 0 && per_task > 0 {
        job.cpus_per_task = u32::try_from(cpus_each.saturating_mul(per_task)).ok();
    }
    if total.per_job > 0 {
        let in_all = u32::try_from(total.per_job).unwrap_or(u32::MAX);
        if job.min_nodes.is_some_and(|nodes| in_all < nodes) {
            return fail(format!("Failed to validate job spec, --{name}s < -N"));
        }
        job.max_nodes = job.max_nodes.map(|most| most.min(in_all));
    }
    Ok(())
}

/// Tasks against what each task gets.
fn tasks_of_resource(
    job: &mut JobDescription,
    total: &mut GresTotal,
    name: &str,
) -> Result<(), String> {
    let fail = |text: String| Err(said(&text));
    let GresTotal {
        per_job,
        per_node,
        per_socket,
        per_task,
        ..
    } = *total;
    if per_task == 0 {
        return Ok(());
    }
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    if per_job > 0 {
        if per_job % per_task != 0 {
            return fail(format!(
                "Failed to validate job spec, --{name}s not multiple of --{name}s-per-task"
            ));
        }
        let tasks = small(per_job / per_task);
        if *job.tasks.get_or_insert(tasks) != tasks {
            return fail(format!(
                "Failed to validate job spec. Based on --{name}s and --{name}s-per-task number of requested tasks differ from -n/--ntasks."
            ));
        }
    } else if let Some(tasks) = job.tasks {
        total.per_job = u64::from(tasks).saturating_mul(per_task);
    } else {
        return fail(format!(
            "Failed to validate job spec. --{name}s-per-task used without either --{name}s or -n/--ntasks is not allowed."
        ));
    }
    for (per_place, place, asked, options) in [
        (
            per_node,
            "node",
            &mut job.tasks_per_node,
            format!("--gres={name}/--{name}s-per-node"),
        ),
        (
            per_socket,
            "socket",
            &mut job.tasks_per_socket,
            format!("--{name}s-per-socket"),
        ),
    ] {
        if per_place == 0 {
            continue;
        }
        if per_place % per_task != 0 {
            return fail(format!(
                "Failed to validate job spec, {options} not multiple of --{name}s-per-task."
            ));
        }
        let tasks = small(per_place / per_task);
        if *asked.get_or_insert(tasks) != tasks {
            let plural = if place == "node" {
                "tasks per node"
            } else {
                "tasks per sockets"
            };
            return fail(format!(
                "Failed to validate job spec. Based on {options} and --{name}s-per-task requested number of {plural} differ from --ntasks-per-{place}."
            ));
        }
    }
    Ok(())
}

/// What was asked for without a type goes over to what has one, where it is no number of its own.
fn merged(mut totals: Vec<GresTotal>) -> Result<Vec<GresTotal>, String> {
    let untyped: Vec<GresTotal> = totals
        .iter()
        .filter(|total| total.kind.is_none())
        .cloned()
        .collect();
    for generic in untyped {
        let typed = |total: &&mut GresTotal| total.name == generic.name && total.kind.is_some();
        if !totals.iter_mut().any(|total| typed(&&mut *total)) {
            continue;
        }
        let counts = generic.per_job | generic.per_node | generic.per_socket | generic.per_task;
        if counts > 0 {
            return Err(
                "Invalid GRES specification (with and without type identification)".to_owned(),
            );
        }
        for total in totals.iter_mut().filter(typed) {
            if total.cpus_each == 0 {
                total.cpus_each = generic.cpus_each;
            }
            if total.memory_each == 0 {
                total.memory_each = generic.memory_each;
            }
        }
        totals.retain(|total| total.name != generic.name || total.kind.is_some());
    }
    Ok(totals)
}

fn said(text: &str) -> String {
    format!("{text}\n{INVALID}")
}
