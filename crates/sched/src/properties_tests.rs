//! What holds after each pass, whatever happened; each is asked of the state by itself, without what
//! the scheduler counts along.

use super::World;
use crate::{Action, Event, Job, State, fault};
use model::{JobId, JobState, NodeMark, PendingReason, Request, Sharing, Timestamp};
use resources::NodeId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn nodes_of(state: &State, record: &Job) -> BTreeSet<NodeId> {
    let JobState::Running { allocation, .. } = &record.state else {
        return BTreeSet::new();
    };
    let shares = allocation.nodes.iter();
    shares
        .filter_map(|share| state.cluster().node(&share.node))
        .collect()
}

pub(super) fn rows<'a>(state: &'a State, ids: &'a [JobId]) -> impl Iterator<Item = &'a Job> {
    let rows = ids.iter().filter_map(|id| state.job(*id));
    rows.filter(|record| matches!(record.state, JobState::Running { .. }))
}

/// In which order equal jobs go.
fn turn(state: &State, record: &Job, priority: u32) -> (Reverse<u32>, Timestamp, JobId) {
    let is_weighted = state.cluster().priority().is_multifactor;
    let submitted = if is_weighted || record.rare.priority_set.is_some() {
        record.submitted
    } else {
        Timestamp(0)
    };
    (Reverse(priority), submitted, record.submitted_as())
}

/// No job started while an equal one of the same user waits that comes before it; but where a limit kept
/// that one from the nodes that were free before others started.
pub(super) fn check_order(before: &State, state: &State, started: &[JobId], now: Timestamp) {
    for own in rows(state, started) {
        for other in state.jobs.values() {
            let is_equal = other.record.request == own.request
                && other.record.rare.reservation == own.rare.reservation
                && other.record.rare.priority_set == own.rare.priority_set
                && other.record.submitter.uid == own.submitter.uid
                && other.record.submitted_as() != own.submitted_as();
            let may_start = other.is_ready() && !state.limited.contains(&other.record.id);
            if !is_equal || !may_start || other.component().is_some() {
                continue;
            }
            let partition = own.partition.as_deref().unwrap_or_default();
            let partition = state.cluster().find_partition(partition);
            let choice = partition.and_then(|partition| other.choice(partition));
            if let Some(choice) = choice {
                assert!(
                    turn(state, own, own.priority) < turn(state, &other.record, choice.priority)
                        || is_limited_without(before, own, other.record.id, now),
                    "order: {:?} started before {:?}",
                    own.id,
                    other.record.id
                );
            }
        }
    }
}

/// Without backfill no job starts on nodes of a partition whose first job waits for room, if it comes
/// after that one. Of one pass alone: the next one may find too little room for a job that a limit
/// alone kept waiting. Jobs that start together are tried where the first of them stands, in whichever
/// partition, so that all of them have to come after it.
pub(super) fn check_tiers(before: &State, now: Timestamp) {
    if before.backfill.is_some()
        || before.reservations().next().is_some()
        || crate::preempt::rules::is_on(&before.cluster)
    {
        return;
    }
    let mut after = before.clone();
    let started = after.schedule(now).into_iter();
    let started = started.filter_map(|action| match action {
        Action::Start { job, .. } => Some(job),
        _ => None,
    });
    let started: &[JobId] = &started.collect::<Vec<_>>();
    let (state, cluster) = (&after, after.cluster());
    for first in state.first.iter().filter_map(|id| state.jobs.get(id)) {
        let [choice] = &first.derived.choices[..] else {
            continue;
        };
        if first.component().is_some() {
            continue;
        }
        let blocked = cluster.partition(choice.partition);
        let of_first = turn(state, &first.record, choice.priority);
        let goes_behind = |own: &Job| {
            let partition = own.partition.as_deref().unwrap_or_default();
            let tier = cluster
                .find_partition(partition)
                .map(|partition| cluster.partition(partition).tier);
            tier.is_some_and(|tier| {
                tier < blocked.tier
                    || (tier == blocked.tier && turn(state, own, own.priority) > of_first)
            })
        };
        for own in rows(state, started) {
            let together = state.components(own.id);
            let mut together = together.iter().filter_map(|id| state.job(*id));
            let is_behind = together.all(goes_behind);
            let is_there = nodes_of(state, own)
                .iter()
                .any(|node| blocked.nodes.contains(*node));
            assert!(
                !is_behind || !is_there || is_limited_without(before, own, first.record.id, now),
                "tiers: {:?} took nodes for which {:?} waits",
                own.id,
                first.record.id
            );
        }
    }
}

/// Whether a limit keeps a job waiting where another one is not there, or none that waits. A pass tries those
/// that wait once more where one started that kept others waiting in its other partition, and may then find no
/// room for it.
fn is_limited_without(before: &State, other: &Job, job: JobId, now: Timestamp) -> bool {
    let row = before
        .job(other.id)
        .map_or(other.submitted_as(), |it| it.id);
    let waits = |record: &&Job| matches!(record.state, JobState::Pending { .. });
    let all = before.live().filter(waits).map(|record| record.id);
    let all = all.filter(|id| *id != job).collect();
    [vec![row], all].into_iter().any(|gone: Vec<JobId>| {
        let mut without = before.clone();
        for job in gone {
            let (by, at) = (0, now);
            without.apply(Event::CancelledWaiting { job, by, at });
        }
        without.schedule(now);
        without.limited.contains(&job)
    })
}

/// One that started has no node with another where either of them wants it alone, or for its user
/// alone.
pub(super) fn check_sharing(state: &State, started: &[JobId]) {
    let wants_all = |record: &Job| {
        let partition = record.partition.as_deref();
        record.request.exclusive || partition == Some("whole")
    };
    let is_private = |record: &Job| {
        let options = record.request.rare.node_options.as_ref();
        options.is_some_and(|options| options.sharing == Some(Sharing::User))
    };
    for own in rows(state, started).filter(|own| !own.state.is_suspended()) {
        let nodes = nodes_of(state, own);
        let others = state.running().filter(|other| other.id != own.id);
        for other in others.filter(|other| !other.state.is_suspended()) {
            let together = nodes_of(state, other).intersection(&nodes).next().is_some();
            assert!(
                !together || !(wants_all(own) || wants_all(other)),
                "sharing: {:?} and {:?} are on one node",
                own.id,
                other.id
            );
            let are_of_one = own.submitter.uid == other.submitter.uid;
            assert!(
                !together || are_of_one || !(is_private(own) || is_private(other)),
                "users: {:?} and {:?} are on one node",
                own.id,
                other.id
            );
        }
    }
}

/// What started is on nodes of its partition that take jobs.
pub(super) fn check_nodes(state: &State, started: &[JobId]) {
    for own in rows(state, started) {
        let partition = own.partition.as_deref().unwrap_or_default();
        let partition = state.cluster().find_partition(partition);
        for node in nodes_of(state, own) {
            let name = state.cluster().node_name(node);
            let takes_jobs = state.mark(name).is_none_or(NodeMark::takes_jobs);
            assert!(takes_jobs, "nodes: {:?} is on {name:?}", own.id);
            let is_in = partition.is_some_and(|partition| {
                let nodes = &state.cluster().partition(partition).nodes;
                nodes.contains(node)
            });
            assert!(is_in, "nodes: {:?} is outside of its partition", own.id);
        }
    }
}

/// What is said to start later waits.
pub(super) fn check_plan(state: &State) {
    for job in state.live() {
        let is_planned = state.planned(job.id).is_some();
        assert!(
            !is_planned || matches!(job.state, JobState::Pending { .. }),
            "plan: {:?} does not wait",
            job.id
        );
    }
    let why = state.live().filter_map(|job| state.planned(job.id));
    assert!(
        why.min().is_none_or(|at| at > state.last_pass.0),
        "plan: what waits was to start by now"
    );
}

/// No GPU is two jobs', though one of them is suspended.
pub(super) fn check_gpus(state: &State) {
    let mut given = BTreeSet::new();
    for record in state.running() {
        let JobState::Running { allocation, .. } = &record.state else {
            continue;
        };
        for share in &allocation.nodes {
            for gpu in &share.gpus {
                let is_new = given.insert((share.node.clone(), *gpu));
                assert!(is_new, "gpus: {gpu} of {:?} was given twice", share.node);
            }
        }
    }
}

/// Limits on numbers of jobs, counted from the rows.
pub(super) fn check_limits(state: &State) {
    if !state.cluster().has_limits() {
        return;
    }
    let is_normal = |record: &&Job| record.request.qos.is_none();
    let mut of_user: BTreeMap<u32, usize> = BTreeMap::new();
    let mut submitted: BTreeMap<u32, usize> = BTreeMap::new();
    for record in state.running().filter(is_normal) {
        *of_user.entry(record.submitter.uid).or_default() += 1;
    }
    for record in state.live().filter(is_normal) {
        let waiting = state.jobs[&record.id].waiting().len();
        *submitted.entry(record.submitter.uid).or_default() += waiting.max(1);
    }
    assert!(
        of_user.values().all(|jobs| *jobs <= 4),
        "limits: jobs of a user {of_user:?}"
    );
    // Those that come together are not asked for here.
    let together = state
        .live()
        .any(|record| record.request.rare.component.is_some());
    assert!(
        together || submitted.values().all(|jobs| *jobs <= 9),
        "limits: submitted jobs {submitted:?}"
    );
    assert!(state.running().count() <= 3, "limits: jobs of an account");
}

/// What a pass remembers of what it looked for in vain changes nothing.
pub(super) fn check_memory(before: &State, now: Timestamp) {
    let (mut fast, mut slow) = (before.clone(), before.clone());
    fast.schedule(now);
    fault::without_memory(|| slow.schedule(now));
    let rows = |state: &State| {
        let rows = state
            .live()
            .map(|job| (job.id, job.state.clone(), state.planned(job.id)));
        rows.collect::<Vec<_>>()
    };
    for (fast, slow) in rows(&fast).into_iter().zip(rows(&slow)) {
        assert_eq!(
            fast, slow,
            "memory: it changes what starts and what is planned"
        );
    }
}

/// What a cluster takes starts when it is alone there, unless a limit keeps it.
pub(super) fn starts_alone(state: &State, request: &Request) {
    if request.rare.reservation.is_some() {
        return;
    }
    let mut world = World::of(Arc::clone(state.cluster()));
    let job = world.submit(request.clone());
    world.state.schedule(world.now);
    let record = world.state.job(job).unwrap();
    if let JobState::Pending { reason } = &record.state {
        let waits_for_room = matches!(reason, PendingReason::Resources | PendingReason::Priority);
        let has_element = world.state.running_count() > 0;
        assert!(
            !waits_for_room || has_element,
            "never: it waits on an empty cluster: {reason:?}"
        );
    }
}

/// What is said of a job before it is submitted is so afterwards, and saying it changes nothing.
pub(super) fn check_wait(state: &State, request: &Request, now: Timestamp) {
    let mut state = state.clone();
    state.schedule(now);
    let id = JobId(state.next_id());
    let record = || Job {
        array: None,
        ..World::record(id, request.clone(), now)
    };
    let before = state.clone();
    let said = state.wait_if_submitted(record(), Vec::new(), now);
    assert_eq!(state, before, "saying it changes nothing");
    if crate::preempt::rules::is_on(&state.cluster) {
        return;
    }
    state.apply(Event::Submitted {
        record: Box::new(record()),
        array: None,
        history: Vec::new(),
        at: now,
    });
    state.schedule(now);
    let reason = match state.job(id).map(|job| &job.state) {
        Some(JobState::Pending { reason }) => Some(reason),
        _ => None,
    };
    let said = said.map(|wait| wait.reason);
    assert_eq!(said.as_ref(), reason, "what {request:?} would wait for");
}
