//! When a job that waits would start, or what would let it.

use super::lines::When;
use crate::words::length;
use api::{NotPlanned, WhyWaiting};
use model::{
    LimitedAmount, PartitionBound, PartitionSays, ReachedLimit, Seconds, TimeLimitRequest, counted,
};
use runs::hold_remedy;

/// When it starts by the scheduler's plan; where there is no time, what helps.
pub(super) fn starts(why: &WhyWaiting, when: When<'_>) -> String {
    match why.start {
        Some(start) if start > when.now => {
            let nodes = match &why.nodes[..] {
                [] => String::new(),
                nodes => format!(", on {}", model::node_list::fold(nodes)),
            };
            let next = why.throttle.and_then(|throttle| throttle.next);
            let next = next.map_or_else(String::new, |next| format!("element {next} next, "));
            format!(
                "{next}about {}, in {}{nodes}, if jobs run until their limits",
                when.clock(start),
                length(start.0 - when.now.0)
            )
        }
        Some(_) => "at the next pass of the scheduler".to_owned(),
        None => hold_remedy(&why.reason, why.job)
            .or_else(|| limit_remedy(why.limit.as_ref()?, why))
            .or_else(|| Some(partition_remedy(why.partition_bound.as_ref()?, why)))
            .unwrap_or_else(|| no_start(why, when)),
    }
}

/// What lets a job start against which its partition is, whatever else runs.
fn partition_remedy(bound: &PartitionBound, why: &WhyWaiting) -> String {
    let PartitionBound { partition, says } = bound;
    let job = why.job;
    let change = match says {
        PartitionSays::Closed => {
            return format!(
                "once {partition} is up: scontrol update PartitionName={partition} State=UP lets it start jobs"
            );
        }
        PartitionSays::Time { most } => time_limit(*most, why),
        PartitionSays::Nodes { least, most } => {
            format!("NumNodes={}", most.unwrap_or(*least).max(*least).max(1))
        }
        PartitionSays::Cpus { on_one, there, .. } => {
            let most = if *on_one {
                format!("--cpus-per-task={there} or less")
            } else {
                format!("{there} CPUs or fewer in all")
            };
            return format!("never as it is: cancel it, and submit it again with {most}");
        }
    };
    format!("not as it is: scontrol update JobId={job} {change} lets it take its turn")
}

/// What lets a job start that a limit on each job keeps, whatever else runs.
fn limit_remedy(limit: &ReachedLimit, why: &WhyWaiting) -> Option<String> {
    let job = why.job;
    let change = match &limit.on {
        _ if limit.is_shared() => return None,
        LimitedAmount::Time => time_limit(Seconds(limit.most), why),
        LimitedAmount::Tres(name) if name == "node" => format!("NumNodes={}", limit.most),
        _ => {
            return Some(
                "not as it is: cancel it, and submit it again within the limit".to_owned(),
            );
        }
    };
    Some(format!(
        "not as it is: scontrol update JobId={job} {change} lets it take its turn"
    ))
}

/// The time with which a job would start now, where it has been looked for: other limits than the one that is named may
/// want it shorter. Else the most that this one takes.
fn time_limit(most: Seconds, why: &WhyWaiting) -> String {
    let mut instead = why.instead.iter();
    match instead.find_map(|option| option.strip_prefix("--time=")) {
        Some(shorter) => format!("TimeLimit={shorter}"),
        None => format!("TimeLimit={}", TimeLimitRequest::Limit(most)),
    }
}

/// Why it is not known when a job starts, and what helps.
fn no_start(why: &WhyWaiting, when: When<'_>) -> String {
    let job = why.job;
    if !why.never_met.is_empty() {
        return format!("never: scancel {job} removes it");
    }
    if let Some(holder) = why.no_limit {
        return format!("not known: job {holder} has no time limit");
    }
    if let Some(holder) = why.holders.iter().find(|holder| holder.is_suspended) {
        let job = holder.job;
        return format!(
            "not known: job {job} is suspended: scontrol resume {job} lets it go on, scancel {job} ends it"
        );
    }
    if !why.cpus_held_elsewhere.is_empty() {
        return "not known: when jobs of another engine end".to_owned();
    }
    if let Some(nodes) = why.nodes_needed.filter(|nodes| nodes.least > nodes.there) {
        let (least, there) = (nodes.least, nodes.there);
        return format!("never as it is: of the {least} nodes that it needs there are {there}");
    }
    if !why.out_of_use.is_empty() {
        let nodes = why.out_of_use.iter().flat_map(|away| &away.nodes);
        let nodes = model::node_list::fold(nodes);
        return format!(
            "once nodes are back: scontrol update NodeName={nodes} State=RESUME lets them take jobs"
        );
    }
    match why.not_planned {
        Some(far) => not_planned(far, when),
        None => "not known: no end of a running job lets it start".to_owned(),
    }
}

/// How far the plan reaches.
fn not_planned(far: NotPlanned, when: When<'_>) -> String {
    let known = match far.not_before {
        Some(at) if at > when.now => format!("not known, not before {}", when.clock(at)),
        _ => "not known".to_owned(),
    };
    let why = match (far.ahead, far.tried) {
        (0, Some(tried)) => format!(
            "{} ahead of it still wait then, and backfill tries no more (bf_max_job_test)",
            counted(tried, "job")
        ),
        (0, None) => "what comes before it would take too long to work out".to_owned(),
        (ahead, _) => format!(
            "no start is planned yet of {} ahead of it",
            counted(ahead, "job")
        ),
    };
    format!("{known}: {why}")
}
