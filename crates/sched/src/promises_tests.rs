//! Promises and preemption on clusters on which they are exact: no job that starts takes a place that one ahead
//! of it is promised, nor delays it where nothing but that decides when it starts; and no job loses its place
//! for one while a less worthy one keeps its own.

use super::World;
use super::properties::check_memory;
use crate::preempt::rules;
use crate::queue::Key;
use crate::{BackfillParameters, Event, State};
use cluster_file::ClusterFile;
use model::{GresList, JobId, JobState, Outcome, Request, Seconds, TimeLimitRequest, Timestamp};
use proptest::prelude::*;
use resources::{Cluster, Trust};
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Step {
    /// Nodes, CPUs, GPUs, minutes, and in which partition.
    Submit(u32, u32, &'static str, u64, usize),
    /// The same as a job that waits, for so many minutes.
    Again(usize, u64),
    End(usize),
    Wait(i64),
}

#[derive(Clone, Debug)]
pub(super) struct Promised {
    nodes: u32,
    /// GPUs are of two types, and CPUs at two sockets.
    is_rich: bool,
    is_easy: bool,
    /// `all` alone; or besides one over the same nodes, and one over as many others.
    has_partitions: bool,
    steps: Vec<Step>,
}

/// A half of the jobs is in the first.
const PARTITIONS: [&str; 3] = ["all", "same", "others"];

/// GPUs of a node: of one type there, or of two.
pub(super) fn any_gpus(is_rich: bool) -> impl Strategy<Value = &'static str> {
    let typed = u32::from(is_rich);
    prop_oneof![
        2 => Just(""),
        2 => Just("1"),
        2 => Just("2"),
        typed => Just("v100:1"),
        typed => Just("v100:2"),
        typed => Just("a100:1"),
        typed => Just("v100:1,a100:1"),
    ]
}

/// The nodes of [`any_gpus`].
pub(super) fn hardware(is_rich: bool) -> &'static str {
    if is_rich {
        "cpus = 4\nsockets = 2\ncores_per_socket = 2\nthreads_per_core = 1\n\
         gpu = [{ type = \"v100\", count = 2 }, { type = \"a100\", count = 1 }]\n"
    } else {
        "cpus = 4\ngpu = { type = \"v100\", count = 2 }\n"
    }
}

/// The same request with so many GPUs of each node.
pub(super) fn with_gpus(request: Request, gpus: &str) -> Request {
    let list = GresList::of_gpus(gpus);
    let gpus_per_node = list.gpus();
    let request = Request {
        gpus_per_node,
        ..request
    };
    request.with_rare(|rare| rare.asked.per_node = list)
}

pub(super) fn any_promised() -> impl Strategy<Value = Promised> {
    any_promised_on(false)
}

pub(super) fn any_rich_promised() -> impl Strategy<Value = Promised> {
    any_promised_on(true)
}

fn any_promised_on(is_rich: bool) -> impl Strategy<Value = Promised> {
    let step = prop_oneof![
        5 => (1_u32..4, 1_u32..5, any_gpus(is_rich), 1_u64..30, 0_usize..6).prop_map(
            |(nodes, cpus, gpus, minutes, partition)| {
                Step::Submit(nodes, cpus, gpus, minutes, partition)
            }
        ),
        3 => (any::<usize>(), 1_u64..30).prop_map(|(which, minutes)| Step::Again(which, minutes)),
        2 => any::<usize>().prop_map(Step::End),
        2 => (1_i64..600).prop_map(Step::Wait),
    ];
    let steps = prop::collection::vec(step, 1..40);
    (1_u32..4, any::<bool>(), any::<bool>(), steps).prop_map(
        move |(nodes, is_easy, has_partitions, steps)| Promised {
            nodes,
            is_rich,
            is_easy,
            has_partitions,
            steps,
        },
    )
}

pub(super) fn world(text: &str) -> World {
    let file = ClusterFile::parse("any", text).unwrap();
    World::of(Arc::new(Cluster::build(&file, Trust::All)))
}

/// Jobs that wait, in their order.
pub(super) fn waiting(state: &State) -> Vec<JobId> {
    let ready = state.jobs.values().filter(|job| job.is_ready());
    let mut keys: Vec<Key> = ready
        .map(|job| state.key(&job.record, job.record.priority))
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| key.job).collect()
}

/// When a job would start if none behind it were there; now, if it starts.
fn without_those_behind(
    before: &State,
    queue: &[JobId],
    at: usize,
    now: Timestamp,
) -> Option<Timestamp> {
    let mut alone = before.clone();
    for job in &queue[at + 1..] {
        alone.apply(Event::CancelledWaiting {
            job: *job,
            by: 0,
            at: now,
        });
    }
    alone.schedule(now);
    match alone.job(queue[at])?.state {
        JobState::Running { .. } => Some(now),
        _ => alone.planned(queue[at]),
    }
}

pub(super) fn keep_promises(case: &Promised) {
    let Promised {
        nodes,
        is_rich,
        is_easy,
        has_partitions,
        steps,
    } = case;
    let hardware = hardware(*is_rich);
    let mut world = world(&format!(
        "[nodes.a]\nnames = \"a[1-{nodes}]\"\n{hardware}[nodes.b]\nnames = \"b[1-{nodes}]\"\n{hardware}\
         [partition.all]\ndefault = true\nnodes = [\"a\"]\n\
         [partition.same]\nnodes = [\"a\"]\n[partition.others]\nnodes = [\"b\"]\n"
    ));
    world.state.set_backfill(Some(BackfillParameters {
        promises: if *is_easy { 1 } else { usize::MAX },
        ..BackfillParameters::default()
    }));
    for step in steps {
        let at = world.now;
        match step {
            Step::Submit(count, cpus, gpus, minutes, partition) => {
                let partition = PARTITIONS.get(*partition).filter(|_| *has_partitions);
                let request = Request {
                    partition: partition.map(|&name| name.to_owned()),
                    min_nodes: Some((*count).min(*nodes)),
                    tasks: Some((*count).min(*nodes)),
                    cpus_per_task: Some(*cpus),
                    time: Some(TimeLimitRequest::Limit(Seconds(minutes * 60))),
                    ..Request::default()
                };
                let request = with_gpus(request, gpus);
                if world.state.admit(&request).is_ok() {
                    world.submit(request);
                }
            }
            Step::Again(which, minutes) => {
                let queue = waiting(&world.state);
                if let Some(which) = which.checked_rem(queue.len()) {
                    let record = world.state.job(queue[which]).unwrap();
                    let mut request = Request::clone(&record.request);
                    request.time = Some(TimeLimitRequest::Limit(Seconds(minutes * 60)));
                    world.submit(request);
                }
            }
            Step::End(which) => {
                let running: Vec<JobId> = world.state.running().map(|job| job.id).collect();
                if let Some(which) = which.checked_rem(running.len()) {
                    let (job, outcome) = (running[which], Outcome::Completed);
                    world.state.apply(Event::Gone { job, outcome, at });
                }
            }
            Step::Wait(seconds) => world.now = Timestamp(at.0 + seconds * 1000),
        }
        // None is overdue.
        let now = world.now;
        let over = |job: &&crate::Job| job.state.limit_ends().is_some_and(|end| end <= now);
        let over: Vec<JobId> = world
            .state
            .running()
            .filter(over)
            .map(|job| job.id)
            .collect();
        for job in over {
            world.state.apply(Event::Gone {
                job,
                outcome: Outcome::Completed,
                at: now,
            });
        }
        let before = world.state.clone();
        world.pass_on_any();
        check_memory(&before, now);
        let is_overdrawn = world.state.held.is_overdrawn;
        assert!(!is_overdrawn, "promises: more is held than there is");
        let queue = waiting(&before);
        let still = waiting(&world.state);
        check_places(&before, &world.state, &queue, now);
        for job in with_exact_promises(case, &world.state, &still) {
            let at = queue.iter().position(|other| *other == job).unwrap();
            let alone = without_those_behind(&before, &queue, at, now);
            let planned = world.state.planned(job);
            assert!(
                alone.is_none() || planned.is_some_and(|planned| Some(planned) <= alone),
                "promises: {job:?} starts at {planned:?}, and without those behind it at {alone:?}"
            );
        }
    }
}

fn partition_of(state: &State, job: JobId) -> &str {
    let partition = state.job(job).unwrap().request.partition.as_deref();
    partition.unwrap_or("all")
}

/// Those that wait whose starts none behind them delays: on one node all that are promised a place, under EASY
/// the first of each partition. On several nodes which of them one is given decides when the next one starts,
/// and once another started it may be given others: that holds of the first on its nodes alone.
fn with_exact_promises(case: &Promised, state: &State, still: &[JobId]) -> Vec<JobId> {
    let mut seen: Vec<&str> = Vec::new();
    let exact = still.iter().copied().filter(|job| {
        let partition = partition_of(state, *job);
        let is_one_node = case.nodes == 1;
        let alike = |other: &&str| match (is_one_node, partition) {
            (true, _) | (_, "others") => *other == partition,
            (false, _) => *other != "others",
        };
        let is_first = !seen.iter().any(alike);
        seen.push(partition);
        is_first || (is_one_node && !case.is_easy)
    });
    exact.collect()
}

/// The first job of those that started goes before others that wait only on nodes, and for a time, that none of
/// these is promised when it is its turn.
fn check_places(before: &State, after: &State, queue: &[JobId], now: Timestamp) {
    let runs = |job: &&JobId| {
        let record = after.job(**job);
        record.is_some_and(|record| matches!(record.state, JobState::Running { .. }))
    };
    let Some(started) = queue.iter().find(runs) else {
        return;
    };
    let record = after.job(*started).unwrap();
    let (JobState::Running { allocation, .. }, Some(end)) =
        (&record.state, record.state.limit_ends())
    else {
        return;
    };
    let at = queue.iter().position(|job| job == started).unwrap();
    let mut ahead = before.clone();
    for job in &queue[at..] {
        let (job, by) = (*job, 0);
        ahead.apply(Event::CancelledWaiting { job, by, at: now });
    }
    ahead.schedule(now);
    let has = |node: &resources::NodeId| {
        let name = ahead.cluster().node_name(*node);
        allocation.nodes.iter().any(|share| share.node == *name)
    };
    let kept = ahead.plan.kept().iter();
    let mut taken = kept.filter(|kept| kept.from < end.0 && kept.nodes.iter().any(has));
    let taken = taken.next();
    assert!(taken.is_none(), "promises: {started:?} takes {taken:?}");
}

/// Jobs that may lose their places.
#[derive(Clone, Debug)]
pub(super) struct Preempted {
    jobs: Vec<MayLose>,
    /// So much wants the one that takes them.
    wants: u32,
    /// They have GPUs of two types, of which it wants one; else whole nodes.
    of_types: bool,
}

#[derive(Clone, Copy, Debug)]
struct MayLose {
    is_low: bool,
    count: u32,
    /// Of the type that the one wants.
    is_wanted: bool,
}

pub(super) fn any_preempted() -> impl Strategy<Value = Preempted> {
    any_preempted_of(false)
}

pub(super) fn any_rich_preempted() -> impl Strategy<Value = Preempted> {
    any_preempted_of(true)
}

fn any_preempted_of(of_types: bool) -> impl Strategy<Value = Preempted> {
    let job = (any::<bool>(), 1_u32..4, any::<bool>());
    let job = job.prop_map(move |(is_low, count, is_wanted)| MayLose {
        is_low,
        count,
        is_wanted: is_wanted || !of_types,
    });
    (prop::collection::vec(job, 1..6), 1_u32..8).prop_map(move |(jobs, wants)| Preempted {
        jobs,
        wants,
        of_types,
    })
}

pub(super) fn spare_the_worthy(case: &Preempted) {
    let sum = |is_wanted: bool| {
        let own = case.jobs.iter().filter(|job| job.is_wanted == is_wanted);
        own.map(|job| job.count).sum::<u32>()
    };
    let (count, others) = (sum(true), sum(false));
    if count == 0 {
        return;
    }
    let nodes = if case.of_types {
        let unwanted = format!(", {{ type = \"v100\", count = {} }}", others.max(1));
        format!(
            "names = \"a1\"\ncpus = 64\n\
             gpu = [{{ type = \"a100\", count = {count} }}{unwanted}]\n"
        )
    } else {
        format!("names = \"a[1-{count}]\"\ncpus = 4\n")
    };
    let mut world = world(&format!(
        "[nodes.a]\n{nodes}\
         [partition.all]\ndefault = true\nnodes = \"ALL\"\n[preemption]\ntype = \"qos\"\nmode = \"requeue\"\n\
         [qos.low]\npriority = 1\n[qos.middle]\npriority = 2\n\
         [qos.high]\npriority = 5\npreempt = [\"low\", \"middle\"]\n"
    ));
    let asking = |qos: &str, count: u32, kind: &str| {
        let request = Request {
            qos: Some(qos.to_owned()),
            min_nodes: (!case.of_types).then_some(count),
            exclusive: !case.of_types,
            ..Request::default()
        };
        let gpus = case.of_types.then(|| format!("{kind}:{count}"));
        with_gpus(request, &gpus.unwrap_or_default())
    };
    for job in &case.jobs {
        let qos = if job.is_low { "low" } else { "middle" };
        let kind = if job.is_wanted { "a100" } else { "v100" };
        world.submit(asking(qos, job.count, kind));
    }
    world.pass_on_any();
    assert_eq!(
        world.state.running_count(),
        case.jobs.len(),
        "worth: all run"
    );
    world.now = Timestamp(world.now.0 + 60_000);
    let wants = case.wants.min(count);
    world.submit(asking("high", wants, "a100"));
    world.state.schedule(world.now);
    // Jobs have their ids in the order in which they came.
    let of_case = |job: &&crate::Job| case.jobs[job.id.0 as usize - 1];
    let gives = |job: &&crate::Job| {
        let own = of_case(job);
        if own.is_wanted { own.count } else { 0 }
    };
    let (lost, kept): (Vec<_>, Vec<_>) =
        world.state.running().partition(|job| job.state.is_ending());
    let given: u32 = lost.iter().map(gives).sum();
    let spared = |job: &&crate::Job| given - gives(job) >= wants;
    assert!(given >= wants, "spared: too few lose their places");
    assert!(
        !lost.iter().any(spared),
        "spared: more lose their places than have to"
    );
    if case.jobs.iter().all(|job| job.count == 1) {
        let worth =
            |job: &&crate::Job| rules::worth(&world.state.cluster, &world.state.jobs[&job.id]);
        let kept = kept.iter().filter(|job| gives(job) > 0);
        let (most, least) = (lost.iter().map(worth).max(), kept.map(worth).min());
        assert!(
            least.is_none_or(|least| most <= Some(least)),
            "worth: the most worthy lose theirs"
        );
    }
}

proptest! {
    #[test]
    fn no_start_delays_a_promise_ahead(case in prop_oneof![any_promised(), any_rich_promised()]) {
        keep_promises(&case);
    }

    #[test]
    fn the_least_worthy_lose_their_places(case in prop_oneof![any_preempted(), any_rich_preempted()]) {
        spare_the_worthy(&case);
    }
}
