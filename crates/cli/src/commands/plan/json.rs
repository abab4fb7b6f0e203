//! `yard plan --json`: all that the text says, and the values as they are.

use cluster_file::ClusterFile;

use model::{ClusterFacts, TimeLimitRequest};
use serde_json::{Value, json};
use sys::users::this_user;
use train::site::{Allocation, Beside, InQueue, JobFate, Objection, ScriptPlan, SitePlan};
use train::{EnvChange, Plan, Resolved, Row};

/// A run on a cluster that is known by its file.
pub fn of_run(site: &SitePlan, file: &ClusterFile, script: &str, beside: Option<&Beside>) -> Value {
    let left = |value: &Option<Resolved<String>>| {
        let value = value.as_ref();
        value.map(|value| json!({ "value": value.value, "why": value.source.to_string() }))
    };
    let mut all = json!({
        "plan": site.plan,
        "first_task": first_task(&site.plan),
        "cluster": site.facts,
        "values": rows(&site.rows()),
        "allocation": allocation(&site.allocation(file, Some(this_user()))),
        "left_to_slurm": {
            "partition": left(&site.left.partition),
            "account": left(&site.left.account),
            "qos": left(&site.left.qos),
            "memory": site.left.memory,
            "gpu_model": site.left.gpu_model,
        },
        "refusals": refusals(&site.refusals),
        "refused": site.is_refused(),
        "in_queue": in_queue(&site.in_queue),
        "assumed": assumed(&site.assumed),
        "notes": site.notes(),
        "script": script,
    });
    if let Some(beside) = beside {
        all["beside"] = of_beside(beside);
    }
    all
}

/// A run on the engine here.
pub fn of_run_here(
    plan: &Plan,
    facts: &ClusterFacts,
    refused: &[Objection],
    script: &str,
    start: Option<&Row>,
) -> Value {
    let all: Vec<Row> = plan.rows(facts).into_iter().chain(start.cloned()).collect();
    json!({
        "plan": plan,
        "first_task": first_task(plan),
        "cluster": facts,
        "values": rows(&all),
        "refusals": refusals(refused),
        "refused": !refused.is_empty(),
        "notes": plan.notes,
        "script": script,
    })
}

/// What wraps the first task, its environment, and its command; variables that are `null` are removed.
fn first_task(plan: &Plan) -> Option<Value> {
    let task = train::first_task(plan).ok()?;
    let environment = task.env.iter().map(|(name, change)| {
        let value = match change {
            EnvChange::Set(value) | EnvChange::Default(value) => json!(value),
            EnvChange::Remove => Value::Null,
        };
        (name.clone(), value)
    });
    Some(json!({
        "head": task.head.as_ref().map(|head| &head.argv),
        "container": task.container,
        "environment": environment.collect::<serde_json::Map<String, Value>>(),
        "argv": task.argv,
    }))
}

/// A batch script.
pub fn of_script(plan: &ScriptPlan, script: &str) -> Value {
    json!({
        "name": plan.name,
        "cluster": plan.cluster,
        "values": rows(&plan.rows),
        "allocation": allocation(&plan.allocation),
        "refusals": refusals(&plan.refusals),
        "refused": plan.is_refused(),
        "failing": plan.failing.iter().map(failing).collect::<Vec<Value>>(),
        "in_queue": in_queue(&plan.in_queue),
        "assumed": assumed(&plan.assumed),
        "notes": plan.notes(),
        "script": script,
    })
}

fn rows(rows: &[Row]) -> Vec<Value> {
    let rows = rows.iter();
    rows.map(|row| json!({ "name": row.name, "value": row.value, "why": row.why }))
        .collect()
}

/// Memory in MiB, 0 is all of a node's; the time in seconds, or `"unlimited"`.
fn allocation(of: &Allocation) -> Value {
    let time = of.time.map(|time| match time {
        TimeLimitRequest::Limit(limit) => json!(limit.0),
        TimeLimitRequest::Unlimited => json!("unlimited"),
    });
    json!({
        "nodes": of.nodes,
        "most_nodes": of.most_nodes,
        "tasks": of.tasks,
        "cpus_per_node": of.cpus_per_node,
        "gpus_per_node": of.gpus_per_node,
        "gpu_type": of.gpu_type,
        "memory_per_node_mib": of.memory,
        "time_s": time,
        "partition": of.partition,
        "constraint": of.constraint,
        "exclusive": of.exclusive,
    })
}

fn in_queue(of: &InQueue) -> Value {
    let limit = of.limit.as_ref();
    json!({
        "jobs": of.jobs,
        "why": of.why,
        "is_array": of.is_array,
        "limit": limit.map(|(jobs, key)| json!({ "jobs": jobs, "key": key })),
        "over": of.is_over(),
    })
}

fn assumed(assumed: &[(String, String)]) -> Vec<Value> {
    let assumed = assumed.iter();
    assumed
        .map(|(key, why)| json!({ "key": key, "why": why }))
        .collect()
}

fn refusals(refusals: &[Objection]) -> Vec<Value> {
    let one = |refusal: &Objection| {
        json!({
            "what": match &refusal.fate {
                JobFate::Refused => refusal.denial.words(),
                JobFate::Waits(reason) | JobFate::WaitsOnceReleased(reason) => reason,
                JobFate::Cut => "ended at the limit",
            },
            "waits": matches!(
                refusal.fate,
                JobFate::Waits(_) | JobFate::WaitsOnceReleased(_)
            ),
            "asked": refusal.asked,
            "there": refusal.there,
            "do": refusal.todo,
            "at": refusal.at,
            "assumed": refusal.assumed,
        })
    };
    refusals.iter().map(one).collect()
}

fn failing([asked, there, todo]: &[String; 3]) -> Value {
    json!({ "asked": asked, "there": there, "do": todo })
}

fn of_beside(beside: &Beside) -> Value {
    let differences: Vec<Value> = beside
        .differences
        .iter()
        .map(|(one, why)| {
            json!({ "what": one.field, "script": one.first, "run": one.other, "why": why })
        })
        .collect();
    let changes: Vec<Value> = beside
        .changes
        .iter()
        .map(|one| json!({ "option": one.option, "now": one.now, "why": one.why }))
        .collect();
    json!({ "differences": differences, "changes": changes })
}
