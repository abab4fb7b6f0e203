//! `sacct --json`: keys and types of Slurm's data parser v0.0.38, those of 22.05.

use super::node_json::meta;
use model::{
    ArrayTaskInfo, NodeShare, SacctRow, StartedBy, StepId, Timestamp, TresUsed, Usage, UsedByTask,
    WaitStatus, node_list,
};
use serde_json::{Value, json};

/// Jobs with their steps.
pub fn value(rows: &[SacctRow<'_>]) -> Value {
    let mut jobs: Vec<(u32, Value, Vec<Value>)> = Vec::new();
    for row in rows {
        let id = row.job().id;
        if row.step().is_none() {
            jobs.push((id, job(row), Vec::new()));
            continue;
        }
        // A step may be asked for without its job's line.
        if jobs.last().is_none_or(|(last, ..)| *last != id) {
            jobs.push((id, job(row), Vec::new()));
        }
        if let Some((_, _, steps)) = jobs.last_mut() {
            steps.push(step(row));
        }
    }
    let jobs = jobs.into_iter().map(|(_, mut job, steps)| {
        job["steps"] = Value::Array(steps);
        job
    });
    json!({ "meta": meta(), "errors": [], "jobs": jobs.collect::<Vec<_>>() })
}

fn job(row: &SacctRow<'_>) -> Value {
    let job = row.job();
    let text = |column: &str| row.value(column);
    let (task_id, tasks) = match job.array.as_ref().map(|array| &array.task) {
        Some(ArrayTaskInfo::One(task)) => (Some(*task), None),
        Some(ArrayTaskInfo::Waiting(_)) => (
            None,
            job.id_text(true).split_once('_').map(|it| it.1.to_owned()),
        ),
        None => (None, None),
    };
    // An element of its own says nothing of it there.
    let throttle = match &job.array {
        Some(array) if task_id.is_none() => array.throttle.unwrap_or(0),
        Some(_) | None => 0,
    };
    let seconds = |at: Option<Timestamp>| at.map_or(0, Timestamp::seconds);
    let (state, by) = match text("State").split_once(" by ") {
        Some((state, by)) => (state.to_owned(), by.parse::<u32>().ok().map(name_of)),
        None => (text("State"), None),
    };
    let started_by = row.started_by().map(StartedBy::json_flag);
    let flags = row.since().map(|_| "CLEAR_SCHEDULING").into_iter();
    let flags: Vec<&str> = flags.chain(started_by).collect();
    let mut time = times(row);
    time["eligible"] = json!(seconds(job.eligible));
    time["submission"] = json!(job.submitted.seconds());
    time["limit"] = json!(job.limit.map(|limit| limit.0.div_ceil(60)));
    json!({
        "account": text("Account"),
        "allocation_nodes": row.shares().len(),
        "array": {
            "job_id": job.array.as_ref().map_or(0, |array| array.job),
            "limits": { "max": { "running": {
                "tasks": throttle,
            } } },
            "task": tasks,
            "task_id": task_id,
        },
        "association": {
            "account": text("Account"),
            "cluster": job.cluster,
            "partition": null,
            "user": job.user(),
        },
        "cluster": job.cluster,
        "comment": {
            "administrator": row.admin_comment(),
            "job": row.comment(),
            "system": row.system_comment(),
        },
        "constraints": text("Constraints"),
        "container": null,
        "derived_exit_code": exit_code(row.derived_status()),
        "exit_code": exit_code(row.status()),
        "flags": flags,
        "group": job.submitter.group,
        "het": {
            "job_id": job.component().map_or(0, |place| place.leader.0),
            "job_offset": job.component().map(|place| place.offset),
        },
        "job_id": job.id,
        "kill_request_user": by,
        "mcs": { "label": "" },
        "name": row.job_name(),
        "nodes": text("NodeList"),
        "partition": row.partition(),
        "priority": text("Priority").parse::<u32>().ok(),
        "qos": row.qos(),
        "required": { "CPUs": job.cpus, "memory": memory(job.memory) },
        "reservation": { "id": 0, "name": job.counted_reservation.as_deref().map_or(json!(0), |name| json!(name)) },
        "state": { "current": state, "reason": text("Reason") },
        "time": time,
        "tres": { "allocated": tres(&text("AllocTRES")), "requested": tres(&text("ReqTRES")) },
        "user": job.user(),
        "wckey": wckey(&text("WCKey")),
        "working_directory": job.work_dir(),
    })
}

/// A star before it says that no user asked for it: `_dump_wckey_tag`.
fn wckey(text: &str) -> Value {
    match text.strip_prefix('*') {
        Some(name) => json!({ "wckey": name, "flags": ["ASSIGNED_DEFAULT"] }),
        None => json!({ "wckey": text, "flags": [] }),
    }
}

/// What Slurm names where a step asked for none.
const GOVERNORS: [&str; 5] = [
    "Conservative",
    "Performance",
    "PowerSave",
    "OnDemand",
    "UserSpace",
];

fn step(row: &SacctRow<'_>) -> Value {
    let record = row.step();
    let names: Vec<_> = row
        .shares()
        .iter()
        .map(|share| share.node.clone())
        .collect();
    let list: Vec<String> = names.iter().map(ToString::to_string).collect();
    let tasks: u32 = row
        .shares()
        .iter()
        .map(|share: &NodeShare| share.tasks)
        .sum();
    let id = match record.map(|step| step.step) {
        Some(StepId::Number(number)) => json!(number),
        Some(step @ StepId::Batch) => json!(step.to_string()),
        None => Value::Null,
    };
    let frequency = match record.map(|step| step.step) {
        Some(StepId::Number(_)) => json!({
            "requested_frequency": { "min": null, "max": null }, "governor": GOVERNORS,
        }),
        Some(StepId::Batch) | None => json!({
            "requested_frequency": { "min": 0, "max": 0 }, "governor": [],
        }),
    };
    let [read, written] = row.tres_used();
    let is_over = row.end().is_some();
    json!({
        "CPU": frequency,
        "exit_code": exit_code(row.status()),
        "kill_request_user": null,
        "nodes": { "count": list.len(), "range": node_list::fold(&names), "list": list },
        "pid": null,
        "state": row.value("State"),
        "statistics": { "CPU": { "actual_frequency": 0 }, "energy": { "consumed": 0 } },
        "step": {
            "job_id": row.job().id,
            "het": { "component": null },
            "id": id,
            "name": row.value("JobName"),
        },
        "task": { "distribution": row.value("Layout") },
        "tasks": { "count": tasks },
        "time": times(row),
        "tres": { "allocated": tres(&row.value("AllocTRES")), "consumed": used(&written, is_over), "requested": used(&read, is_over) },
    })
}

/// What the tasks of a step used: Slurm names what they wrote `consumed`, all else `requested`. Nothing of it is
/// known while it runs.
fn used(all: &[TresUsed], is_over: bool) -> Value {
    if !is_over {
        return json!({ "average": [], "max": [], "min": [], "total": [] });
    }
    let amounts = |of: fn(&TresUsed) -> u64| {
        let counted = all.iter().map(|it| (it.tres, json!({ "count": of(it) })));
        // The one row where nothing was measured.
        let energy = all.is_empty().then(|| ("energy", json!({ "count": 0 })));
        records(counted.chain(energy))
    };
    let by_task = |of: fn(&TresUsed) -> &UsedByTask| {
        let counted = all.iter().map(|it| {
            let UsedByTask { amount, task, node } = of(it);
            (
                it.tres,
                json!({ "count": amount, "task": task, "node": node }),
            )
        });
        records(counted)
    };
    json!({
        "average": amounts(|it| it.average),
        "max": by_task(|it| &it.most),
        "min": by_task(|it| &it.least),
        "total": amounts(|it| it.total),
    })
}

/// TRES with what is said of each, in the order of their numbers.
fn records<'a>(parts: impl Iterator<Item = (&'a str, Value)>) -> Value {
    let mut records: Vec<(u32, Value)> = parts
        .map(|(name, mut record)| {
            let (kind, own) = match name.split_once('/') {
                Some((kind, own)) => (kind, Some(own)),
                None => (name, None),
            };
            let id = tres_id(name);
            record["type"] = json!(kind);
            record["name"] = json!(own);
            record["id"] = json!(id);
            (id, record)
        })
        .collect();
    records.sort_by_key(|(id, _)| *id);
    records.into_iter().map(|(_, record)| record).collect()
}

/// What a job and a step have alike.
fn times(row: &SacctRow<'_>) -> Value {
    let seconds = |at: Option<Timestamp>| at.map_or(0, Timestamp::seconds);
    let usage = row.usage().unwrap_or_default();
    let cpu =
        |micros: u64| json!({ "seconds": micros / 1_000_000, "microseconds": micros % 1_000_000 });
    json!({
        "elapsed": row.elapsed(),
        "start": seconds(row.since()),
        "end": seconds(row.end()),
        "suspended": row.suspended(),
        "system": cpu(usage.system),
        "user": cpu(usage.user),
        "total": cpu(Usage::cpu(usage)),
    })
}

fn exit_code(status: WaitStatus) -> Value {
    let word = match (status.success(), status.signal_number()) {
        (true, _) => "SUCCESS",
        (false, 0) => "ERROR",
        (false, _) => "SIGNALED",
    };
    match status.signal_number() {
        0 => json!({ "status": word, "return_code": status.code() }),
        signal => json!({
            "status": word,
            "return_code": null,
            "signal": { "signal_id": signal, "name": model::signal_description(signal) },
        }),
    }
}

/// A user's name, or the number where there is none.
fn name_of(uid: u32) -> String {
    let entry = sys::users::user_by_id(uid).ok().flatten();
    entry.map_or_else(|| uid.to_string(), |entry| entry.name)
}

/// MiB of memory, or of a CPU, as `required.memory` has it.
fn memory(memory: model::MemoryRequest) -> u64 {
    match memory {
        model::MemoryRequest::PerNode(mib)
        | model::MemoryRequest::PerCpu(mib)
        | model::MemoryRequest::PerGpu(mib) => mib,
    }
}

/// `cpu=2,mem=4G,gres/gpu:v100=1` as records.
fn tres(text: &str) -> Value {
    let parts = text.split(',').filter_map(|part| part.split_once('='));
    records(parts.map(|(name, count)| {
        let count = match name {
            "mem" => model::parse_mebibytes(count),
            _ => count.parse().ok(),
        };
        (name, json!({ "count": count }))
    }))
}

/// The numbers that Slurm's accounting gives its own; those of others follow in order there, and are
/// told apart by their names here.
fn tres_id(name: &str) -> u32 {
    match name {
        "cpu" => 1,
        "mem" => 2,
        "energy" => 3,
        "node" => 4,
        "billing" => 5,
        "fs/disk" => 6,
        "vmem" => 7,
        "pages" => 8,
        "gres/gpu" => 1001,
        _ => 1002,
    }
}
