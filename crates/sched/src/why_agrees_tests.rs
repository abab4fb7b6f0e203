//! What `why` says of a job agrees with what then happens: each request that it offers starts in the job's
//! place, and the job starts when that was said, where running jobs last until their limits and no others come.

use crate::expected_ends::expected_end;
use crate::preempt::rules;
use crate::why::share_nodes;
use crate::{Action, Event, Job, State};
use model::{
    GresList, JobId, JobState, MemoryRequest, Outcome, PendingReason, Request, TimeLimitRequest,
    Timestamp, parse_mebibytes,
};
use std::sync::Arc;

/// So often is looked how a state goes on.
const LOOKS: usize = 200;

pub(super) fn check_why(state: &State, id: JobId, now: Timestamp) {
    let record = state.job(id).unwrap();
    let JobState::Pending { reason } = &record.state else {
        assert_eq!(state.why(id, now), None, "why: it does not wait");
        return;
    };
    let why = state.why(id, now).unwrap();
    assert_eq!(why.reason, *reason, "why: another reason");
    for option in &why.instead {
        assert!(
            starts_with(state, record, option, now),
            "why: {id} does not start with {option}"
        );
    }
    let Some(start) = &why.start else {
        return;
    };
    let comes = starts_at(state, record, now);
    if state.planned(id).is_none() {
        assert!(
            comes.is_none() || comes == Some(start.at),
            "why: {id} starts at {comes:?}, not at {start:?}"
        );
    } else if has_exact_promise(state, record) {
        assert!(
            comes.is_none_or(|at| at <= start.at && (at > now) == (start.at > now)),
            "why: {id} starts at {comes:?}, and {start:?} is promised"
        );
    }
}

/// Whether nothing but jobs ahead decides when one starts, and there are none.
fn has_exact_promise(state: &State, record: &Job) -> bool {
    let is_first = state.first.contains(&record.id) && record.array.is_none();
    let is_plain = !state.cluster.priority().is_multifactor
        && !rules::is_on(&state.cluster)
        && state.reservations().next().is_none()
        && state.live().all(|job| job.request.rare.component.is_none());
    let one_partition = state.jobs[&record.id].derived.choices.len() == 1;
    let waits_for_room = |job: &Job| matches!(&job.state, JobState::Pending { reason } if *reason == PendingReason::Resources);
    is_first && is_plain && one_partition && state.first.len() == 1 && waits_for_room(record)
}

/// Whether a job starts that asks for that besides instead of one.
fn starts_with(state: &State, record: &Job, options: &str, now: Timestamp) -> bool {
    let mut other = state.clone();
    let id = other.new_id();
    other.apply(Event::CancelledWaiting {
        job: record.id,
        by: 0,
        at: now,
    });
    other.apply(Event::Submitted {
        record: Box::new(Job {
            id,
            array: None,
            request: Arc::new(asking_for(&record.request, options)),
            ..record.clone()
        }),
        array: None,
        history: Vec::new(),
        at: now,
    });
    let actions = other.schedule(now).into_iter();
    let mut starts = actions.filter(|action| matches!(action, Action::Start { .. }));
    starts.any(|action| matches!(action, Action::Start { job, .. } if job == id))
}

/// A request with other options.
fn asking_for(request: &Request, options: &str) -> Request {
    let mut request = request.clone();
    if options == "no --nodelist" {
        request.rare.nodelist = Arc::default();
        return request;
    }
    if options == "no --exclusive" {
        share_nodes(&mut request);
        return request;
    }
    for option in options.split(' ') {
        let (name, value) = option.split_once('=').unwrap();
        let gpus = || GresList::of_gpus(value);
        let number = || value.parse::<u32>().unwrap();
        let memory = || parse_mebibytes(value).unwrap();
        match name {
            "--gpus" => {
                request.gpus = gpus().gpus();
                request.rare.asked.per_job = gpus();
            }
            "--gpus-per-node" => {
                request.gpus_per_node = gpus().gpus();
                request.rare.asked.per_node = gpus();
            }
            "--gpus-per-socket" => request.rare.asked.per_socket = gpus(),
            "--gpus-per-task" => {
                request.rare.gpus_per_task = gpus().gpus();
                request.rare.asked.per_task = gpus();
            }
            "--nodes" => {
                request.min_nodes = Some(number());
                request.max_nodes = request.max_nodes.map(|_| number());
            }
            "--ntasks" => request.tasks = Some(number()),
            "--cpus-per-task" => request.cpus_per_task = Some(number()),
            "--mem" => request.memory = Some(MemoryRequest::PerNode(memory())),
            "--mem-per-cpu" => request.memory = Some(MemoryRequest::PerCpu(memory())),
            "--mem-per-gpu" => request.memory = Some(MemoryRequest::PerGpu(memory())),
            "--time" => request.time = Some(TimeLimitRequest::parse(value).unwrap()),
            other => panic!("why: {other} is offered"),
        }
    }
    request
}

/// When a job, or an element of its row, starts if running jobs last until their limits; none where nothing
/// lets it start, or only after long.
fn starts_at(state: &State, record: &Job, now: Timestamp) -> Option<Timestamp> {
    let array_of = |record: &Job| record.array.as_ref().map(|place| place.array_job);
    let mut later = state.clone();
    later.priorities.fix();
    let mut at = now;
    for _ in 0..LOOKS {
        for action in later.schedule(at) {
            let Action::Start { job, .. } = action else {
                continue;
            };
            let is_element =
                record.array.is_some() && later.job(job).and_then(array_of) == array_of(record);
            if job == record.id || is_element {
                return Some(at);
            }
        }
        let end = |job: &Job| Some((expected_end(&job.state, now)?, job.id));
        let ends: Vec<(Timestamp, JobId)> = later.running().filter_map(end).collect();
        let next_end = ends.iter().map(|(end, _)| *end).min();
        at = at.max(next_end.into_iter().chain(later.next_due()).min()?);
        for (_, job) in ends.into_iter().filter(|(end, _)| *end <= at) {
            let outcome = Outcome::Completed;
            later.apply(Event::Gone { job, outcome, at });
        }
    }
    None
}
