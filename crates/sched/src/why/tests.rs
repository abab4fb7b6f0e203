#![expect(clippy::unwrap_used, reason = "a test fails loudly")]
use super::Why;
use super::budget::Budget;
use super::tries::Tries;
use crate::{BackfillParameters, Event, Job, State};
use cluster_file::ClusterFile;
use model::{
    GpuCount, JobId, PartitionSays, PendingReason, RareOptions, Request, Seconds, Submitter,
    TimeLimitRequest, Timestamp,
};
use resources::{Cluster, Trust};
use std::sync::Arc;

const MINUTE: u64 = 60;

/// Two nodes with four GPUs and eight CPUs each.
fn state() -> State {
    with_nodes(2)
}

fn with_nodes(nodes: u32) -> State {
    let text = format!(
        "[nodes.g]\nnames = \"g[1-{nodes}]\"\ncpus = 8\n\
         gpu = {{ type = \"v100\", count = 4 }}\n\
         [partition.all]\ndefault = true\nnodes = \"ALL\"\n"
    );
    let file = ClusterFile::parse("two", &text).unwrap();
    State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]))
}

fn gpus(count: u32, minutes: u64) -> Request {
    Request {
        gpus_per_node: Some(GpuCount { kind: None, count }),
        min_nodes: Some(1),
        max_nodes: Some(1),
        time: Some(limit_of(minutes)),
        ..Request::default()
    }
}

pub(super) fn limit_of(minutes: u64) -> TimeLimitRequest {
    TimeLimitRequest::Limit(Seconds(minutes * MINUTE))
}

pub(super) fn submit(state: &mut State, request: Request) -> JobId {
    let id = file(state, request);
    state.schedule(Timestamp(0));
    id
}

/// Without a pass.
fn file(state: &mut State, request: Request) -> JobId {
    let id = state.new_id();
    let submitter = Submitter {
        uid: 1000,
        user: "ann".to_owned(),
        ..Submitter::default()
    };
    let at = Timestamp(i64::from(id.0));
    let record = Job::submitted(id, request, Arc::new(submitter), at);
    state.apply(Event::Submitted {
        record: Box::new(record),
        array: None,
        history: Vec::new(),
        at: Timestamp(0),
    });
    id
}

fn moment(why: &Why) -> Option<Timestamp> {
    why.start.as_ref().map(|start| start.at)
}

#[test]
fn what_a_drained_node_has_is_not_free() {
    let mut state = state();
    submit(&mut state, gpus(3, 60));
    state.apply(Event::NodeMarked {
        node: model::NodeName::new("g2"),
        mark: model::NodeMark {
            is_drained: true,
            ..model::NodeMark::default()
        },
    });
    let waits = submit(&mut state, gpus(2, 60));
    let why = state.why(waits, Timestamp(1000)).unwrap();
    let gpus = (why.free.gpus, why.free_on_one.gpus, why.there.gpus);
    assert_eq!(gpus, (1, 1, 8));
}

#[test]
fn a_job_that_waits_for_gpus_of_one_node() {
    let mut state = state();
    let first = submit(&mut state, gpus(3, 60));
    submit(&mut state, gpus(3, 120));
    let waits = submit(&mut state, gpus(2, 30));
    let why = state.why(waits, Timestamp(0)).unwrap();
    assert_eq!(why.reason, PendingReason::Resources);
    assert_eq!(
        (why.free.gpus, why.free_on_one.gpus, why.there.gpus),
        (2, 1, 8)
    );
    assert_eq!(why.needs.unwrap().gpus, 2);
    let holders: Vec<JobId> = why.holders.iter().map(|holder| holder.job).collect();
    assert_eq!(holders, [first]);
    assert_eq!(moment(&why), Some(Timestamp(3_600_000)));
    assert_eq!(why.instead, ["--gpus-per-node=1"]);
    assert_eq!(state.why(first, Timestamp(0)), None);
}

/// Three GPUs are taken for two hours, and four until one ahead starts: one that is over by then goes first.
#[test]
fn a_shorter_limit_lets_a_job_start_before_others() {
    let mut state = state();
    state.set_backfill(Some(BackfillParameters::default()));
    submit(&mut state, gpus(4, 60));
    submit(&mut state, gpus(3, 120));
    let ahead = submit(&mut state, two_nodes(Some(limit_of(60))));
    let waits = submit(&mut state, gpus(1, 600));
    let why = state.why(waits, Timestamp(0)).unwrap();
    assert_eq!(why.reason, PendingReason::Priority);
    assert_eq!(why.ahead, [ahead]);
    assert_eq!(moment(&why), Some(Timestamp(3 * 3_600_000)));
    assert_eq!(why.instead, ["--time=02:00:00"]);
    let shorter = submit(&mut state, gpus(1, 120));
    assert_eq!(state.why(shorter, Timestamp(0)), None, "it runs");
}

/// What the plan of a pass says is what comes when running jobs last until their limits.
#[test]
fn the_plan_says_what_comes() {
    let mut state = state();
    state.set_backfill(Some(crate::BackfillParameters::default()));
    submit(&mut state, gpus(4, 60));
    submit(&mut state, gpus(3, 120));
    let jobs: Vec<JobId> = [(4, 60), (4, 30), (2, 10)]
        .map(|(count, minutes)| submit(&mut state, gpus(count, minutes)))
        .to_vec();
    for job in jobs {
        let record = state.job(job).unwrap();
        let played = state.played_start(record, Timestamp(0), &Budget::new());
        let played = played.start().unwrap();
        let planned = state.by_plan(record, Timestamp(0)).unwrap();
        assert_eq!(
            (planned.start.at, planned.needs, planned.start.nodes),
            (played.start.at, played.needs, played.start.nodes),
            "{job}"
        );
        assert_eq!(state.planned(job), Some(planned.start.at));
        assert_eq!(
            moment(&state.why(job, Timestamp(0)).unwrap()),
            Some(planned.start.at)
        );
    }
}

#[test]
fn a_held_job_has_no_start() {
    let mut state = state();
    let held = Request {
        hold: true,
        ..gpus(1, 10)
    };
    let id = submit(&mut state, held);
    let why = state.why(id, Timestamp(0)).unwrap();
    assert_eq!(why.start, None);
    assert_eq!(why.instead, Vec::<String>::new());
}

/// Each request that is offered starts when it is submitted instead, and one more does not.
#[test]
fn what_is_offered_starts() {
    let mut state = state();
    submit(&mut state, gpus(2, 60));
    submit(&mut state, gpus(3, 60));
    let waits = submit(&mut state, gpus(4, 60));
    let why = state.why(waits, Timestamp(0)).unwrap();
    assert_eq!(why.instead, ["--gpus-per-node=2"]);
    for (count, starts) in [(2, true), (3, false)] {
        let record = state.job(waits).unwrap();
        let budget = Budget::new();
        let tries = Tries::new(&state, record, Timestamp(0), &budget).unwrap();
        assert_eq!(tries.would_start(gpus(count, 60)), starts);
    }
}

/// Many nodes with many jobs that wait: where the plan does not reach a job, it is planned on.
#[test]
fn where_much_waits_a_job_behind_the_tried_ones_is_planned_on_demand() {
    let full = |nodes: u32, waiting: u32, tests: usize| {
        let mut state = with_nodes(nodes);
        for _ in 0..nodes {
            submit(&mut state, gpus(4, 60));
        }
        state.set_backfill(Some(BackfillParameters {
            tests,
            ..BackfillParameters::default()
        }));
        for _ in 0..waiting {
            file(&mut state, gpus(4, 60));
        }
        state.schedule(Timestamp(0));
        state
    };
    let why_last = |state: &State| {
        let last = state.live().last().unwrap();
        let why = state.why(last.id, Timestamp(0)).unwrap();
        assert_eq!(why.needs.map(|needs| needs.gpus), Some(4));
        assert_eq!((why.instead.len(), why.smaller_untried), (0, false));
        why
    };
    assert!(full(4, 100, 500).is_pass_short());
    // Those that were tried take the first hour, and all that wait the one after.
    let large = full(200, 300, 250);
    assert!(!large.is_pass_short());
    let why = why_last(&large);
    assert_eq!(why.not_planned, None);
    assert_eq!(moment(&why), Some(Timestamp(2 * 3_600_000)));
    assert_eq!(why.ahead.len(), 299);
    assert_eq!(why.holders.len(), 200);
    // A job at whose moment more wait ahead of it than are tried is not tried then.
    let why = why_last(&full(500, 600, 99));
    let far = why.not_planned.unwrap();
    assert_eq!((why.start, far.ahead), (None, 0));
    assert_eq!(far.tried, Some(99));
    assert_eq!(far.not_before, Some(Timestamp(2 * 3_600_000)));
    // More than a budget plans: it is said how many have no place.
    let why = why_last(&full(1_000, 5_000, 500));
    let far = why.not_planned.unwrap();
    assert!(why.start.is_none() && far.ahead > 0, "{far:?}");
    assert!(far.not_before.is_some_and(|at| at >= Timestamp(3_600_000)));
}

/// The last cycle left a GPU on each node: a job that asks for no more would start beside the promises.
#[test]
fn between_two_cycles_smaller_requests_are_tried() {
    let mut state = with_nodes(1_000);
    state.set_backfill(Some(BackfillParameters::default()));
    for _ in 0..1_000 {
        file(&mut state, gpus(3, 60));
    }
    for _ in 0..100 {
        file(&mut state, gpus(4, 60));
    }
    let waits = file(&mut state, gpus(2, 600));
    state.schedule(Timestamp(0));
    assert!(!state.is_pass_short());
    let why = state.why(waits, Timestamp(1000)).unwrap();
    assert_eq!(why.instead, ["--gpus-per-node=1"]);
    assert!(!why.smaller_untried);
    submit(&mut state, gpus(1, 600));
    assert_eq!(state.running_count(), 1_001);
    // The next pass is a cycle, which would have to be played.
    let why = state.why(waits, Timestamp(30_000)).unwrap();
    assert!(why.instead.is_empty() && why.smaller_untried);
}

/// A cycle that looks at one node is short, however many others there are.
#[test]
fn nodes_of_other_partitions_do_not_make_an_answer_dear() {
    let text = "[nodes.g]\nnames = \"g1\"\ncpus = 8\n\
                gpu = { type = \"v100\", count = 4 }\n\
                [nodes.n]\nnames = \"n[1-10000]\"\ncpus = 8\n\
                [partition.gpu]\ndefault = true\nnodes = [\"g\"]\n\
                [partition.cpu]\nnodes = [\"n\"]\n";
    let file = ClusterFile::parse("large", text).unwrap();
    let mut state = State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]));
    state.set_backfill(Some(BackfillParameters {
        tests: 5,
        ..BackfillParameters::default()
    }));
    submit(&mut state, gpus(2, 60));
    let waiting: Vec<JobId> = (0..7).map(|_| submit(&mut state, gpus(4, 60))).collect();
    let why = state.why(waiting[6], Timestamp(0)).unwrap();
    assert_eq!(moment(&why), Some(Timestamp(7 * 3_600_000)));
    assert_eq!(why.needs.map(|needs| needs.gpus), Some(4));
    assert_eq!((why.not_planned, why.smaller_untried), (None, false));
    // As the last one it would not be among five that are tried.
    let first = state.why(waiting[0], Timestamp(0)).unwrap();
    assert_eq!((first.instead.len(), first.smaller_untried), (0, false));
    state.set_backfill(Some(BackfillParameters::default()));
    let first = state.why(waiting[0], Timestamp(0)).unwrap();
    assert_eq!(first.instead, ["--gpus-per-node=2"]);
}

/// What keeps it is said by its name, and that it could start if it were shorter.
#[test]
fn a_job_that_waits_behind_a_reservation() {
    let mut state = state();
    let hour = 3_600_000;
    let service = model::Reservation {
        name: "service".to_owned(),
        start: Timestamp(hour / 2),
        end: Timestamp(2 * hour),
        nodes: ["g1", "g2"].map(model::NodeName::new).to_vec(),
        flags: [model::ReservationFlag::Maint].into(),
        ..model::Reservation::default()
    };
    state.apply(Event::ReservationChanged {
        name: service.name.clone(),
        reservation: Some(Box::new(service.clone())),
    });
    let job = submit(&mut state, gpus(1, 60));
    let why = state.why(job, Timestamp(0)).unwrap();
    assert_eq!(why.reason, PendingReason::ReservedForMaintenance);
    assert_eq!(why.reservations, [service]);
    assert_eq!(why.instead, ["--time=00:30:00"]);
    let runs = submit(&mut state, gpus(1, 30));
    assert_eq!(state.why(runs, Timestamp(0)), None);
}

/// Two whole nodes, with a limit or none.
fn two_nodes(time: Option<TimeLimitRequest>) -> Request {
    Request {
        min_nodes: Some(2),
        max_nodes: Some(2),
        gpus_per_node: Some(GpuCount {
            kind: None,
            count: 4,
        }),
        time,
        ..Request::default()
    }
}

#[test]
fn a_job_of_two_nodes_lacks_nodes() {
    let mut state = with_nodes(3);
    let holder = submit(&mut state, two_nodes(Some(TimeLimitRequest::Unlimited)));
    let waits = submit(&mut state, two_nodes(None));
    let why = state.why(waits, Timestamp(0)).unwrap();
    let nodes = why.nodes_needed.unwrap();
    assert_eq!((nodes.least, nodes.with_room, nodes.there), (2, Some(1), 3));
    assert_eq!((why.start, why.no_limit), (None, Some(holder)));
    // What waits behind one that waits without a limit.
    let last = submit(&mut state, two_nodes(None));
    let why = state.why(last, Timestamp(0)).unwrap();
    assert_eq!((why.start, why.no_limit), (None, Some(holder)));
}

#[test]
fn drained_nodes_are_named_with_what_would_start_without_them() {
    let mark = model::NodeMark {
        is_drained: true,
        reason: "disk".to_owned(),
        ..model::NodeMark::default()
    };
    let drained = || {
        let mut state = state();
        state.apply(Event::NodeMarked {
            node: model::NodeName::new("g2"),
            mark: mark.clone(),
        });
        state
    };
    let names = |why: &Why| -> Vec<String> {
        let nodes = why.out_of_use.iter().flat_map(|away| &away.nodes);
        nodes.map(ToString::to_string).collect()
    };
    let mut state = drained();
    let waits = submit(&mut state, two_nodes(None));
    let why = state.why(waits, Timestamp(0)).unwrap();
    assert_eq!(why.reason, PendingReason::NodesDownOrReserved);
    assert_eq!(names(&why), ["g2"]);
    assert_eq!(why.out_of_use[0].mark, mark);
    assert_eq!(why.instead, ["--nodes=1"]);
    let mut state = drained();
    let mut named = gpus(1, 60);
    named.rare.nodelist = Arc::new(vec![model::NodeName::new("g2")]);
    let waits = submit(&mut state, named);
    let why = state.why(waits, Timestamp(0)).unwrap();
    assert_eq!(names(&why), ["g2"]);
    assert_eq!(why.instead, ["no --nodelist"]);
}

#[test]
fn a_job_that_is_not_submitted_yet_waits_for_what_it_would_wait_for_then() {
    let check = |qos: &str,
                 running: &[Request],
                 asked: Request,
                 want: Option<(PendingReason, Option<i64>)>| {
        let text = format!(
            "[nodes.g]\nnames = \"g[1-2]\"\ncpus = 8\ngpu = {{ type = \"v100\", count = 4 }}\n\
             [partition.all]\ndefault = true\nnodes = \"ALL\"\n[qos.normal]\n{qos}\n"
        );
        let file = ClusterFile::parse("two", &text).unwrap();
        let cluster = Arc::new(Cluster::build(&file, Trust::All));
        let mut state = State::new(cluster, Arc::new([]));
        for request in running {
            submit(&mut state, request.clone());
        }
        let submitter = Submitter {
            uid: 1000,
            user: "ann".to_owned(),
            ..Submitter::default()
        };
        let before = state.clone();
        let id = JobId(state.next_id());
        let record = Job::submitted(id, asked, Arc::new(submitter), Timestamp(0));
        let wait = state.wait_if_submitted(record, Vec::new(), Timestamp(0));
        let found = wait.map(|wait| (wait.reason, wait.start.map(|at| at.0 / 60_000)));
        assert_eq!(found, want, "{qos}");
        assert_eq!(state, before);
    };
    let over = |limit: &str| PendingReason::OverLimit(limit.to_owned());
    check("", &[gpus(2, 60)], gpus(2, 60), None);
    // What a partition never starts has no start, whatever is free.
    let in_short = Request {
        partition: Some("short".to_owned()),
        ..gpus(2, 60)
    };
    for (setting, reason) in [
        ("max_time = \"30:00\"", PendingReason::PartitionTimeLimit),
        ("state = \"down\"", PendingReason::PartitionDown),
        (
            "deny_qos = [\"normal\"]",
            over(
                "Job's QOS not permitted to use this partition (short denies normal including normal)",
            ),
        ),
    ] {
        let partition = format!("[partition.short]\nnodes = \"ALL\"\n{setting}\n");
        check(&partition, &[], in_short.clone(), Some((reason, None)));
    }
    check(
        "max_jobs_per_user = 1",
        &[gpus(2, 60)],
        gpus(2, 60),
        Some((over("QOSMaxJobsPerUserLimit"), Some(60))),
    );
    // Others whom the limit keeps go first, and one without a limit ends at no known time.
    check(
        "max_jobs_per_user = 1",
        &[gpus(2, 60), gpus(2, 30)],
        gpus(2, 60),
        Some((over("QOSMaxJobsPerUserLimit"), Some(90))),
    );
    check(
        "max_tres_per_user = \"gres/gpu=4\"",
        &[gpus(2, 60), gpus(2, 20), gpus(4, 30), gpus(1, 5)],
        gpus(2, 60),
        Some((over("QOSMaxGRESPerUser"), Some(25))),
    );
    let endless = Request {
        time: None,
        ..gpus(2, 60)
    };
    check(
        "max_jobs_per_user = 1",
        &[endless],
        gpus(2, 60),
        Some((over("QOSMaxJobsPerUserLimit"), None)),
    );
    check(
        "max_wall = \"00:30:00\"",
        &[],
        gpus(2, 60),
        Some((over("QOSMaxWallDurationPerJobLimit"), None)),
    );
    // Others that wait come before it.
    check(
        "",
        &[gpus(4, 60), gpus(4, 60), gpus(4, 60)],
        gpus(4, 10),
        Some((PendingReason::Priority, Some(60))),
    );
    let with = |change: fn(&mut RareOptions)| {
        let mut request = gpus(2, 60);
        change(&mut request.rare);
        request
    };
    check(
        "",
        &[gpus(2, 60)],
        with(|rare| rare.begin = Some(Timestamp(7_200_000))),
        Some((PendingReason::BeginTime, Some(120))),
    );
    check(
        "",
        &[gpus(2, 60)],
        with(|rare| rare.dependency = Some("afterok:1".to_owned())),
        Some((PendingReason::Dependency, Some(60))),
    );
    let held = Request {
        hold: true,
        ..gpus(2, 60)
    };
    check("", &[], held, Some((PendingReason::JobHeldUser, None)));
}

#[test]
fn a_dependency_names_the_jobs_that_have_to_start_or_end() {
    let mut state = state();
    let running = submit(&mut state, gpus(4, 60));
    submit(&mut state, gpus(4, 60));
    let waits = submit(&mut state, gpus(4, 60));
    let with = |dependency: String, name: &str| {
        let mut request = gpus(2, 60);
        request.name = name.to_owned();
        request.rare.dependency = Some(dependency);
        request
    };
    let mut check = |dependency: String, want: &[(&str, JobId, bool)]| {
        let id = submit(&mut state, with(dependency, "one"));
        let why = state.why(id, Timestamp(0)).unwrap();
        assert_eq!(why.reason, PendingReason::Dependency);
        let got: Vec<(&str, JobId, bool)> = why
            .unmet
            .iter()
            .map(|unmet| {
                let [job] = &unmet.jobs[..] else {
                    panic!("{:?}", unmet.jobs);
                };
                assert_eq!(job.until.is_some(), job.waits.is_none());
                (unmet.condition.as_str(), job.job, job.waits.is_none())
            })
            .collect();
        assert_eq!(got, want);
        (id, why.one_is_enough)
    };
    let (both, is_any) = check(
        format!("afterok:{running},after:{running}:{waits}"),
        &[("afterok:1", running, true), ("after:3", waits, false)],
    );
    assert!(!is_any);
    let (_, is_any) = check(
        format!("afterany:{waits}?afternotok:{running}"),
        &[
            ("afterany:3", waits, false),
            ("afternotok:1", running, true),
        ],
    );
    assert!(is_any);
    check("singleton".to_owned(), &[("singleton", both, false)]);
}

#[test]
fn a_throttled_array_names_the_elements_that_run_and_the_next() {
    let mut state = state();
    let mut request = gpus(1, 60);
    request.rare.array = Some(model::ArraySpec {
        indices: vec![1, 3, 5, 7],
        step: 2,
        throttle: Some(2),
    });
    let waits = submit(&mut state, request);
    let why = state.why(waits, Timestamp(0)).unwrap();
    assert_eq!(why.reason, PendingReason::JobArrayTaskLimit);
    let elements: Vec<_> = why.holders.iter().map(|it| it.element).collect();
    assert_eq!(elements, [Some((waits, 1)), Some((waits, 3))]);
    let throttle = super::Throttle {
        array: waits,
        most: 2,
        next: Some(5),
    };
    assert_eq!(why.throttle, Some(throttle));
    assert_eq!(moment(&why), Some(Timestamp(3_600_000)));
}

#[test]
fn one_that_is_preempted_holds_its_place_until_its_grace_time_is_over() {
    let text = "[nodes.n]\nnames = \"n1\"\ncpus = 2\n\
        [partition.low]\ndefault = true\nnodes = \"ALL\"\npriority_tier = 1\ngrace_time = \"00:10:00\"\n\
        [partition.high]\nnodes = \"ALL\"\npriority_tier = 2\n\
        [preemption]\ntype = \"partition\"\nmode = \"cancel\"\n";
    let file = ClusterFile::parse("tiers", text).unwrap();
    let cluster = Arc::new(Cluster::build(&file, Trust::All));
    let mut state = State::new(cluster, Arc::new([]));
    state.set_backfill(Some(BackfillParameters::default()));
    let ask = |partition: &str| Request {
        partition: Some(partition.to_owned()),
        cpus_per_task: Some(2),
        time: Some(TimeLimitRequest::Limit(Seconds(60 * MINUTE))),
        ..Request::default()
    };
    let holds = submit(&mut state, ask("low"));
    let waits = submit(&mut state, ask("high"));
    let why = state.why(waits, Timestamp(0)).unwrap();
    let grace = Timestamp(600_000);
    let preempted = super::Preempted {
        grace: Some(grace),
        comes_back: false,
    };
    let holders: Vec<_> = why
        .holders
        .iter()
        .map(|it| (it.job, it.preempted))
        .collect();
    assert_eq!(holders, [(holds, Some(preempted))]);
    // Its processes may take that long to end.
    assert_eq!(moment(&why), Some(grace + model::KILL_WAIT));
}

/// What would start at once on a cluster of one node with two sockets, two GPUs of each of two types and eight CPUs,
/// of which a job has a GPU of each type.
#[track_caller]
fn instead(request: Request, want: &[&str]) {
    let text = "[nodes.g]\ncpus = 8\nsockets = 2\ncores_per_socket = 4\nthreads_per_core = 1\n\
         gpu = [{ type = \"a100\", count = 2 }, { type = \"v100\", count = 2 }]\n\
         [partition.all]\ndefault = true\nnodes = \"ALL\"\n";
    let file = ClusterFile::parse("mixed", text).unwrap();
    let mut state = State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]));
    submit(&mut state, typed("a100:1,v100:1"));
    let waits = submit(&mut state, request);
    let why = state.why(waits, Timestamp(0)).unwrap();
    assert_eq!(why.instead, want);
}

/// `--gpus`
fn typed(gpus: &str) -> Request {
    let list = model::GresList::of_gpus(gpus);
    let mut request = Request {
        gpus: list.gpus(),
        ..Request::default()
    };
    request.rare.asked.per_job = list;
    request
}

#[test]
fn fewer_gpus_keep_their_types() {
    instead(typed("a100:2,v100:1"), &["--gpus=a100:1,v100:1"]);
    instead(typed("a100:2"), &["--gpus=a100:1"]);
    instead(typed("a100:2,v100:2"), &[]);
}

#[test]
fn fewer_gpus_of_each_socket() {
    let mut request = Request::default();
    request.rare.asked.per_socket = model::GresList::of_gpus("2");
    let options = model::NodeOptions {
        sockets_per_node: Some(2),
        ..model::NodeOptions::default()
    };
    request.rare.node_options = Some(Box::new(options));
    instead(request, &["--gpus-per-socket=1"]);
}

#[test]
fn a_job_for_itself_could_share_its_node() {
    let request = Request {
        exclusive: true,
        ..Request::default()
    };
    instead(request, &["no --exclusive"]);
}

#[test]
fn a_job_with_more_cpus_than_its_partition_is_told_what_there_is() {
    let check = |tasks: Option<u32>, cpus: Option<u32>, want: (u64, bool, u64)| {
        let mut state = state();
        let request = Request {
            tasks,
            cpus_per_task: cpus,
            ..Request::default()
        };
        let job = submit(&mut state, request);
        let why = state.why(job, Timestamp(0)).unwrap();
        assert_eq!(why.reason, PendingReason::PartitionConfig);
        let (asked, on_one, there) = want;
        let says = PartitionSays::Cpus {
            asked,
            on_one,
            there,
        };
        assert_eq!(why.partition_bound.map(|bound| bound.says), Some(says));
    };
    check(None, Some(64), (64, true, 8));
    check(Some(17), None, (17, false, 16));
    check(Some(5), Some(4), (20, false, 16));
}
