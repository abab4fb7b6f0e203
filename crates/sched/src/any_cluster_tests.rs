//! Random clusters and what happens on them: nothing is held twice, what is held and what is free
//! are all there is, and the rows alone make the same state.

use super::comes_back::check_comes_back;
use super::properties::{
    check_gpus, check_limits, check_memory, check_nodes, check_order, check_plan, check_sharing,
    check_tiers, check_wait, starts_alone,
};
use super::why_agrees::check_why;
use super::{ShortRequest, World};
use crate::preempt::rules;
use crate::{BackfillParameters, Event, Job, State};
use cluster_file::{ClusterFile, PreemptMode};
use model::{
    ArraySpec, Ending, GpuCount, HeldBy, JobChange, JobId, JobState, LengthChange, LimitChange,
    MemoryRequest, NamesChange, NodeMark, NodeName, NodeOptions, Outcome, RareOptions, Request,
    RequeueHold, Reservation, ReservationFlag, ReservationRequest, ReservedNodes, Seconds, Sharing,
    TimeLimitRequest, Timestamp,
};
use proptest::prelude::*;
use resources::{Amounts, Cluster, Free, NodeId, Share, Trust};
use std::sync::Arc;

/// What happens.
#[derive(Clone, Debug)]
enum Step {
    Submit(ShortRequest),
    /// The same as a waiting job, for so many minutes; at another moment.
    Again(usize, Option<u64>),
    Together(Vec<ShortRequest>),
    End(usize),
    Requeue(usize),
    Suspend(usize, bool),
    /// A running job goes on without one of its nodes.
    LoseNode(usize, usize),
    /// `scontrol update` of a live job.
    Change(usize, Box<JobChange>),
    Hold(usize, bool),
    Mark(u32, bool),
    Reconfigure(usize),
    Reserve(Box<ReservationRequest>),
    Unreserve(usize),
    Wait(i64),
}

/// Two kinds of nodes in three partitions, one over both.
fn cluster(
    first: u32,
    second: u32,
    gpus: u32,
    is_weighted: bool,
    preemption: &Preemption,
) -> Arc<Cluster> {
    let weights = "[priority]\nage = 1000\nfair_share = 2000\njob_size = 500\npartition = 100\n\
         tres = \"cpu=10,gres/gpu=70,billing=3\"\nhalf_life = \"00:05:00\"\n\
         max_age = \"00:10:00\"\ncalc_period = \"00:00:01\"\n\
         [qos.normal]\npriority = 3\nmax_tres_per_user = \"cpu=6\"\ngroup_tres_run_minutes = \"cpu=40\"\n\
         group_tres_minutes = \"cpu=90\"\ngroup_wall = \"01:00:00\"\n\
         max_jobs_per_user = 4\nmax_submit_per_user = 9\n\
         [account.lab]\ngroup_jobs = 3\n[account.sub]\nparent = \"lab\"\n\
         [user.u]\naccounts = [\"sub\"]\n[user.bob]\naccounts = [\"lab\"]\n\
         [license.x]\ncount = 2\n";
    let weights = if is_weighted {
        weights
    } else {
        "[qos.normal]\npriority = 3\n"
    };
    let preemption = preemption.tables(is_weighted);
    let text = format!(
        "[nodes.a]\nnames = \"a[1-{first}]\"\ncpus = 4\nmemory = \"4000M\"\nfeatures = [\"fast\"]\n\
         gpu = {{ type = \"v100\", count = {gpus} }}\n\
         [nodes.b]\nnames = \"b[1-{second}]\"\ncpus = 2\nmemory = \"8000M\"\n\
         [partition.all]\ndefault = true\nnodes = \"ALL\"\ndefault_memory_per_cpu = \"500M\"\n\
         [partition.gpu]\nnodes = [\"a\"]\npriority_tier = 3\nmax_time = \"10:00\"\n\
         [partition.whole]\nnodes = [\"b\"]\nexclusive = true\n\
         billing_weights = \"CPU=2,Mem=1G,gres/gpu=5\"\n{weights}{preemption}"
    );
    let file = ClusterFile::parse("any", &text).unwrap();
    Arc::new(Cluster::build(&file, Trust::All))
}

/// Who takes whose place, and how.
#[derive(Clone, Debug)]
struct Preemption {
    by: &'static str,
    modes: [&'static str; 3],
    grace: u32,
    exempt: u32,
    youngest_first: bool,
}

const MODES: [&str; 4] = ["off", "cancel", "requeue", "suspend"];

impl Preemption {
    /// `low` and `high` lie around `normal`.
    fn tables(&self, is_weighted: bool) -> String {
        let Preemption {
            by,
            modes: [whole, low, normal],
            grace,
            exempt,
            youngest_first,
        } = self;
        let limit = if is_weighted {
            "max_tres_per_user = \"cpu=6\"\n"
        } else {
            ""
        };
        let parameters = if *youngest_first {
            "[scheduling]\nparameters = \"preempt_youngest_first\"\n"
        } else {
            ""
        };
        format!(
            "{parameters}[preemption]\ntype = \"{by}\"\nmode = \"{whole}\"\n\
             grace_time = \"00:00:{grace:02}\"\nexempt_time = \"00:00:{exempt:02}\"\n\
             [qos.low]\npriority = 1\npreempt_mode = \"{low}\"\n{limit}\
             [qos.high]\npriority = 5\npreempt = [\"low\", \"middle\"]\n{limit}\
             [qos.middle]\npriority = 2\npreempt = [\"low\"]\npreempt_mode = \"{normal}\"\n{limit}"
        )
    }
}

fn any_preemption() -> impl Strategy<Value = Preemption> {
    let by = prop_oneof![Just("none"), Just("partition"), Just("qos")];
    let modes = prop::array::uniform3((0_usize..4).prop_map(|at| MODES[at]));
    let times = (prop_oneof![Just(0_u32), Just(5)], 0_u32..20);
    (by, modes, times, any::<bool>()).prop_map(|(by, modes, (grace, exempt), youngest_first)| {
        Preemption {
            by,
            modes,
            grace,
            exempt,
            youngest_first,
        }
    })
}

/// Who lost its place could lose it: it was no exempt one and no job keeps its place there, and what
/// became of it is its own mode. A job that took places is there, and limits would let it start.
fn check_preempted(before: &State, after: &State, now: Timestamp) {
    for record in after.running() {
        let Some(former) = before.job(record.id) else {
            continue;
        };
        let JobState::Running { since, .. } = &former.state else {
            continue;
        };
        let (state, was) = (&record.state, &former.state);
        let ending = |state: &JobState| match state {
            JobState::Running { ending, .. } => ending.clone(),
            _ => None,
        };
        let mode = match (ending(was), ending(state)) {
            (None, Some(Ending::Preempted { requeue: true, .. })) => PreemptMode::Requeue,
            (None, Some(Ending::Preempted { requeue: false, .. })) => PreemptMode::Cancel,
            _ if !was.is_suspended() && state.is_suspended() => PreemptMode::Suspend,
            _ => continue,
        };
        let cluster = after.cluster();
        assert_eq!(after.preempt_mode(record.id), Some(mode), "{record:?}");
        assert!(
            *since + cluster.preemption().exempt_time <= now,
            "{record:?}"
        );
        let holder = rules::holder(cluster, record);
        let takes = |other: &Job| {
            let choices = after.jobs[&other.id].derived.choices.iter();
            let mut claimants =
                choices.map(|choice| rules::claimant(cluster, other, choice.partition));
            let waits = before
                .job(other.id)
                .is_some_and(|it| matches!(it.state, JobState::Pending { .. }));
            waits && claimants.any(|one| rules::takes_from(cluster, one, holder))
        };
        assert!(
            after.live().any(takes),
            "no job may take the place of {record:?}"
        );
    }
}

fn any_request() -> impl Strategy<Value = Request> {
    let partition = prop_oneof![
        2 => Just(None),
        2 => Just(Some("gpu")),
        2 => Just(Some("whole,gpu")),
        2 => Just(Some("whole")),
        1 => Just(Some("nowhere")),
    ];
    let amounts = (1_u32..4, 1_u32..5, 0_u32..3, 0_u64..5000);
    let rest = (1_u64..20, 0_u32..8, 0_u32..7, 0_usize..6);
    let reservation = prop_oneof![
        3 => Just(None),
        1 => Just(Some("one")),
        1 => Just(Some("two")),
    ];
    (partition, amounts, rest, reservation).prop_map(
        |(partition, (nodes, tasks, gpus, memory), (minutes, sharing, which, qos), reservation)| {
            let elements = ArraySpec {
                indices: (0..3).collect(),
                step: 1,
                throttle: None,
            };
            Request {
                name: if which >= 5 { "of bob" } else { "" }.to_owned(),
                qos: ["low", "middle", "high"].get(qos).map(|&qos| qos.into()),
                partition: partition.map(str::to_owned),
                min_nodes: Some(nodes).filter(|nodes| *nodes > 1),
                tasks: Some(tasks.max(nodes)),
                gpus_per_node: (gpus > 0).then_some(GpuCount {
                    kind: None,
                    count: gpus,
                }),
                memory: (memory > 2000).then_some(MemoryRequest::PerNode(memory)),
                time: Some(TimeLimitRequest::Limit(Seconds(minutes * 60))),
                exclusive: sharing == 0,
                rare: RareOptions {
                    node_options: (sharing == 1 || sharing == 2).then(|| Box::new(of_one_user())),
                    constraint: (which == 1).then(|| "fast".into()),
                    licenses: (which == 2).then(|| "x".into()),
                    reservation: reservation.map(str::to_owned),
                    array: (which == 4).then_some(elements),
                    priority: (which == 3).then_some(100),
                    ..RareOptions::default()
                }
                .into(),
                ..Request::default()
            }
        },
    )
}

fn of_one_user() -> NodeOptions {
    NodeOptions {
        sharing: Some(Sharing::User),
        ..NodeOptions::default()
    }
}

fn without_array(mut request: Request) -> Request {
    request.rare.array = None;
    request
}

fn without_component(request: &Request) -> Request {
    let mut request = request.clone();
    request.rare.component = None;
    request
}

/// Of so many jobs is asked why they wait at the end of a history.
const ASKED: usize = 2;

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any_request().prop_map(|request| Step::Submit(ShortRequest(Box::new(request)))),
        5 => (any::<usize>(), prop::option::of(1_u64..20))
            .prop_map(|(which, minutes)| Step::Again(which, minutes)),
        1 => prop::collection::vec(any_request(), 2..4).prop_map(|all| {
            let all = all.into_iter().map(|one| ShortRequest(Box::new(without_array(one))));
            Step::Together(all.collect())
        }),
        4 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Requeue),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(which, now)| Step::Suspend(which, now)),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(which, node)| Step::LoseNode(which, node)),
        2 => (any::<usize>(), any_change()).prop_map(|(which, change)| {
            Step::Change(which, Box::new(change))
        }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, holds)| Step::Hold(which, holds)),
        2 => (0_u32..8, any::<bool>()).prop_map(|(node, up)| Step::Mark(node, up)),
        1 => (0_usize..3).prop_map(Step::Reconfigure),
        1 => (0_i64..900).prop_map(Step::Wait),
        2 => any_reservation().prop_map(|asked| Step::Reserve(Box::new(asked))),
        1 => any::<usize>().prop_map(Step::Unreserve),
    ]
}

/// What a request that waits may become. A QOS with a limit on submissions is never asked for.
fn any_change() -> impl Strategy<Value = JobChange> {
    let limit = |minutes| LimitChange::To(TimeLimitRequest::Limit(Seconds(minutes * 60)));
    let reservation = prop::option::of(Just("one".to_owned()));
    prop_oneof![
        (1_u64..20).prop_map(move |minutes| JobChange::TimeLimit(limit(minutes))),
        prop_oneof![
            Just("gpu"),
            Just("whole,gpu"),
            Just("all"),
            Just("all,whole")
        ]
        .prop_map(|names| JobChange::Partition(names.to_owned())),
        prop_oneof![Just("low"), Just("middle"), Just("high")]
            .prop_map(|name| JobChange::Qos(name.to_owned())),
        (1_u32..4, any::<bool>())
            .prop_map(|(nodes, most)| JobChange::Nodes(nodes, most.then_some(nodes))),
        (1_u32..5).prop_map(JobChange::Tasks),
        (0_u64..5000).prop_map(|mib| JobChange::Memory(MemoryRequest::PerNode(mib))),
        (-3_i64..4).prop_map(JobChange::Nice),
        (1_u32..200).prop_map(JobChange::Priority),
        prop::option::of(Just("x".to_owned())).prop_map(JobChange::Licenses),
        (0_i64..900).prop_map(|seconds| JobChange::Begin(Timestamp(1_000_000 + seconds * 1000))),
        reservation.prop_map(JobChange::Reservation),
    ]
}

/// Of one of three names, in the next hour, for the user of the jobs or another.
fn any_reservation() -> impl Strategy<Value = ReservationRequest> {
    use ReservationFlag::{AnyNodes, Flex, Hourly, IgnoreJobs, Maint, NoHoldJobsAfterEnd, Overlap};
    let flags = [
        Maint,
        Flex,
        Overlap,
        IgnoreJobs,
        Hourly,
        AnyNodes,
        NoHoldJobsAfterEnd,
    ];
    let flags = prop::sample::subsequence(flags.to_vec(), 0..3);
    let times = (-100_i64..3000, 1_u64..3000);
    let who = (0_usize..3, any::<bool>());
    let nodes = (any::<bool>(), 1_u32..4);
    (flags, times, who, nodes).prop_map(|(flags, (start, length), (name, is_own), (all, count))| {
        ReservationRequest {
            name: Some(["one", "two", "three"][name].to_owned()),
            // As `World` has its clock at the beginning.
            start: Some(Timestamp(1_000_000 + start * 1000)),
            length: Some(LengthChange::To(Seconds(length))),
            nodes: all.then_some(ReservedNodes::All),
            node_counts: (!all).then(|| vec![count]),
            users: Some(NamesChange::parse(if is_own { "u" } else { "bob" }, None)),
            flags: flags.into_iter().map(|flag| (flag, true)).collect(),
            ..ReservationRequest::default()
        }
    })
}

/// The same of cores, or of another kind, as its length has it.
fn of_any_kind(mut asked: ReservationRequest) -> ReservationRequest {
    use ReservationFlag::{Magnetic, PurgeComp, Replace, Static, TimeFloat};
    let Some(LengthChange::To(Seconds(length))) = asked.length else {
        return asked;
    };
    let kinds = [Magnetic, PurgeComp, Replace, Static, TimeFloat];
    let kind = kinds.get(usize::try_from(length % 8).unwrap());
    asked.flags.extend(kind.map(|kind| (*kind, true)));
    asked.purge_after = Some(Seconds(length / 10));
    let cores = u32::try_from(length % 23).unwrap();
    asked.core_counts = (1..8).contains(&cores).then(|| vec![cores]);
    asked
}

/// No job has just been started on nodes that are reserved for others before it would end, and none
/// of a reservation elsewhere or at another time.
fn check_reservations(state: &State, started: &[JobId], now: Timestamp) {
    for record in started.iter().filter_map(|id| state.job(*id)) {
        let JobState::Running {
            allocation, limit, ..
        } = &record.state
        else {
            continue;
        };
        let until = now + limit.unwrap_or(Seconds(365 * 24 * 3600));
        let own = record.reservation.as_deref();
        let own = own.map(|name| state.reservation(name).unwrap());
        let may_overlap = own.is_some_and(Reservation::may_overlap);
        for share in &allocation.nodes {
            for other in state.reservations() {
                let is_own = own.is_some_and(|own| own.name == other.name);
                let has_it = other.nodes.contains(&share.node) && other.overlaps(now, until);
                if has_it && other.is_of_cores() && !is_own && !may_overlap {
                    check_cores(state, other, &share.node);
                    continue;
                }
                assert!(
                    is_own || may_overlap || !has_it,
                    "{record:?} is in {other:?}"
                );
            }
            if let Some(own) = own
                && !own.is(ReservationFlag::Flex)
            {
                assert!(own.is_active(now), "{own:?} has not begun or is over");
                // One that replaces its nodes has others by now.
                let is_free = own.is(ReservationFlag::AnyNodes) || own.is(ReservationFlag::Replace);
                assert!(is_free || own.nodes.contains(&share.node), "{own:?}");
            }
        }
    }
}

/// What jobs of a reservation of cores leave of them on a node is free, or is given back by jobs that end
/// before it begins.
fn check_cores(state: &State, reservation: &Reservation, node: &NodeName) {
    let cores = reservation.nodes.iter().zip(&reservation.cores);
    let mut cores = cores.filter(|(own, _)| *own == node);
    let (_, cores) = cores.next().unwrap();
    let id = state.cluster().node(node).unwrap();
    let threads = state.cluster().class(id).sockets.map_or(1, |it| it.threads);
    let jobs = state.jobs_of_reservation(&reservation.name);
    let holding = jobs.filter_map(|record| state.jobs[&record.id].derived.holding.as_ref());
    let shares = holding
        .flat_map(|held| &held.shares)
        .filter(|share| share.node == id);
    let used: u32 = shares.map(Share::cpus).sum();
    let left = (cores * threads).saturating_sub(used);
    let given_back = state.running().filter(|record| {
        let end = record.state.limit_ends();
        end.is_some_and(|end| end <= reservation.start)
    });
    let given_back =
        given_back.filter_map(|record| state.jobs[&record.id].derived.holding.as_ref());
    let given_back = given_back
        .flat_map(|held| &held.shares)
        .filter(|share| share.node == id);
    let free = state.free().amounts(id).cpus + given_back.map(Share::cpus).sum::<u32>();
    assert!(free >= left, "{left} of {reservation:?}");
}

/// None, EASY and Slurm's own, with whole nodes promised.
fn any_backfill() -> impl Strategy<Value = Option<BackfillParameters>> {
    prop_oneof![
        Just(None),
        Just(Some(BackfillParameters {
            promises: 1,
            ..BackfillParameters::default()
        })),
        Just(Some(BackfillParameters::default())),
    ]
}

/// What jobs hold and what is free is all there is, node by node; none of it twice.
fn check_free(state: &State) {
    let cluster = state.cluster();
    let idle = Free::idle(cluster);
    for node in cluster.nodes() {
        let mut sum: Amounts = *state.free().amounts(node);
        let mut gpus = state.free().gpus(node);
        for record in state.running() {
            let job = &state.jobs[&record.id];
            let shares = job.derived.holding.iter().flat_map(|held| &held.shares);
            for share in shares.filter(|share| share.node == node) {
                assert_eq!(gpus & share.gpus, 0, "a GPU was given twice");
                gpus |= share.gpus;
                sum.give(&share.amounts);
            }
        }
        assert_eq!(
            sum,
            *idle.amounts(node),
            "held and free are all of {node:?}"
        );
        assert_eq!(gpus, idle.gpus(node));
    }
}

/// A component that just started did so with all others, and on nodes of its own.
fn check_together(state: &State, started: &Job) {
    let own = started.request.rare.component;
    let others = state.components(started.id).into_iter();
    for other in others.filter(|id| own.is_some() && *id != started.id) {
        let other = state.job(other).unwrap();
        let JobState::Running {
            since, allocation, ..
        } = &other.state
        else {
            panic!("{:?} started without {:?}", started.id, other.id);
        };
        let JobState::Running {
            since: at,
            allocation: own,
            ..
        } = &started.state
        else {
            continue;
        };
        assert_eq!(since, at);
        let has = |share: &model::NodeShare| own.nodes.iter().any(|own| own.node == share.node);
        assert!(
            !allocation.nodes.iter().any(has),
            "two components on one node"
        );
    }
}

/// Clusters, one of which is reconfigured into the others, and what happens.
#[derive(Clone, Debug)]
pub(super) struct Case {
    clusters: [(u32, u32, u32); 3],
    steps: Vec<Step>,
    is_weighted: bool,
    /// A reservation lets no more be said of the order, so half the histories have none.
    has_reservations: bool,
    /// They are of any kind ([`of_any_kind`]).
    of_any_kind: bool,
    backfill: Option<BackfillParameters>,
    preemption: Preemption,
}

pub(super) fn any_case() -> impl Strategy<Value = Case> {
    let clusters = prop::array::uniform3((1_u32..4, 1_u32..4, 1_u32..4));
    let steps = prop::collection::vec(any_step(), 1..50);
    let plain = Preemption {
        by: "none",
        modes: ["off"; 3],
        grace: 0,
        exempt: 0,
        youngest_first: false,
    };
    // Of a cluster on which nothing but the order of partitions and jobs decides, most can be said.
    let rest = prop_oneof![
        1 => Just((false, false, None, plain)),
        2 => (any::<bool>(), any::<bool>(), any_backfill(), any_preemption()),
    ];
    (clusters, steps, rest).prop_map(|(clusters, steps, rest)| {
        let (is_weighted, has_reservations, backfill, preemption) = rest;
        Case {
            clusters,
            steps,
            is_weighted,
            has_reservations,
            of_any_kind: false,
            backfill,
            preemption,
        }
    })
}

/// Where no limit is passed whatever jobs hold.
pub(super) fn any_unlimited_case() -> impl Strategy<Value = Case> {
    any_case().prop_map(|case| Case {
        is_weighted: false,
        ..case
    })
}

/// Submits a job that nothing refuses.
fn submit(world: &mut World, request: Request) {
    let user = World::user_of(&request).1;
    let reserved = world.state.may_be_reserved(&request, user, "");
    let is_admitted = may_fit(&mut world.state, &request) && reserved.is_ok();
    if is_admitted && world.has_room_for(&request) {
        starts_alone(&world.state, &request);
        world.submit(request);
    }
}

/// All of it happens; after each event all properties are looked at.
pub(super) fn play(case: &Case) {
    let clusters = case.clusters.map(|(first, second, gpus)| {
        cluster(first, second, gpus, case.is_weighted, &case.preemption)
    });
    let mut world = World::of(Arc::clone(&clusters[0]));
    world.state.set_backfill(case.backfill);
    for step in case.steps.clone() {
        let at = world.now;
        let next_id = world.state.next_id();
        let running: Vec<_> = world.state.running().map(|record| record.id).collect();
        let pick = |which: usize| Some(running[which.checked_rem(running.len())?]);
        match step {
            Step::Submit(ShortRequest(mut request)) => {
                if !case.has_reservations {
                    request.rare.reservation = None;
                }
                submit(&mut world, *request);
            }
            Step::Again(which, minutes) => {
                let waiting = world.state.live().filter(|job| !running.contains(&job.id));
                let waiting: Vec<Request> =
                    waiting.map(|job| Request::clone(&job.request)).collect();
                if let Some(which) = which.checked_rem(waiting.len()) {
                    let mut request = without_array(waiting[which].clone());
                    request.rare.component = None;
                    if let Some(minutes) = minutes {
                        request.time = Some(TimeLimitRequest::Limit(Seconds(minutes * 60)));
                    }
                    world.now = Timestamp(at.0 + 1000);
                    submit(&mut world, request);
                }
            }
            Step::Together(requests) => {
                let requests: Vec<Request> = requests.into_iter().map(|one| *one.0).collect();
                if requests
                    .iter()
                    .all(|request| may_fit(&mut world.state, request))
                {
                    world.submit_together(requests);
                }
            }
            Step::End(which) => {
                if let Some(job) = pick(which) {
                    let outcome = Outcome::Completed;
                    world.state.apply(Event::Gone { job, outcome, at });
                }
            }
            Step::Requeue(which) => {
                if let Some(job) = pick(which) {
                    let ending = Ending::Requeue {
                        hold: RequeueHold::No,
                        node_failed: true,
                    };
                    world.state.apply(Event::Ending { job, ending });
                    let outcome = Outcome::NodeFail;
                    world.state.apply(Event::Gone { job, outcome, at });
                }
            }
            Step::Suspend(which, is_now) => {
                if let Some(job) = pick(which) {
                    world.state.apply(if is_now {
                        Event::Suspended { job, at }
                    } else {
                        Event::Resumed { job, at }
                    });
                }
            }
            Step::LoseNode(which, node) => {
                let job = pick(which);
                let record = job.and_then(|job| world.state.job(job)).cloned();
                if let (Some(job), Some(JobState::Running { allocation, .. })) =
                    (job, record.map(|record| record.state))
                {
                    let nodes = vec![allocation.nodes[node % allocation.nodes.len()].node.clone()];
                    world.state.apply(Event::Shrunk { job, nodes, at });
                }
            }
            Step::Change(which, change) => {
                let all: Vec<JobId> = world.state.live().map(|record| record.id).collect();
                let job = which.checked_rem(all.len()).map(|which| all[which]);
                if let Some(record) = job.and_then(|job| world.state.job(job)).cloned() {
                    let change = [*change];
                    if !case.has_reservations && matches!(change, [JobChange::Reservation(_)]) {
                        continue;
                    }
                    let update = world.state.changed(&record, &change, true, None, at);
                    if let Ok(update) = update {
                        world.state.apply(Event::Updated {
                            job: record.id,
                            update: Box::new(update),
                            history: Vec::new(),
                            at,
                        });
                    }
                }
            }
            Step::Hold(which, holds) => {
                let all: Vec<JobId> = world.state.live().map(|record| record.id).collect();
                if let Some(which) = which.checked_rem(all.len()) {
                    let (job, hold) = (all[which], holds.then_some(HeldBy::User));
                    world.state.apply(Event::Held { job, hold, at });
                }
            }
            Step::Mark(node, is_up) => {
                let cluster = Arc::clone(world.state.cluster());
                let node = NodeId(node % cluster.node_count());
                let mark = NodeMark {
                    is_drained: !is_up,
                    ..NodeMark::default()
                };
                let node = cluster.node_name(node).clone();
                world.state.apply(Event::NodeMarked { node, mark });
            }
            Step::Reconfigure(which) => {
                let cluster = Arc::clone(&clusters[which]);
                world.state.apply(Event::Reconfigured { cluster, at });
            }
            Step::Reserve(_) if !case.has_reservations => {}
            Step::Reserve(asked) => {
                let asked = if case.of_any_kind {
                    of_any_kind(*asked)
                } else {
                    *asked
                };
                let is_new = world
                    .state
                    .reservation(asked.name.as_deref().unwrap())
                    .is_none();
                if let Ok(reservation) =
                    world.state.reserve(&asked, is_new, &Default::default(), at)
                {
                    world.state.apply(Event::ReservationChanged {
                        name: reservation.name.clone(),
                        reservation: Some(Box::new(reservation)),
                    });
                }
            }
            Step::Unreserve(which) => {
                let names = world.state.reservations().map(|one| one.name.clone());
                let names: Vec<String> = names.collect();
                let name = which
                    .checked_rem(names.len())
                    .map(|which| names[which].clone());
                if let Some(name) = name.filter(|name| world.state.unreserve(name).is_ok()) {
                    let reservation = None;
                    world
                        .state
                        .apply(Event::ReservationChanged { name, reservation });
                }
            }
            Step::Wait(seconds) => world.now = Timestamp(at.0 + seconds * 1000),
        }
        let started = world.started.len();
        let before = world.state.clone();
        world.pass_on();
        let started_now = &world.started[started..];
        // Before it is seen that a restart makes the same of it: where something is wrong, it is told what.
        check_sharing(&world.state, started_now);
        check_nodes(&world.state, started_now);
        let ledger = &world.state.ledger;
        ledger.check(&world.state, &before.ledger, 6, "cpu");
        world.check_rebuilt();
        check_memory(&before, world.now);
        check_order(&before, &world.state, started_now, world.now);
        check_tiers(&before, world.now);
        check_plan(&world.state);
        check_limits(&world.state);
        check_gpus(&world.state);
        check_preempted(&before, &world.state, world.now);
        check_comes_back(&world.state, world.now);
        check_reservations(&world.state, &world.started[started..], world.now);
        for started in &world.started[started..] {
            check_together(&world.state, world.state.job(*started).unwrap());
        }
        if !world.state.held.is_overdrawn {
            check_free(&world.state);
        }
        for record in world.state.running() {
            if let JobState::Running {
                since, allocation, ..
            } = &record.state
                && *since == world.now
            {
                assert!(!allocation.nodes.is_empty());
            }
        }
        // Of another one like the one that just came.
        let new = world.state.live().find(|record| record.id.0 >= next_id);
        if let Some(request) = new.map(|record| Arc::clone(&record.request)) {
            check_wait(&world.state, &without_component(&request), world.now);
        }
    }
    for id in world.state.live().map(|record| record.id).take(ASKED) {
        check_why(&world.state, id, world.now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, max_shrink_iters: 2000, ..ProptestConfig::default() })]
    #[test]
    fn any_history_on_any_cluster(case in any_case()) {
        play(&case);
    }

    #[test]
    fn any_history_with_reservations_of_any_kind(case in any_case()) {
        play(&Case { has_reservations: true, of_any_kind: true, ..case });
    }
}

/// Whether a request is taken, and no partition would have to become larger for it.
fn may_fit(state: &mut State, request: &Request) -> bool {
    let choices = state.admitted(request);
    choices.is_ok_and(|all| all.iter().any(|choice| choice.need.is_possible))
}
