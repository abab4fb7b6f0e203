//! The order of `squeue`'s lines.

use crate::fields::StepInfo;
use crate::records::{ArrayTaskInfo, JobInfo};
use crate::values::{JobId, MemoryRequest, StepId, Timestamp};
use std::cmp::{Ordering, Reverse};

/// Partition, state, then the highest priority first.
const JOB_ORDER: &str = "P,t,-p";
/// Partition, then the step.
const STEP_ORDER: &str = "P,i";

/// Sorts jobs as `--sort` says; among equals the later start stands first, then the later job, and
/// elements of an array in their order.
pub(crate) fn sort_jobs(jobs: &mut [JobInfo], order: Option<&str>) {
    let mut keys = keys(order.unwrap_or(JOB_ORDER));
    keys.reverse();
    let among_equals = |a: &JobInfo, b: &JobInfo| {
        // By start or nodes alone Slurm leaves them in the order in which they came.
        if matches!(order, Some("S" | "N")) {
            return id(a).cmp(&id(b));
        }
        let key = |job: &JobInfo| {
            let start = job.start.map(Timestamp::seconds);
            // Components that run stand in their order.
            let (id, task) = match job.component().filter(|_| !job.is_pending()) {
                Some(place) => (place.leader.0, place.offset),
                None => id(job),
            };
            (start.is_none(), Reverse(start), Reverse(id), task)
        };
        key(a).cmp(&key(b))
    };
    // Their places are sorted: a job is large.
    let mut places: Vec<usize> = (0..jobs.len()).collect();
    places.sort_by(|a, b| {
        let (a, b) = (&jobs[*a], &jobs[*b]);
        let first = keys.iter().find_map(|(letter, reverse)| {
            let found = directed(compare_jobs(*letter, a, b), *reverse);
            found.is_ne().then_some(found)
        });
        first.unwrap_or_else(|| among_equals(a, b))
    });
    // Each cycle of places is gone through once, without a second list.
    for start in 0..places.len() {
        let mut at = start;
        while places[at] != start {
            let from = std::mem::replace(&mut places[at], at);
            jobs.swap(at, from);
            at = from;
        }
        places[at] = at;
    }
}

/// Sorts steps as `--sort` says.
pub(crate) fn sort_steps(steps: &mut [StepInfo], order: Option<&str>) {
    for (letter, reverse) in keys(order.unwrap_or(STEP_ORDER)) {
        steps.sort_by(|a, b| directed(compare_steps(letter, a, b), reverse));
    }
}

/// Letters with their direction, the least important first.
fn keys(order: &str) -> Vec<(char, bool)> {
    let letters: Vec<char> = order.chars().collect();
    (0..letters.len())
        .rev()
        .filter(|at| !matches!(letters[*at], ',' | '+' | '-'))
        .map(|at| (letters[at], at > 0 && letters[at - 1] == '-'))
        .collect()
}

fn directed(order: Ordering, reverse: bool) -> Ordering {
    if reverse { order.reverse() } else { order }
}

fn compare_jobs(letter: char, a: &JobInfo, b: &JobInfo) -> Ordering {
    match letter {
        'B' => a.nodes.first().cmp(&b.nodes.first()),
        'C' => a.cpus.cmp(&b.cpus),
        'D' => a.node_count.cmp(&b.node_count),
        'e' => a.end.cmp(&b.end),
        'g' => a.submitter.group.cmp(&b.submitter.group),
        'G' => a.submitter.gid.cmp(&b.submitter.gid),
        'i' => id(a).cmp(&id(b)),
        'j' => a.name().cmp(b.name()),
        'l' => limit(a).cmp(&limit(b)),
        'L' => limit(a)
            .saturating_sub(a.run_time)
            .cmp(&limit(b).saturating_sub(b.run_time)),
        'm' => memory(a).cmp(&memory(b)),
        'M' => a.run_time.cmp(&b.run_time),
        'N' => a.nodes.cmp(&b.nodes),
        'p' | 'Q' => a.priority.cmp(&b.priority),
        'P' => a.partition.cmp(&b.partition),
        'S' => (a.start.is_none(), a.start).cmp(&(b.start.is_none(), b.start)),
        't' => a.state.compact().cmp(b.state.compact()),
        'T' => a.state.long().cmp(b.state.long()),
        'u' => a.user().cmp(b.user()),
        'U' => a.uid().cmp(&b.uid()),
        'v' => a.reservation.cmp(&b.reservation),
        'V' => a.submitted.cmp(&b.submitted),
        // The other letters that Slurm takes sort by what all our jobs have alike.
        _ => Ordering::Equal,
    }
}

fn compare_steps(letter: char, a: &StepInfo, b: &StepInfo) -> Ordering {
    match letter {
        'i' => step_id(a).cmp(&step_id(b)),
        'N' => a.nodes_text().cmp(&b.nodes_text()),
        'P' => a.job.partition.cmp(&b.job.partition),
        'S' => a.step.since.cmp(&b.step.since),
        'M' => a.run_time().cmp(&b.run_time()),
        'u' => a.job.user().cmp(b.job.user()),
        'U' => a.job.uid().cmp(&b.job.uid()),
        _ => Ordering::Equal,
    }
}

/// The script of a job stands behind its other steps.
fn step_id(info: &StepInfo) -> (JobId, bool, StepId) {
    let step = info.step.step;
    (info.step.job, step == StepId::Batch, step)
}

/// An element by its array, then its index; those that wait together behind the others.
fn id(job: &JobInfo) -> (u32, u32) {
    match &job.array {
        None => (job.id, u32::MAX),
        Some(array) => match &array.task {
            ArrayTaskInfo::One(task) => (array.job, *task),
            ArrayTaskInfo::Waiting(_) => (array.job, u32::MAX),
        },
    }
}

fn limit(job: &JobInfo) -> i64 {
    job.limit
        .map_or(i64::MAX, |limit| i64::try_from(limit.0).unwrap_or(i64::MAX))
}

fn memory(job: &JobInfo) -> u64 {
    match job.memory {
        MemoryRequest::PerNode(mib) | MemoryRequest::PerCpu(mib) | MemoryRequest::PerGpu(mib) => {
            mib
        }
    }
}
