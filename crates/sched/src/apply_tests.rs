#![expect(clippy::unwrap_used, reason = "a test fails loudly")]
use crate::testing::machine;
use crate::{Action, Event, Finished, Job, Saved, State};
use model::{
    ArraySpec, ArrayTask, ComponentPlace, Ending, HeldBy, JobId, JobState, NodeMark, Outcome,
    PendingReason, RareOptions, Request, RequeueHold, Seconds, Submitter, TimeLimitRequest,
    Timestamp, WaitStatus,
};
use resources::{Cluster, Denial, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[path = "any_history_tests.rs"]
mod any_history;

#[path = "any_cluster_tests.rs"]
mod any_cluster;

#[path = "properties_tests.rs"]
mod properties;

#[path = "why_agrees_tests.rs"]
mod why_agrees;

#[path = "comes_back_tests.rs"]
mod comes_back;

#[path = "promises_tests.rs"]
mod promises;

#[path = "between_cycles_tests.rs"]
mod between_cycles;

#[path = "mutants_tests.rs"]
mod mutants;

/// A request of a history, of which what was asked is shown.
#[derive(Clone)]
struct ShortRequest(Box<Request>);

impl std::fmt::Debug for ShortRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (own, none) = (
            format!("{:#?}", self.0),
            format!("{:#?}", Request::default()),
        );
        let is_asked = |line: &&str| !none.lines().any(|other| other == *line);
        let lines: Vec<&str> = own.lines().filter(is_asked).map(str::trim).collect();
        write!(formatter, "{{ {} }}", lines.join(" "))
    }
}

/// A scheduler with the rows that a store would hold.
struct World {
    state: State,
    rows: BTreeMap<JobId, Job>,
    arrays: BTreeMap<JobId, ArraySpec>,
    usage: BTreeMap<crate::Member, crate::priority::Usage>,
    spent: BTreeMap<crate::Spending, crate::priority::Usage>,
    now: Timestamp,
    /// Starts in the order in which they came.
    started: Vec<JobId>,
}

impl World {
    fn new(cpus: u32) -> World {
        World {
            state: State::new(machine(cpus), (0..cpus).collect()),
            rows: BTreeMap::new(),
            arrays: BTreeMap::new(),
            usage: BTreeMap::new(),
            spent: BTreeMap::new(),
            now: Timestamp(1_000_000),
            started: Vec::new(),
        }
    }

    fn of(cluster: Arc<Cluster>) -> World {
        World {
            state: State::new(cluster, Arc::default()),
            ..World::new(1)
        }
    }

    fn history(&self, request: &Request) -> Vec<Finished> {
        let dependency = request.rare.dependency.as_deref();
        let dependency = dependency.map(|text| model::Dependency::parse(text).unwrap());
        let targets: BTreeSet<JobId> = dependency.iter().flat_map(|it| it.targets()).collect();
        let finished = self.rows.values().flat_map(Finished::of);
        finished.filter(|it| targets.contains(&it.target)).collect()
    }

    fn submit(&mut self, request: Request) -> JobId {
        let id = self.state.new_id();
        if let Some(spec) = &request.rare.array {
            self.arrays.insert(id, spec.clone());
        }
        let record = World::record(id, request, self.now);
        let record = Job {
            batch: record.request.rare.comment.is_none(),
            ..record
        };
        let history = self.history(&record.request);
        self.state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history,
            at: self.now,
        });
        id
    }

    /// Whose job it is.
    fn user_of(request: &Request) -> (u32, &'static str) {
        if request.name == "of bob" {
            (1001, "bob")
        } else {
            (1000, "u")
        }
    }

    fn record(id: JobId, request: Request, now: Timestamp) -> Job {
        let (uid, user) = World::user_of(&request);
        let submitter = Submitter {
            uid,
            user: user.to_owned(),
            ..Submitter::default()
        };
        Job::submitted(id, request, Arc::new(submitter), now)
    }

    /// Whether limits on submissions let one more job in.
    fn has_room_for(&self, request: &Request) -> bool {
        let record = World::record(JobId(self.state.next_id()), request.clone(), self.now);
        self.state.has_room_for(&[record]).is_ok()
    }

    /// Components of a heterogeneous job.
    fn submit_together(&mut self, requests: Vec<Request>) -> Vec<JobId> {
        let leader = JobId(self.state.next_id());
        let size = requests.len() as u32;
        let submit = |(offset, mut request): (u32, Request)| {
            let place = ComponentPlace {
                leader,
                offset,
                size,
                batch: true,
            };
            request.rare.component = Some(place);
            self.submit(request)
        };
        (0..).zip(requests).map(submit).collect()
    }

    /// A pass, as the engine makes one after each batch of events: rows written, then checked.
    fn pass(&mut self) -> Vec<Action> {
        let actions = self.pass_unchecked();
        self.check();
        actions
    }

    /// The same on any cluster.
    fn pass_on_any(&mut self) {
        self.pass_on();
        self.check_rebuilt();
    }

    /// A pass, and a second one once those have ended whose time is over.
    fn pass_on(&mut self) {
        for action in self.pass_unchecked() {
            if let Action::Expire(job) = action {
                let status = WaitStatus::default();
                let ending = Ending::End(Outcome::Timeout { status });
                self.state.apply(Event::Ending { job, ending });
            }
        }
        self.pass_unchecked();
    }

    fn pass_unchecked(&mut self) -> Vec<Action> {
        let actions = self.state.schedule(self.now);
        let changes = self.state.take_changes();
        for id in changes.live {
            let record = self.state.job(id).unwrap().clone();
            self.rows.insert(id, record);
        }
        for record in changes.ended {
            self.rows.insert(record.id, record);
        }
        self.usage.extend(changes.usage);
        self.spent.extend(changes.spent);
        assert!(changes.shown.iter().all(|id| self.rows.contains_key(id)));
        for action in &actions {
            if let Action::Start { job, .. } = action {
                self.started.push(*job);
            }
        }
        actions
    }

    /// A row without what is derived.
    fn stored(&self, record: &Job) -> Job {
        let mut record = record.clone();
        if let JobState::Pending { reason } = &mut record.state
            && !reason.is_hold()
        {
            *reason = PendingReason::None;
        }
        if let Some(place) = &mut record.array
            && let ArrayTask::Waiting(spec) = &mut place.task
        {
            let own_row = |task: u32| {
                self.rows.values().any(|row| {
                    let other = row.array.as_ref();
                    other.is_some_and(|other| {
                        other.array_job == place.array_job && other.task == ArrayTask::One(task)
                    })
                })
            };
            spec.indices = self.arrays[&place.array_job].indices.clone();
            spec.indices.retain(|task| !own_row(*task));
        }
        record
    }

    fn rebuilt(&self) -> State {
        let live = self.rows.values().filter(|record| record.state.is_live());
        let live: Vec<Job> = live.map(|record| self.stored(record)).collect();
        let array = |record: &Job| Some(record.array.as_ref()?.array_job);
        let ids: BTreeSet<JobId> = live.iter().filter_map(array).collect();
        Saved {
            next_id: self.state.next_id(),
            version: self.state.version(),
            arrays: ids
                .into_iter()
                .map(|id| (id, self.arrays[&id].clone()))
                .collect(),
            history: live
                .iter()
                .flat_map(|record| self.history(&record.request))
                .collect(),
            live,
            nodes: self.state.marks.clone().into_iter().collect(),
            usage: self.usage.clone().into_iter().collect(),
            spent: self.spent.clone().into_iter().collect(),
            reservations: self.state.reservations().cloned().collect(),
            nodes_open_below: 0,
        }
        .into_state(&self.state, self.now)
    }

    /// Nothing is given twice, and the rows alone make the same state.
    #[track_caller]
    fn check(&mut self) {
        let mut cpus = BTreeSet::new();
        let mut memory = 0;
        let mut per_array: BTreeMap<JobId, u32> = BTreeMap::new();
        for record in self.state.live() {
            if let JobState::Running {
                allocation,
                suspension,
                ..
            } = &record.state
            {
                for share in &allocation.nodes {
                    // A suspended job has no CPUs, and a resumed one has them whoever else does.
                    for cpu in share.cpus.iter().filter(|_| suspension.is_none()) {
                        assert!(cpus.insert(*cpu), "CPU {cpu} was given twice");
                    }
                    memory += share.memory;
                }
                if let Some(place) = &record.array {
                    *per_array.entry(place.array_job).or_default() += 1;
                }
            }
        }
        let runs = |record: &&Job| matches!(record.state, JobState::Running { .. });
        let running: Vec<&Job> = self.state.live().filter(runs).collect();
        assert_eq!(self.state.running().collect::<Vec<_>>(), running);
        let all = self.state.live().count();
        assert_eq!(self.state.waiting_count(), all - running.len());
        assert_eq!(self.state.newer(0).count(), all);
        assert_eq!(self.state.newer(self.state.version()).count(), 0);
        let cluster = self.state.cluster();
        let total = cluster.class(NodeId(0)).total;
        assert!(cpus.iter().all(|cpu| *cpu < total.cpus));
        assert!(memory <= total.mem_mib.into());
        for (array, running) in per_array {
            if let Some(most) = self.arrays[&array].throttle {
                assert!(running <= most, "array {array} over its throttle");
            }
        }
        self.check_rebuilt();
    }

    /// The rows alone make the same state, once a pass was over both: a job that is over a limit with
    /// the nodes that it was given may find them taken by others that came after it.
    #[track_caller]
    fn check_rebuilt(&self) {
        let mut rebuilt = self.rebuilt();
        assert_eq!(
            rebuilt.schedule(self.now),
            vec![],
            "a restart starts nothing"
        );
        // Not `assert_eq`, which would show two whole states: the rows differ or the indices do.
        // Versions tell what changed since when, which is another matter after a restart.
        let mut state = self.state.clone();
        assert_eq!(state.schedule(self.now), vec![], "nor does another pass");
        // Where no job waits for its turn nothing is worked out.
        state.work_out_priorities(self.now);
        for state in [&mut rebuilt, &mut state] {
            state.take_changes();
            state.version = 0;
            state.versions = state.jobs.keys().map(|id| (0, *id)).collect();
            for job in state.jobs.values_mut() {
                job.record.version = 0;
            }
        }
        let rows = |state: &State| state.live().cloned().collect::<Vec<_>>();
        let pairs = rows(&rebuilt).into_iter().zip(rows(&state));
        pairs.for_each(|(rebuilt, row)| assert_eq!(rebuilt, row));
        let same = [
            ("held", rebuilt.held == state.held),
            ("marks", rebuilt.marks == state.marks),
            ("jobs", rebuilt.jobs == state.jobs),
            ("ready", rebuilt.ready == state.ready),
            ("unseen", rebuilt.unseen == state.unseen),
            ("first", rebuilt.first == state.first),
            ("limited", rebuilt.limited == state.limited),
            ("priorities", rebuilt.priorities == state.priorities),
            ("ledger", rebuilt.ledger == state.ledger),
            ("in queue", rebuilt.in_queue == state.in_queue),
            ("spent", rebuilt.spent == state.spent),
            ("expiries", rebuilt.expiries == state.expiries),
            ("timed", rebuilt.timed == state.timed),
            ("plan", rebuilt.plan == state.plan),
            ("left free", rebuilt.left_free == state.left_free),
        ];
        let other: Vec<&str> = same
            .iter()
            .filter(|(_, same)| !same)
            .map(|(name, _)| *name)
            .collect();
        assert!(
            rebuilt == state,
            "after a restart {other:?} or another index differs"
        );
    }

    #[track_caller]
    fn state_of(&self, id: JobId) -> String {
        match &self.state.job(id).unwrap_or_else(|| &self.rows[&id]).state {
            JobState::Pending { reason } => format!("{reason:?}"),
            JobState::Running { .. } => "Running".to_owned(),
            JobState::Ended { outcome, .. } => format!("{outcome:?}"),
        }
    }

    fn end(&mut self, id: JobId, outcome: Outcome) {
        let at = self.now;
        self.state.apply(Event::Gone {
            job: id,
            outcome,
            at,
        });
        self.pass();
    }

    fn completed(&mut self, id: JobId) {
        self.end(id, Outcome::Completed);
    }
}

impl Saved {
    fn into_state(self, like: &State, now: Timestamp) -> State {
        let cluster = Arc::clone(like.cluster());
        let mut state = State::rebuild(cluster, like.cpu_numbers(), self, now);
        state.backfill = like.backfill;
        state.take_changes();
        state
    }
}

fn cpus(count: u32) -> Request {
    Request {
        cpus_per_task: Some(count),
        ..Request::default()
    }
}

fn after(text: &str) -> Request {
    Request {
        rare: RareOptions {
            dependency: Some(text.to_owned()),
            ..RareOptions::default()
        }
        .into(),
        ..Request::default()
    }
}

fn array(indices: std::ops::Range<u32>, throttle: Option<u32>) -> Request {
    Request {
        rare: RareOptions {
            array: Some(ArraySpec {
                indices: indices.collect(),
                step: 1,
                throttle,
            }),
            ..RareOptions::default()
        }
        .into(),
        ..Request::default()
    }
}

fn failed() -> Outcome {
    Outcome::Failed {
        status: WaitStatus::exit(1),
    }
}

#[test]
fn first_in_first_out_and_the_head_blocks() {
    let mut world = World::new(2);
    let big = world.submit(cpus(1));
    let blocked = world.submit(cpus(2));
    let small = world.submit(cpus(1));
    world.pass();
    assert_eq!(world.state_of(big), "Running");
    assert_eq!(world.state_of(blocked), "Resources");
    assert_eq!(world.state_of(small), "Priority");
    world.completed(big);
    assert_eq!(world.state_of(blocked), "Running");
    assert_eq!(world.state_of(small), "Resources");
    world.completed(blocked);
    assert_eq!(world.state_of(small), "Running");
}

#[test]
fn nice_jobs_wait_and_held_ones_do_not_block() {
    let mut world = World::new(1);
    let nice = world.submit(Request {
        nice: 100,
        ..Request::default()
    });
    let held = world.submit(Request {
        hold: true,
        ..Request::default()
    });
    let plain = world.submit(Request::default());
    world.pass();
    assert_eq!(world.state_of(plain), "Running");
    assert_eq!(world.state_of(held), "JobHeldUser");
    assert_eq!(world.state_of(nice), "Resources");
    let at = world.now;
    world.state.apply(Event::Held {
        job: held,
        hold: None,
        at,
    });
    world.pass();
    world.completed(plain);
    assert_eq!(world.state_of(held), "Running");
}

#[test]
fn begin_time_is_waited_for() {
    let mut world = World::new(1);
    let later = world.submit(Request {
        rare: RareOptions {
            begin: Some(Timestamp(2_000_000)),
            ..RareOptions::default()
        }
        .into(),
        ..Request::default()
    });
    world.pass();
    assert_eq!(world.state_of(later), "BeginTime");
    assert_eq!(world.state.next_due(), Some(Timestamp(2_000_000)));
    world.now = Timestamp(2_000_000);
    world.pass();
    assert_eq!(world.state_of(later), "Running");
    assert_eq!(world.state.next_due(), None);
}

#[test]
fn an_array_splits_at_its_starts_and_keeps_its_id_for_the_last() {
    let mut world = World::new(2);
    let id = world.submit(array(0..3, None));
    world.pass();
    assert_eq!(world.started, [JobId(2), JobId(3)]);
    let place = |world: &World, id: u32| world.rows[&JobId(id)].array.clone().unwrap().task;
    assert_eq!(place(&world, 2), ArrayTask::One(0));
    assert_eq!(place(&world, 3), ArrayTask::One(1));
    world.completed(JobId(2));
    assert_eq!(place(&world, 1), ArrayTask::One(2));
    assert_eq!(world.state_of(id), "Running");
    assert_eq!(world.state.array_facts(id).unwrap().count, 3);
}

#[test]
fn a_throttled_array_lets_others_pass() {
    let mut world = World::new(3);
    let id = world.submit(array(0..4, Some(1)));
    let other = world.submit(Request::default());
    world.pass();
    assert_eq!(world.state_of(id), "JobArrayTaskLimit");
    assert_eq!(world.state_of(other), "Running");
    assert_eq!(world.started, [JobId(3), other]);
    world.completed(JobId(3));
    assert_eq!(world.started, [JobId(3), other, JobId(4)]);
}

/// The age of each element began anew at its turn, and all that was submitted since overtook it.
#[test]
fn the_age_of_what_waits_for_its_array_goes_on() {
    let mut world = World::new(3);
    let begun = world.now;
    let id = world.submit(array(0..3, Some(1)));
    world.pass();
    let stands = |world: &World| {
        let row = &world.rows[&id];
        (row.eligible, row.rare.accrues)
    };
    assert_eq!(world.state_of(id), "JobArrayTaskLimit");
    assert_eq!(stands(&world), (None, Some(begun)));
    // Filed anew it is as it was.
    world.state.apply(Event::Reconfigured {
        cluster: machine(3),
        at: world.now,
    });
    assert!(!world.state.take_changes().live.contains(&id));
    world.now = Timestamp(1_060_000);
    world.completed(JobId(2));
    let second = &world.rows[&JobId(3)];
    assert_eq!(second.eligible, Some(world.now));
    assert_eq!(second.rare.accrues, Some(begun));
    assert_eq!(stands(&world), (None, Some(begun)));
}

#[test]
fn dependencies() {
    let mut world = World::new(1);
    let first = world.submit(Request::default());
    let ok = world.submit(after("afterok:1"));
    let not_ok = world.submit(after("afternotok:1"));
    let any = world.submit(after("afterany:1"));
    let started = world.submit(after("after:1+1"));
    let either = world.submit(after("afterok:1?afternotok:1"));
    world.pass();
    assert_eq!(world.state_of(ok), "Dependency");
    assert_eq!(world.state.next_due(), Some(Timestamp(1_060_000)));
    world.end(first, failed());
    assert_eq!(world.state_of(ok), "DependencyNeverSatisfied");
    assert_eq!(world.state_of(not_ok), "Running");
    assert_eq!(world.state_of(any), "Resources");
    assert_eq!(world.state_of(either), "Priority");
    assert_eq!(world.state_of(started), "Dependency");
    world.now = Timestamp(1_060_000);
    world.pass();
    assert_eq!(world.state_of(started), "Priority");
    // What ended long ago is asked of the store.
    let late = world.submit(after("afterok:1"));
    world.pass();
    assert_eq!(world.state_of(late), "DependencyNeverSatisfied");
}

#[test]
fn corresponding_elements() {
    let mut world = World::new(2);
    let first = world.submit(array(0..2, None));
    let corresponds = |rare: &mut RareOptions| rare.dependency = Some("aftercorr:1".to_owned());
    let second = world.submit(array(0..2, None).with_rare(corresponds));
    world.pass();
    assert_eq!(world.state_of(second), "Dependency");
    let [zero, one] = world.started[..] else {
        panic!("two elements run")
    };
    world.completed(zero);
    assert_eq!(world.started.len(), 3, "element 0 of the second follows");
    let follower = world.rows[&world.started[2]].array.clone().unwrap();
    assert_eq!(follower.array_job, second);
    assert_eq!(follower.task, ArrayTask::One(0));
    world.end(one, failed());
    assert_eq!(world.state_of(second), "DependencyNeverSatisfied");
    assert_eq!(first, one);
}

#[test]
fn singleton() {
    let mut world = World::new(4);
    let first = world.submit(after("singleton"));
    let second = world.submit(after("singleton"));
    let third = world.submit(after("singleton"));
    world.pass();
    assert_eq!(world.started, [first]);
    world.completed(first);
    assert_eq!(world.started, [first, second]);
    assert_eq!(world.state_of(third), "Dependency");
    world.completed(second);
    assert_eq!(world.started, [first, second, third]);
}

/// As in Slurm, which asks whether the other waits.
#[test]
fn a_job_that_waits_again_has_not_begun() {
    let mut world = World::new(2);
    let first = world.submit(Request::default());
    world.pass();
    let soon = world.submit(after("after:1+1"));
    world.state.apply(Event::Ending {
        job: first,
        ending: Ending::Requeue {
            hold: RequeueHold::Held,
            node_failed: false,
        },
    });
    world.completed(first);
    world.now = world.now + Seconds(120);
    let late = world.submit(after("after:1"));
    world.pass();
    assert_eq!(world.state_of(soon), "Dependency");
    assert_eq!(world.state_of(late), "Dependency");
}

#[test]
fn a_requeue_counts_and_a_cancel_overrules_it() {
    let mut world = World::new(1);
    let id = world.submit(Request::default());
    world.pass();
    let requeue = |hold| Event::Ending {
        job: id,
        ending: Ending::Requeue {
            hold,
            node_failed: false,
        },
    };
    world.now = world.now + Seconds(1);
    world.state.apply(requeue(RequeueHold::No));
    world.pass();
    world.completed(id);
    assert_eq!(world.state_of(id), "Running");
    assert_eq!(world.rows[&id].restarts, 1);
    world.state.apply(requeue(RequeueHold::Held));
    world.completed(id);
    assert_eq!(world.state_of(id), "RequeuedHeld");
    let at = world.now;
    world.state.apply(Event::Held {
        job: id,
        hold: None,
        at,
    });
    world.pass();
    world.state.apply(requeue(RequeueHold::No));
    let cancelled = Outcome::cancelled(0, WaitStatus::signal(15));
    world.state.apply(Event::Ending {
        job: id,
        ending: Ending::End(cancelled.clone()),
    });
    world.end(id, cancelled.clone());
    assert_eq!(world.state_of(id), format!("{cancelled:?}"));
}

#[test]
fn a_requeue_overrules_an_end_and_the_loss_of_a_node_does_not() {
    let status = WaitStatus::default();
    let timeout = Outcome::Timeout { status };
    let cancelled = Outcome::cancelled(0, status);
    let ends = |outcome: Outcome, node_failed| {
        let mut world = World::new(1);
        let job = world.submit(Request::default());
        world.pass();
        world.now = world.now + Seconds(1);
        let requeue = Ending::Requeue {
            hold: RequeueHold::Held,
            node_failed,
        };
        for ending in [Ending::End(outcome.clone()), requeue] {
            world.state.apply(Event::Ending { job, ending });
        }
        world.end(job, outcome);
        world.state_of(job)
    };
    assert_eq!(ends(Outcome::Completed, false), "RequeuedHeld");
    assert_eq!(ends(timeout.clone(), false), "RequeuedHeld");
    assert_eq!(ends(cancelled.clone(), false), "RequeuedHeld");
    // What is through needs its node no more.
    assert_eq!(ends(cancelled.clone(), true), format!("{cancelled:?}"));
    assert_eq!(ends(Outcome::Completed, true), "Completed");
    assert_eq!(ends(timeout.clone(), true), format!("{timeout:?}"));
}

#[test]
fn a_job_that_requeues_itself_at_once_waits_a_second() {
    let mut world = World::new(1);
    let id = world.submit(Request::default());
    world.pass();
    for restart in 1..4 {
        let ending = Ending::Requeue {
            hold: RequeueHold::No,
            node_failed: false,
        };
        world.state.apply(Event::Ending { job: id, ending });
        world.completed(id);
        assert_eq!(world.state_of(id), "BeginTime");
        assert_eq!(world.state.next_due(), Some(world.now + Seconds(1)));
        world.now = world.now + Seconds(1);
        world.pass();
        assert_eq!(world.state_of(id), "Running");
        assert_eq!(world.rows[&id].restarts, restart);
    }
}

/// As in Slurm, where submission was at one time an element goes by the id of its array.
#[test]
fn an_element_that_waits_again_goes_before_what_came_after_its_array() {
    let mut world = World::new(1);
    let array = world.submit(Request {
        rare: RareOptions {
            array: Some(ArraySpec {
                indices: vec![0, 1],
                step: 1,
                throttle: None,
            }),
            ..RareOptions::default()
        }
        .into(),
        ..Request::default()
    });
    let after = world.submit(Request::default());
    world.pass();
    let element = JobId(after.0 + 1);
    assert_eq!(world.state_of(element), "Running");
    let ending = Ending::Requeue {
        hold: RequeueHold::Held,
        node_failed: false,
    };
    let job = element;
    world.state.apply(Event::Ending { job, ending });
    world.completed(element);
    assert_eq!(world.state_of(array), "Running");
    world.now = world.now + Seconds(1);
    let (hold, at) = (None, world.now);
    world.state.apply(Event::Held { job, hold, at });
    world.pass();
    world.completed(array);
    assert_eq!(world.state_of(element), "Running");
    assert_eq!(world.state_of(after), "Resources");
}

#[test]
fn an_allocation_without_a_script_expires() {
    let mut world = World::new(1);
    let id = world.submit(Request {
        rare: RareOptions {
            comment: Some("no script".to_owned()),
            ..RareOptions::default()
        }
        .into(),
        time: Some(TimeLimitRequest::Limit(Seconds(60))),
        ..Request::default()
    });
    world.pass();
    assert_eq!(world.state.next_due(), Some(Timestamp(1_060_000)));
    world.now = Timestamp(1_060_000);
    let actions = world.state.schedule(world.now);
    assert_eq!(actions, [Action::Expire(id)]);
}

#[test]
fn a_clock_that_is_set_neither_ends_nor_prolongs_an_allocation() {
    for hour in [3_600_000, -3_600_000] {
        let mut world = World::new(1);
        let id = world.submit(Request {
            rare: RareOptions {
                comment: Some("no script".to_owned()),
                ..RareOptions::default()
            }
            .into(),
            time: Some(TimeLimitRequest::Limit(Seconds(60))),
            ..Request::default()
        });
        world.pass();
        let clock_set = Event::ClockSet { by_ms: hour };
        world.state.apply(clock_set);
        let end = Timestamp(1_060_000 + hour);
        assert_eq!(world.state.next_due(), Some(end));
        assert_eq!(world.state.schedule(Timestamp(end.0 - 1)), []);
        assert_eq!(world.state.schedule(end), [Action::Expire(id)]);
        let JobState::Running { since, .. } = world.state.job(id).unwrap().state else {
            panic!("it runs");
        };
        assert_eq!(since, Timestamp(1_000_000 + hour));
        assert!(world.state.take_changes().live.contains(&id));
    }
}

#[test]
fn a_pass_over_many_waiting_jobs_looks_at_the_head_alone() {
    let mut state = World::new(1);
    for _ in 0..10_000 {
        state.submit(Request::default());
    }
    // Ten thousand starts and ends; a pass that looked at all would take 10^8 steps.
    let mut done = 0;
    while done < 10_000 {
        let actions = state.state.schedule(state.now);
        for action in actions {
            let Action::Start { job, .. } = action else {
                continue;
            };
            state.state.apply(Event::Gone {
                job,
                outcome: Outcome::Completed,
                at: state.now,
            });
            done += 1;
        }
        state.state.take_changes();
    }
    assert_eq!(state.state.live().count(), 0);
}

#[test]
fn an_estimate_waits_for_the_ends_of_running_jobs_alone() {
    let minutes = |minutes: u64| Some(TimeLimitRequest::Limit(Seconds(minutes * 60)));
    let asks = |tasks: u32, time| Request {
        tasks: Some(tasks),
        time,
        ..Request::default()
    };
    let mut world = World::new(4);
    let now = world.now;
    let at = |world: &mut World, request: &Request| {
        let estimate = world.state.estimate(request, 0, world.now).unwrap();
        (estimate.at.seconds() - now.seconds(), estimate.cpus)
    };
    assert_eq!(at(&mut world, &asks(4, None)), (0, 4));
    world.submit(asks(2, minutes(10)));
    world.submit(asks(1, minutes(5)));
    // It waits, and is not counted.
    world.submit(asks(3, minutes(60)));
    let _actions = world.pass();
    assert_eq!(at(&mut world, &asks(1, None)), (0, 1));
    assert_eq!(at(&mut world, &asks(2, None)), (300, 2));
    assert_eq!(at(&mut world, &asks(4, None)), (600, 4));
    let later = Request {
        rare: RareOptions {
            begin: Some(now + Seconds(400)),
            ..RareOptions::default()
        }
        .into(),
        ..asks(2, None)
    };
    assert_eq!(at(&mut world, &later), (400, 2));
    assert!(world.state.estimate(&asks(5, None), 0, now).is_err());
    let exclusive = Request {
        exclusive: true,
        ..asks(1, None)
    };
    assert_eq!(at(&mut world, &exclusive).0, 600);
    // Asking takes no id.
    assert_eq!(world.state.next_id(), 4);
}

#[test]
fn an_estimate_counts_on_no_node_that_is_drained() {
    let mut world = World::new(4);
    let now = world.now;
    let node = world.state.cluster().node_name(NodeId(0)).clone();
    let mark = NodeMark {
        is_drained: true,
        ..NodeMark::default()
    };
    world.state.apply(Event::NodeMarked { node, mark });
    let refused = world.state.estimate(&Request::default(), 0, now);
    let refused = refused.expect_err("no node is up");
    assert_eq!(refused.denial, Denial::NodesAway);
    assert_eq!(
        refused.denial.words(),
        "Requested node configuration is not available"
    );
}

#[test]
fn a_turn_changes_no_row_of_a_job_that_goes_on_waiting() {
    let mut world = World::new(1);
    for _ in 0..10_000 {
        world.submit(Request::default());
    }
    world.state.schedule(world.now);
    world.state.take_changes();
    let job = world.state.running().next().unwrap().id;
    world.state.apply(Event::Gone {
        job,
        outcome: Outcome::Completed,
        at: world.now,
    });
    world.state.schedule(world.now);
    let changes = world.state.take_changes();
    // The one that started; of the next in line only the reason is another now, which is in no row.
    assert_eq!((changes.live.len(), changes.ended.len()), (1, 1));
    assert_eq!(changes.shown.len(), 1);
    let newest = world.state.version() - 3;
    assert_eq!(world.state.newer(newest).count(), 2);
}

/// The limit with which a job of four hours starts where two are allowed; none if it waits.
#[track_caller]
fn check_long_job(limits: &str, want: Option<u64>) {
    let text = format!(
        "[nodes.a]\nnames = \"a1\"\ncpus = 1\n[partition.gpu]\nnodes = [\"a\"]\ndefault = true\n\
         max_time = \"2:00:00\"\n[limits]\n{limits}\n"
    );
    let file = cluster_file::ClusterFile::parse("site", &text).unwrap();
    let mut world = World::of(Arc::new(Cluster::build(&file, resources::Trust::All)));
    let id = world.submit(Request {
        time: Some(TimeLimitRequest::Limit(Seconds(4 * 3600))),
        ..Request::default()
    });
    world.pass();
    let limit = match &world.rows[&id].state {
        JobState::Running { limit, .. } => *limit,
        _ => None,
    };
    assert_eq!(limit, want.map(Seconds));
}

#[test]
fn where_limits_cut_a_longer_job_starts_and_ends_at_the_limit() {
    check_long_job("cut_at_max_time = true", Some(2 * 3600));
    check_long_job("cut_at_max_time = false", None);
    check_long_job("", None);
}

#[test]
fn cpus_of_others_are_not_given() {
    let mut world = World::new(4);
    let bar = |world: &mut World, cpus: &[u32]| {
        let cpus = cpus.iter().copied().collect();
        world.state.apply(Event::CpusBarred(cpus));
        world.pass_unchecked();
    };
    let asks = |cpus: u32| Request {
        cpus_per_task: Some(cpus),
        ..Request::default()
    };
    let given = |world: &World, job: JobId| match &world.state.job(job).unwrap().state {
        JobState::Running { allocation, .. } => allocation.nodes[0].cpus.clone(),
        _ => Vec::new(),
    };
    bar(&mut world, &[0, 2]);
    let two = world.submit(asks(2));
    let one = world.submit(asks(1));
    bar(&mut world, &[0, 2]);
    assert_eq!(given(&world, two), [1, 3]);
    assert_eq!(world.state_of(one), "Resources");
    // Nothing is lost when the cluster is made anew under them.
    let (cluster, at) = (machine(4), world.now);
    world.state.apply(Event::Reconfigured { cluster, at });
    world.pass_unchecked();
    assert_eq!(world.state_of(one), "Resources");
    bar(&mut world, &[0]);
    assert_eq!(given(&world, one), [2]);
    bar(&mut world, &[]);
    let last = world.submit(asks(1));
    bar(&mut world, &[]);
    assert_eq!(given(&world, last), [0]);
}

#[test]
fn a_job_that_is_held_while_it_runs_waits_held_once_it_is_queued_again() {
    let mut world = World::new(1);
    let id = world.submit(Request::default());
    world.pass();
    let hold = |hold, at| Event::Held { job: id, hold, at };
    world.state.apply(hold(Some(HeldBy::Admin), world.now));
    assert_eq!(world.state_of(id), "Running");
    world.state.apply(Event::Ending {
        job: id,
        ending: Ending::Requeue {
            hold: RequeueHold::No,
            node_failed: false,
        },
    });
    world.completed(id);
    assert_eq!(world.state_of(id), "JobHeldAdmin");
    world.state.apply(hold(Some(HeldBy::User), world.now));
    assert_eq!(world.state_of(id), "JobHeldUser");
    world.now = world.now + Seconds(10);
    world.state.apply(hold(None, world.now));
    world.pass();
    assert_eq!(world.state_of(id), "Running");
}

#[test]
fn a_job_that_is_released_has_no_longer_the_priority_that_was_set() {
    let mut world = World::new(1);
    let first = world.submit(Request::default());
    world.pass();
    assert_eq!(world.state_of(first), "Running");
    let low = Request::default().with_rare(|rare| rare.priority = Some(1));
    let (low, after) = (world.submit(low), world.submit(Request::default()));
    world.pass();
    let (job, at) = (low, world.now);
    for hold in [Some(HeldBy::Admin), None] {
        world.state.apply(Event::Held { job, hold, at });
    }
    let record = world.state.job(low).unwrap();
    assert_eq!(record.rare.priority_set, None);
    assert_eq!(record.request.rare.priority, Some(1), "what was asked");
    world.completed(first);
    assert_eq!(world.state_of(low), "Running");
    assert_eq!(world.state_of(after), "Resources");
}
