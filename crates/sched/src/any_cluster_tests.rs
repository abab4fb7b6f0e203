//! Random clusters and what happens on them: nothing is held twice, what is held and what is free
//! are all there is, and the rows alone make the same state.

#[path = "any_checks_tests.rs"]
mod checks;
#[path = "any_request_tests.rs"]
mod requests;
#[path = "any_scene_tests.rs"]
mod scene;

use super::comes_back::check_comes_back;
use super::properties::{
    check_gpus, check_limits, check_memory, check_nodes, check_order, check_plan, check_sharing,
    check_tiers, check_wait, starts_alone,
};
use super::why_agrees::check_why;
use super::{ShortRequest, World};
use crate::{BackfillParameters, Event, State};
use checks::{
    check_free, check_preempted, check_reservations, check_sockets, check_together, check_types,
};
use model::{
    Ending, HeldBy, JobChange, JobId, JobState, NodeMark, Outcome, Request, RequeueHold,
    ReservationRequest, Seconds, TimeLimitRequest, Timestamp,
};
use proptest::prelude::*;
use requests::{
    any_change, any_request, any_reservation, of_any_kind, without_array, without_component,
};
use resources::NodeId;
use scene::{Preemption, Scene, any_backfill, any_preemption, cluster};
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

/// Of so many jobs is asked why they wait at the end of a history.
const ASKED: usize = 2;

fn any_step(scene: Scene) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any_request(scene).prop_map(|request| Step::Submit(ShortRequest(Box::new(request)))),
        5 => (any::<usize>(), prop::option::of(1_u64..20))
            .prop_map(|(which, minutes)| Step::Again(which, minutes)),
        1 => prop::collection::vec(any_request(scene), 2..4).prop_map(|all| {
            let all = all.into_iter().map(|one| ShortRequest(Box::new(without_array(one))));
            Step::Together(all.collect())
        }),
        4 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Requeue),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(which, now)| Step::Suspend(which, now)),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(which, node)| Step::LoseNode(which, node)),
        2 => (any::<usize>(), any_change(scene)).prop_map(|(which, change)| {
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

/// Clusters, one of which is reconfigured into the others, and what happens.
#[derive(Clone, Debug)]
pub(super) struct Case {
    scene: Scene,
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

/// Of a cluster of either kind.
pub(super) fn any_case() -> impl Strategy<Value = Case> {
    prop_oneof![any_plain_case(), any_rich_case()]
}

pub(super) fn any_plain_case() -> impl Strategy<Value = Case> {
    any_case_in(Scene::Plain)
}

pub(super) fn any_rich_case() -> impl Strategy<Value = Case> {
    any_case_in(Scene::Rich)
}

fn any_case_in(scene: Scene) -> impl Strategy<Value = Case> {
    let clusters = prop::array::uniform3((1_u32..4, 1_u32..4, 1_u32..4));
    let steps = prop::collection::vec(any_step(scene), 1..50);
    let plain = Preemption {
        by: "none",
        modes: ["off"; 3],
        grace: 0,
        exempt: 0,
        youngest_first: false,
        words: None,
    };
    // Of a cluster on which nothing but the order of partitions and jobs decides, most can be said.
    let rest = prop_oneof![
        1 => Just((false, false, None, plain)),
        2 => (any::<bool>(), any::<bool>(), any_backfill(), any_preemption(scene)),
    ];
    (clusters, steps, rest).prop_map(move |(clusters, steps, rest)| {
        let (is_weighted, has_reservations, backfill, preemption) = rest;
        Case {
            scene,
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

/// Where no limit is passed whatever jobs hold, and every other job wants whole nodes that the rest have too.
pub(super) fn any_unlimited_case() -> impl Strategy<Value = Case> {
    any_plain_case().prop_map(|mut case| {
        for (at, step) in case.steps.iter_mut().enumerate() {
            if let Step::Submit(ShortRequest(request)) = step {
                request.exclusive = at % 2 == 0;
                request.partition = None;
            }
        }
        Case {
            is_weighted: false,
            has_reservations: false,
            ..case
        }
    })
}

/// Where jobs lose their places, and go on as the mode says.
pub(super) fn any_preempted_case(mode: &'static str) -> impl Strategy<Value = Case> {
    any_plain_case().prop_map(move |case| Case {
        is_weighted: false,
        has_reservations: false,
        preemption: Preemption {
            by: "qos",
            modes: [mode; 3],
            grace: 0,
            exempt: 0,
            ..case.preemption
        },
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
    let of_case = |counts| cluster(case.scene, counts, case.is_weighted, &case.preemption);
    let clusters = case.clusters.map(of_case);
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
        check_types(&world.state, started_now);
        check_preempted(&before, &world.state, world.now);
        check_comes_back(&world.state, world.now);
        check_reservations(&world.state, &world.started[started..], world.now);
        for started in &world.started[started..] {
            check_together(&world.state, world.state.job(*started).unwrap());
        }
        if !world.state.held.is_overdrawn {
            check_free(&world.state);
            check_sockets(&world.state);
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
