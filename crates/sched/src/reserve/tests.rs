//! What becomes of reservations as time passes and jobs run.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use super::GroupMembers;
use crate::{BackfillParameters, Event, Job, Saved, State};
use cluster_file::ClusterFile;
use model::{
    ComponentPlace, Ending, JobId, JobState, LengthChange, NamesChange, NodeMark, NodeName,
    Outcome, RareOptions, Request, RequeueHold, Reservation, ReservationDenial, ReservationFlag,
    ReservationRequest, ReservedNodes, Seconds, Submitter, TimeLimitRequest, Timestamp, node_list,
};
use resources::{Cluster, Trust};
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000_000);

struct Lab {
    state: State,
    now: Timestamp,
}

impl Lab {
    fn new() -> Lab {
        let text = "[nodes.n]\nnames = \"n[1-4]\"\ncpus = 2\n[partition.p]\nnodes = \"ALL\"\ndefault = true\n";
        let file = ClusterFile::parse("lab", text).unwrap();
        let cluster = Arc::new(Cluster::build(&file, Trust::All));
        let mut state = State::new(cluster, Arc::new([]));
        state.set_backfill(Some(BackfillParameters::default()));
        Lab { state, now: NOW }
    }

    /// Makes a reservation of an hour, which begins in so many seconds.
    fn reserve(
        &mut self,
        flags: &[ReservationFlag],
        begins: i64,
        change: impl FnOnce(&mut ReservationRequest),
    ) {
        let mut asked = ReservationRequest {
            name: Some("r".to_owned()),
            start: Some(Timestamp(self.now.0 + begins * 1000)),
            length: Some(LengthChange::To(Seconds(3600))),
            node_counts: Some(vec![1]),
            flags: flags.iter().map(|flag| (*flag, true)).collect(),
            ..ReservationRequest::default()
        };
        change(&mut asked);
        let members = GroupMembers::from([("lab".to_owned(), vec!["ann".to_owned()])]);
        let reservation = self
            .state
            .reserve(&asked, true, &members, self.now)
            .unwrap();
        self.state.apply(Event::ReservationChanged {
            name: reservation.name.clone(),
            reservation: Some(Box::new(reservation)),
        });
    }

    /// Submits a job of ten minutes on a CPU.
    fn submit(&mut self, user: &str, reservation: Option<&str>) -> JobId {
        self.submit_component(user, reservation, None)
    }

    /// Submits a heterogeneous job of two such components.
    fn submit_together(&mut self, user: &str) -> [JobId; 2] {
        let leader = JobId(self.state.next_id());
        [0, 1].map(|offset| {
            let place = ComponentPlace {
                leader,
                offset,
                size: 2,
                batch: false,
            };
            self.submit_component(user, None, Some(place))
        })
    }

    fn submit_component(
        &mut self,
        user: &str,
        reservation: Option<&str>,
        component: Option<ComponentPlace>,
    ) -> JobId {
        let id = JobId(self.state.next_id());
        let request = Request {
            tasks: Some(1),
            time: Some(TimeLimitRequest::Limit(Seconds(600))),
            rare: RareOptions {
                reservation: reservation.map(str::to_owned),
                component,
                ..RareOptions::default()
            }
            .into(),
            ..Request::default()
        };
        let submitter = Arc::new(Submitter {
            user: user.to_owned(),
            group: "users".to_owned(),
            ..Submitter::default()
        });
        self.state.apply(Event::Submitted {
            record: Box::new(Job::submitted(id, request, submitter, self.now)),
            array: None,
            history: Vec::new(),
            at: self.now,
        });
        id
    }

    fn pass(&mut self, seconds: i64) {
        self.now = Timestamp(self.now.0 + seconds * 1000);
        self.state.schedule(self.now);
    }

    /// The reservation's nodes, and when it begins in seconds from now; `gone` where it is none.
    fn shown(&self) -> String {
        let Some(own) = self.state.reservation("r") else {
            return "gone".to_owned();
        };
        let nodes = node_list::fold(&own.nodes);
        format!("{nodes} {}", own.start.since(self.now) / 1000)
    }

    /// Where a job runs, and in which reservation.
    fn placed(&self, job: JobId) -> String {
        let record = self.state.job(job).unwrap();
        let JobState::Running { allocation, .. } = &record.state else {
            return "waits".to_owned();
        };
        let nodes: Vec<NodeName> = allocation.nodes.iter().map(|it| it.node.clone()).collect();
        let own = record.rare.reservation.as_deref();
        format!("{} {}", node_list::fold(&nodes), own.unwrap_or("-"))
    }

    fn end(&mut self, job: JobId) {
        let status = model::WaitStatus::default();
        self.state.apply(Event::Gone {
            job,
            outcome: model::Outcome::cancelled(0, status),
            at: self.now,
        });
    }
}

fn of_ann(asked: &mut ReservationRequest) {
    asked.users = Some(NamesChange::parse("ann", None));
}

#[test]
fn a_job_whose_processes_are_being_ended_keeps_no_reservation_from_being_removed() {
    for (ending, want) in [
        (
            Ending::Requeue {
                hold: RequeueHold::No,
                node_failed: false,
            },
            Err(ReservationDenial::InUse),
        ),
        (Ending::End(Outcome::NodeFail), Ok(())),
    ] {
        let mut lab = Lab::new();
        lab.reserve(&[], 0, of_ann);
        let job = lab.submit("ann", Some("r"));
        lab.pass(1);
        assert_eq!(lab.state.unreserve("r"), Err(ReservationDenial::InUse));
        lab.state.apply(Event::Ending { job, ending });
        assert_eq!(lab.state.unreserve("r"), want);
    }
}

#[test]
fn a_magnetic_one_draws_its_users_jobs() {
    let mut lab = Lab::new();
    lab.reserve(&[ReservationFlag::Magnetic], 0, |asked| {
        of_ann(asked);
        asked.node_counts = None;
        asked.nodes = Some(ReservedNodes::To(vec![NodeName::new("n3")]));
    });
    let jobs: Vec<JobId> = ["ann", "bob", "ann", "ann"]
        .iter()
        .map(|user| lab.submit(user, None))
        .collect();
    lab.pass(0);
    let placed: Vec<String> = jobs.iter().map(|job| lab.placed(*job)).collect();
    // The third of hers finds no place there any more.
    assert_eq!(placed, ["n3 r", "n4 -", "n3 r", "n4 -"]);
}

/// So a Slurm 22.05.8 answered: they are tried in the order in which they are named, and one that has not begun is
/// passed over. Which one a job runs in is known here.
#[test]
fn a_job_of_several_runs_in_one_of_them() {
    let mut lab = Lab::new();
    for (name, begins, node) in [("r", 0, "n3"), ("s", 0, "n2"), ("later", 900, "n1")] {
        lab.reserve(&[], begins, |asked| {
            of_ann(asked);
            asked.name = Some(name.to_owned());
            asked.node_counts = None;
            asked.nodes = Some(ReservedNodes::To(vec![NodeName::new(node)]));
        });
    }
    let names = ["later,s,r", "r,s", "s,r", "s,r", "s,r"];
    let jobs = names.map(|names| lab.submit("ann", Some(names)));
    lab.pass(0);
    let placed = jobs.map(|job| lab.placed(job));
    assert_eq!(placed, ["n2 s", "n3 r", "n2 s", "n3 r", "waits"]);
    lab.end(jobs[1]);
    lab.pass(0);
    assert_eq!(lab.placed(jobs[4]), "n3 r");
}

/// What waits for several goes on waiting for the others when one is over.
#[test]
fn a_job_of_several_waits_for_the_others_when_one_is_over() {
    let mut lab = Lab::new();
    for (name, begins) in [("r", 0), ("s", 7200)] {
        lab.reserve(&[], begins, |asked| {
            of_ann(asked);
            asked.name = Some(name.to_owned());
        });
    }
    let job = lab.submit("ann", Some("r,s"));
    lab.pass(3601);
    let record = lab.state.job(job).unwrap();
    assert_eq!(record.rare.reservation.as_deref(), Some("s"));
    assert_eq!(record.request.rare.reservation.as_deref(), Some("r,s"));
    assert_ne!(record.priority, 0);
}

/// So a Slurm 22.05.8 answered: both start beside the reservation, and wait where it has all nodes.
#[test]
fn a_magnetic_one_draws_no_heterogeneous_job() {
    let check = |nodes: &[&str], want: [&str; 2]| {
        let mut lab = Lab::new();
        lab.reserve(&[ReservationFlag::Magnetic], 0, |asked| {
            of_ann(asked);
            asked.node_counts = None;
            let nodes = nodes.iter().map(|name| NodeName::new(name)).collect();
            asked.nodes = Some(ReservedNodes::To(nodes));
        });
        let jobs = lab.submit_together("ann");
        lab.pass(0);
        assert_eq!(jobs.map(|job| lab.placed(job)), want);
    };
    check(&["n3"], ["n4 -", "n1 -"]);
    check(&["n1", "n2", "n3", "n4"], ["waits", "waits"]);
}

#[test]
fn a_group_s_members_use_it() {
    let mut lab = Lab::new();
    lab.reserve(&[], 0, |asked| {
        asked.groups = Some(NamesChange::parse("lab", None))
    });
    let request = Request {
        rare: RareOptions {
            reservation: Some("r".to_owned()),
            ..RareOptions::default()
        }
        .into(),
        ..Request::default()
    };
    let may = |user, group| lab.state.may_be_reserved(&request, user, group).is_ok();
    assert_eq!(
        [may("ann", "users"), may("bob", "lab"), may("bob", "users")],
        [true, true, false]
    );
}

#[test]
fn one_that_floats_never_begins() {
    let mut lab = Lab::new();
    lab.reserve(&[ReservationFlag::TimeFloat], 900, of_ann);
    lab.pass(600);
    assert_eq!(lab.shown(), "n1 900");
    lab.pass(86_400);
    assert_eq!(lab.shown(), "n1 900");
}

#[test]
fn one_without_jobs_is_purged() {
    let mut lab = Lab::new();
    lab.reserve(&[ReservationFlag::PurgeComp], 0, |asked| {
        of_ann(asked);
        asked.purge_after = Some(Seconds(60));
    });
    let job = lab.submit("ann", Some("r"));
    lab.pass(0);
    lab.pass(300);
    assert_eq!(
        (lab.placed(job).as_str(), lab.shown().as_str()),
        ("n1 r", "n1 0")
    );
    lab.end(job);
    lab.pass(0);
    assert_eq!(lab.state.next_due(), Some(Timestamp(lab.now.0 + 60_000)));
    lab.pass(60);
    assert_eq!(lab.shown(), "gone");
}

#[test]
fn nodes_that_can_t_be_used_are_replaced() {
    let check = |flags: &[ReservationFlag], want: [&str; 3]| {
        let mut lab = Lab::new();
        lab.reserve(flags, 0, of_ann);
        let first = lab.shown();
        let job = lab.submit("ann", Some("r"));
        lab.pass(0);
        assert_eq!(lab.placed(job), "n1 r");
        let used = lab.shown();
        let node = lab.state.reservation("r").unwrap().nodes[0].clone();
        let mark = NodeMark {
            is_down: true,
            ..NodeMark::default()
        };
        lab.state.apply(Event::NodeMarked { node, mark });
        lab.pass(0);
        assert_eq!([first, used, lab.shown()], want, "{flags:?}");
    };
    check(&[], ["n1 0", "n1 0", "n2 0"]);
    check(&[ReservationFlag::ReplaceDown], ["n1 0", "n1 0", "n2 0"]);
    check(&[ReservationFlag::Replace], ["n1 0", "n2 0", "n3 0"]);
    check(&[ReservationFlag::Static], ["n1 0", "n1 0", "n1 0"]);
}

/// Cores of each node of one that is to have so many; `None` where there are too few.
#[track_caller]
fn check_cores(lab: &Lab, change: impl FnOnce(&mut ReservationRequest), want: Option<&str>) {
    let mut asked = ReservationRequest {
        name: Some("other".to_owned()),
        start: Some(lab.now),
        length: Some(LengthChange::To(Seconds(3600))),
        ..ReservationRequest::default()
    };
    of_ann(&mut asked);
    change(&mut asked);
    let made = lab
        .state
        .reserve(&asked, true, &GroupMembers::default(), lab.now);
    let shown = made
        .ok()
        .map(|own| format!("{} {:?}", node_list::fold(&own.nodes), own.cores));
    assert_eq!(shown.as_deref(), want);
}

#[test]
fn cores_are_dealt_out_over_nodes() {
    let lab = Lab::new();
    let named = |list: &str| Some(ReservedNodes::To(node_list::expand(list).unwrap()));
    check_cores(
        &lab,
        |asked| asked.core_counts = Some(vec![2]),
        Some("n1 [2]"),
    );
    check_cores(
        &lab,
        |asked| asked.core_counts = Some(vec![3]),
        Some("n[1-2] [2, 1]"),
    );
    check_cores(
        &lab,
        |asked| (asked.core_counts, asked.node_counts) = (Some(vec![2]), Some(vec![2])),
        Some("n[1-2] [1, 1]"),
    );
    check_cores(
        &lab,
        |asked| (asked.core_counts, asked.nodes) = (Some(vec![1]), named("n4")),
        Some("n4 [1]"),
    );
    check_cores(
        &lab,
        |asked| (asked.core_counts, asked.nodes) = (Some(vec![3]), named("n4")),
        None,
    );
    check_cores(
        &lab,
        |asked| asked.core_counts = Some(vec![u32::MAX, u32::MAX]),
        None,
    );
}

#[test]
fn cores_are_not_taken_of_nodes_under_maintenance() {
    let named = |list: &str| Some(ReservedNodes::To(node_list::expand(list).unwrap()));
    let under = |flags: &[ReservationFlag]| {
        let mut lab = Lab::new();
        lab.reserve(flags, 0, |asked| {
            of_ann(asked);
            (asked.node_counts, asked.nodes) = (None, named("n[1-2]"));
        });
        lab
    };
    let lab = under(&[ReservationFlag::Maint]);
    let two = |asked: &mut ReservationRequest| asked.core_counts = Some(vec![2]);
    check_cores(&lab, two, Some("n3 [2]"));
    check_cores(
        &lab,
        |asked| (asked.core_counts, asked.node_counts) = (Some(vec![4]), Some(vec![2])),
        Some("n[3-4] [2, 2]"),
    );
    check_cores(
        &lab,
        |asked| (asked.core_counts, asked.node_counts) = (Some(vec![6]), Some(vec![3])),
        None,
    );
    check_cores(
        &lab,
        |asked| {
            (asked.core_counts, asked.node_counts) = (Some(vec![6]), Some(vec![3]));
            asked.flags.push((ReservationFlag::Overlap, true));
        },
        Some("n[1-3] [2, 2, 2]"),
    );
    // Named ones are its own all the same, but not those of others.
    let on_first = |asked: &mut ReservationRequest| {
        (asked.core_counts, asked.nodes) = (Some(vec![1]), named("n1"));
    };
    check_cores(&lab, on_first, Some("n1 [1]"));
    check_cores(&under(&[]), on_first, None);
}

#[test]
fn one_of_cores_leaves_the_others_to_others() {
    let mut lab = Lab::new();
    lab.reserve(&[], 0, |asked| {
        of_ann(asked);
        asked.node_counts = None;
        asked.nodes = Some(ReservedNodes::To(node_list::expand("n[1-4]").unwrap()));
        asked.core_counts = Some(vec![4]);
    });
    check_cores(
        &lab,
        |asked| asked.core_counts = Some(vec![2]),
        Some("n[1-2] [1, 1]"),
    );
    let mut others: Vec<JobId> = (0..4).map(|_| lab.submit("bob", None)).collect();
    lab.pass(0);
    let own: Vec<JobId> = (0..5).map(|_| lab.submit("ann", Some("r"))).collect();
    lab.pass(1);
    let count = |lab: &Lab, jobs: &[JobId]| {
        let running = jobs.iter().filter(|job| lab.placed(**job) != "waits");
        running.count()
    };
    // A CPU of each node is for either.
    assert_eq!((count(&lab, &others), count(&lab, &own)), (4, 4));
    others.push(lab.submit("bob", None));
    // What one of its jobs leaves is for its own alone.
    lab.end(own[0]);
    lab.pass(1);
    assert_eq!((count(&lab, &others), count(&lab, &own[1..])), (4, 4));
}

/// An earlier version kept how many cores a reservation has, and not which.
#[test]
fn a_reservation_of_cores_that_are_not_told_apart_is_given_some() {
    let mut lab = Lab::new();
    lab.reserve(&[], 0, |asked| asked.core_counts = Some(vec![1]));
    let kept = lab.state.reservations().next().unwrap().clone();
    let former = |name: &str| Reservation {
        name: name.to_owned(),
        core_ids: Vec::new(),
        ..kept.clone()
    };
    let saved = Saved {
        reservations: vec![former("b"), former("a")],
        ..Saved::default()
    };
    let numbers = Arc::new([]);
    let mut state = State::rebuild(Arc::clone(lab.state.cluster()), numbers, saved, NOW);
    let ids = state.reservations().map(|it| (&*it.name, &it.core_ids[..]));
    assert_eq!(
        ids.collect::<Vec<_>>(),
        [("a", &[vec![0]][..]), ("b", &[vec![1]][..])]
    );
    // From then on they are kept.
    assert_eq!(state.take_changes().reservations, ["a", "b"]);
}
