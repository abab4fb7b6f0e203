//! What is decided between two cycles of backfill, where each counts as a long one: it delays no promise,
//! overtakes no equal job, and a restart leaves the same to those that come.

use super::World;
use super::promises::{any_gpus, hardware, waiting, with_gpus, world};
use crate::cycle::Cycles;
use crate::{Action, BackfillParameters, Event, State};
use model::{JobId, JobState, Outcome, Request, Seconds, TimeLimitRequest, Timestamp};
use proptest::prelude::*;

/// What happens half a second after what happened before.
#[derive(Clone, Debug)]
enum Step {
    Submit(Requested),
    /// The same as a job that waits.
    Again(usize),
    End(usize),
    Cancel(usize),
}

#[derive(Clone, Copy, Debug)]
struct Requested {
    nodes: u32,
    cpus: u32,
    gpus: &'static str,
    minutes: u64,
    is_of_bob: bool,
    /// Of a QOS that lets one job of a user run.
    is_limited: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    nodes: u32,
    is_rich: bool,
    tests: usize,
    tests_of_user: usize,
    before: Vec<Requested>,
    steps: Vec<Step>,
}

fn any_requested(is_rich: bool) -> impl Strategy<Value = Requested> {
    let gpus = if is_rich {
        any_gpus(true).boxed()
    } else {
        Just("").boxed()
    };
    let amounts = (1_u32..4, 1_u32..5, gpus);
    (amounts, 1_u64..30, 0_u32..3, 0_u32..3).prop_map(
        |((nodes, cpus, gpus), minutes, whose, qos)| Requested {
            nodes,
            cpus,
            gpus,
            minutes,
            is_of_bob: whose == 0,
            is_limited: qos == 0,
        },
    )
}

pub(super) fn any_case() -> impl Strategy<Value = Case> {
    any_case_on(false)
}

fn any_case_on(is_rich: bool) -> impl Strategy<Value = Case> {
    let step = prop_oneof![
        4 => any_requested(is_rich).prop_map(Step::Submit),
        4 => any::<usize>().prop_map(Step::Again),
        3 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Cancel),
    ];
    let budgets = (
        1_usize..20,
        prop_oneof![3 => Just(usize::MAX), 1 => 1_usize..4],
    );
    let before = prop::collection::vec(any_requested(is_rich), 1..20);
    let steps = prop::collection::vec(step, 1..40);
    (1_u32..5, budgets, before, steps).prop_map(move |(nodes, budgets, before, steps)| Case {
        nodes,
        is_rich,
        tests: budgets.0,
        tests_of_user: budgets.1,
        before,
        steps,
    })
}

/// The first that waits starts no later than it was promised.
fn check_promise(state: &State, promised: Option<(JobId, Timestamp)>) {
    if let Some((head, promised)) = promised {
        let record = state.job(head);
        // What its owner's other jobs do may keep a limited one.
        let waits = record.is_some_and(|it| {
            matches!(it.state, JobState::Pending { .. }) && it.request.qos.is_none()
        });
        let planned = state.planned(head);
        assert!(
            !waits || planned.is_some_and(|planned| planned <= promised),
            "promise: {planned:?} after {promised:?}"
        );
    }
}

/// No job starts while an equal one of its user waits that comes before it.
fn check_order(state: &State, started: &[JobId]) {
    for own in started.iter().filter_map(|id| state.job(*id)) {
        for other in waiting(state).iter().filter_map(|id| state.job(*id)) {
            let is_equal = other.request == own.request && other.submitter.uid == own.submitter.uid;
            assert!(
                !is_equal || (own.submitted, own.id) < (other.submitted, other.id),
                "order: {:?} started before {:?}",
                own.id,
                other.id
            );
        }
    }
}

/// After a restart the first pass is a cycle: it starts and plans what a cycle without the restart does, and
/// leaves the same to those that come.
fn check_restart(world: &World) {
    let [mut rebuilt, mut state] = [world.rebuilt(), world.state.clone()];
    for state in [&mut rebuilt, &mut state] {
        state.cycles = Cycles::default();
        state.cycles.short = 0;
    }
    let [started, same] = [&mut rebuilt, &mut state].map(|state| {
        let actions = state.schedule(world.now).into_iter();
        let jobs = actions.map(|action| match action {
            Action::Start { job, .. } => job,
            other => panic!("{other:?}"),
        });
        jobs.collect::<Vec<JobId>>()
    });
    assert_eq!(started, same, "restart: a cycle starts others");
    assert!(rebuilt.plan == state.plan, "restart: another plan");
    assert!(
        rebuilt.left_free == state.left_free,
        "restart: something else is left"
    );
}

pub(super) fn play(case: &Case) {
    let (nodes, hardware) = (case.nodes, hardware(case.is_rich));
    let mut world = world(&format!(
        "[nodes.a]\nnames = \"a[1-{nodes}]\"\n{hardware}\
         [partition.all]\ndefault = true\nnodes = \"ALL\"\n\
         [qos.normal]\n[qos.one]\nmax_jobs_per_user = 1\n"
    ));
    let request = |asked: &Requested| {
        let request = Request {
            name: if asked.is_of_bob { "of bob" } else { "" }.to_owned(),
            qos: asked.is_limited.then(|| "one".to_owned()),
            min_nodes: Some(asked.nodes.min(nodes)),
            tasks: Some(asked.nodes.min(nodes)),
            cpus_per_task: Some(asked.cpus),
            time: Some(TimeLimitRequest::Limit(Seconds(asked.minutes * 60))),
            ..Request::default()
        };
        with_gpus(request, asked.gpus)
    };
    world.state.set_backfill(Some(BackfillParameters {
        tests: case.tests,
        tests_of_user: case.tests_of_user,
        ..BackfillParameters::default()
    }));
    world.state.cycles.short = 0;
    for asked in &case.before {
        world.submit(request(asked));
    }
    let begun = world.now;
    world.pass_unchecked();
    let mut promised = waiting(&world.state)
        .first()
        .and_then(|head| Some((*head, world.state.planned(*head)?)));
    for step in &case.steps {
        let at = Timestamp(world.now.0 + 500);
        world.now = at;
        let running: Vec<JobId> = world.state.running().map(|job| job.id).collect();
        let queue = waiting(&world.state);
        let pick = |jobs: &[JobId], which: usize| Some(jobs[which.checked_rem(jobs.len())?]);
        match step {
            Step::Submit(asked) => {
                world.submit(request(asked));
            }
            Step::Again(which) => {
                if let Some(record) = pick(&queue, *which).and_then(|job| world.state.job(job)) {
                    let request = Request::clone(&record.request);
                    world.submit(request);
                }
            }
            Step::End(which) => {
                if let Some(job) = pick(&running, *which) {
                    let outcome = Outcome::Completed;
                    world.state.apply(Event::Gone { job, outcome, at });
                }
            }
            Step::Cancel(which) => {
                if let Some(job) = pick(&queue, *which) {
                    let by = 0;
                    world.state.apply(Event::CancelledWaiting { job, by, at });
                }
            }
        }
        let started = world.started.len();
        world.pass_unchecked();
        assert!(!world.state.held.is_overdrawn, "more is held than there is");
        check_order(&world.state, &world.started[started..]);
        check_restart(&world);
        // Who comes before the first delays it.
        if waiting(&world.state).first() != promised.map(|(head, _)| head).as_ref() {
            promised = None;
        }
    }
    assert!(world.now < Timestamp(begun.0 + 30_000), "no cycle was made");
    world.now = Timestamp(begun.0 + 30_000);
    world.pass_unchecked();
    check_promise(&world.state, promised);
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::default() })]
    #[test]
    fn what_is_decided_between_cycles_keeps_promises_and_the_order(case in prop_oneof![any_case(), any_case_on(true)]) {
        play(&case);
    }
}
