//! Random histories: whatever happens, in whatever order, nothing is given twice and every job ends.

use super::*;
use crate::Job;
use model::{HeldBy, RequeueHold};
use proptest::prelude::*;

/// One thing that happens in a random history.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Submit(ShortRequest),
    End(usize, bool),
    Requeue(usize, RequeueHold),
    Cancel(usize),
    CancelElement(usize, u32),
    Hold(usize, bool),
    Suspend(usize, bool),
    Wait(i64),
}

fn any_request() -> impl Strategy<Value = Request> {
    let dependency = prop_oneof![
        6 => Just(None),
        1 => (1u32..12).prop_map(|id| Some(format!("afterok:{id}"))),
        1 => (1u32..12).prop_map(|id| Some(format!("afternotok:{id}?afterany:{}", id + 1))),
        1 => (1u32..12).prop_map(|id| Some(format!("after:{id}+1"))),
        1 => (1u32..12).prop_map(|id| Some(format!("aftercorr:{id}"))),
        1 => Just(Some("singleton".to_owned())),
    ];
    let array = prop_oneof![
        3 => Just(None),
        1 => (1u32..6, prop::option::of(1u32..3)).prop_map(|(count, throttle)| Some(ArraySpec {
            indices: (0..count).collect(),
            step: 1,
            throttle,
        })),
    ];
    let rest = (
        0u32..4,
        -2i64..3,
        any::<bool>(),
        prop::option::of(0i64..200),
        1u32..3,
        any::<bool>(),
        prop::option::of((60i64..400, prop::option::of(1u64..5))),
    );
    (dependency, array, rest).prop_map(
        |(dependency, array, (cpus, nice, hold, begin, nodes, exclusive, deadline))| Request {
            name: if nice == 0 { "same" } else { "other" }.to_owned(),
            cpus_per_task: Some(cpus.min(if nodes == 2 { 1 } else { 3 })),
            min_nodes: Some(nodes),
            nice,
            hold: hold && nice == 1,
            exclusive: exclusive && nice == 2,
            rare: RareOptions {
                begin: begin.map(|seconds| Timestamp(1_000_000 + seconds * 1000)),
                dependency,
                array,
                deadline: deadline.map(|(seconds, _)| Timestamp(1_000_000 + seconds * 1000)),
                time_min: deadline.and_then(|(_, minutes)| {
                    Some(model::TimeLimitRequest::Limit(Seconds(minutes? * 60)))
                }),
                ..RareOptions::default()
            }
            .into(),
            ..Request::default()
        },
    )
}

fn any_hold() -> impl Strategy<Value = RequeueHold> {
    use RequeueHold::{Held, HeldSpecialExit, No, SpecialExit};
    prop_oneof![3 => Just(No), 1 => Just(Held), 1 => Just(SpecialExit), 1 => Just(HeldSpecialExit)]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_request().prop_map(|request| Step::Submit(ShortRequest(Box::new(request)))),
        4 => (any::<usize>(), any::<bool>()).prop_map(|(which, ok)| Step::End(which, ok)),
        1 => (any::<usize>(), any_hold()).prop_map(|(which, hold)| Step::Requeue(which, hold)),
        1 => any::<usize>().prop_map(Step::Cancel),
        1 => (any::<usize>(), 0u32..6).prop_map(|(which, task)| Step::CancelElement(which, task)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, hold)| Step::Hold(which, hold)),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(which, now)| Step::Suspend(which, now)),
        2 => (0i64..90).prop_map(Step::Wait),
    ]
}

impl World {
    fn pick(&self, which: usize, running: bool) -> Option<JobId> {
        let live = self.state.live();
        let of_kind =
            live.filter(|record| matches!(record.state, JobState::Running { .. }) == running);
        let ids: Vec<JobId> = of_kind.map(|record| record.id).collect();
        ids.get(which.checked_rem(ids.len())?).copied()
    }

    fn step(&mut self, step: Step) {
        let at = self.now;
        let event = match step {
            Step::Submit(ShortRequest(mut request)) => {
                // The engine refuses a dependency on a job that never was.
                let dependency = request.rare.dependency.as_deref();
                let dependency = dependency.map(|text| model::Dependency::parse(text).unwrap());
                let known = |id: JobId| id.0 < self.state.next_id();
                if dependency.is_some_and(|it| !it.targets().all(known)) {
                    request.rare.dependency = None;
                }
                self.submit(*request);
                return;
            }
            Step::End(which, ok) => self.pick(which, true).map(|job| Event::Gone {
                job,
                outcome: if ok { Outcome::Completed } else { failed() },
                at,
            }),
            Step::Requeue(which, hold) => self.pick(which, true).map(|job| Event::Ending {
                job,
                ending: Ending::Requeue {
                    hold,
                    node_failed: true,
                },
            }),
            Step::Cancel(which) => {
                self.pick(which, false)
                    .map(|job| Event::CancelledWaiting { job, by: 0, at })
            }
            Step::CancelElement(which, task) => {
                self.pick(which, false).map(|job| Event::CancelledElements {
                    job,
                    tasks: vec![task],
                    by: 0,
                    at,
                })
            }
            Step::Hold(which, hold) => self.pick(which, false).map(|job| {
                let hold = hold.then_some(HeldBy::User);
                Event::Held { job, hold, at }
            }),
            Step::Suspend(which, true) => self
                .pick(which, true)
                .map(|job| Event::Suspended { job, at }),
            Step::Suspend(which, false) => {
                self.pick(which, true).map(|job| Event::Resumed { job, at })
            }
            Step::Wait(seconds) => {
                self.now = Timestamp(at.0 + seconds * 1000);
                None
            }
        };
        if let Some(event) = event {
            self.state.apply(event);
        }
    }
}

/// What happens, and whether a pass follows.
pub(super) fn any_case() -> impl Strategy<Value = Vec<(Step, bool)>> {
    prop::collection::vec((any_step(), any::<bool>()), 1..60)
}

pub(super) fn play(steps: &[(Step, bool)]) {
    let mut world = World::new(3);
    for (step, pass) in steps.iter().cloned() {
        world.step(step);
        if pass {
            world.pass();
        }
    }
    // From here on everything is released and runs to its end; what waits for what can't
    // come any more is cancelled.
    world.now = Timestamp(world.now.0 + 1_000_000);
    for _ in 0..1000 {
        world.pass();
        let live: Vec<Job> = world.state.live().cloned().collect();
        if live.is_empty() {
            break;
        }
        let mut moved = false;
        for record in live {
            let (job, at) = (record.id, world.now);
            let event = match record.state {
                JobState::Running { .. } => Event::Gone {
                    job,
                    outcome: Outcome::Completed,
                    at,
                },
                JobState::Pending { reason } if reason.is_hold() => Event::Held {
                    job,
                    hold: None,
                    at,
                },
                JobState::Pending {
                    reason: PendingReason::DependencyNeverSatisfied,
                } => Event::CancelledWaiting { job, by: 0, at },
                _ => continue,
            };
            world.state.apply(event);
            moved = true;
        }
        // `after:ID+1` waits for a minute to pass; jobs may wait for each other in a ring.
        if !moved {
            world.now = Timestamp(world.now.0 + 60_000);
            if world.state.schedule(world.now).is_empty() {
                let job = world.state.live().next().map(|record| record.id);
                let at = world.now;
                if let Some(job) = job {
                    world
                        .state
                        .apply(Event::CancelledWaiting { job, by: 0, at });
                }
            }
        }
    }
    assert_eq!(world.state.live().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::default() })]
    #[test]
    fn any_history_keeps_the_invariants_and_every_job_ends(steps in any_case()) {
        play(&steps);
    }
}
