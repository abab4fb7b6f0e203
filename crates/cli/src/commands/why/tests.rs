#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use super::first_element;
use super::lines::{When, licences};
use super::story::story as whole_story;
use api::{ArrayThrottle, AwaitedJob, Unmet};
use api::{
    HeldAmount, JobHolds, LicenceNeed, NeverMet, NodesNeeded, NotPlanned, OutOfUse, PreemptedJob,
    WhyWaiting,
};
use expect_test::expect;
use jiff::tz::TimeZone;
use model::{
    JobId, PartitionBound, PartitionSays, Reservation, ReservationFlag, Seconds, Timestamp,
};

#[test]
fn who_has_the_licences() {
    let need = LicenceNeed {
        name: "matlab".to_owned(),
        asked: 2,
        there: 3,
        reserved: 0,
        held: vec![(JobId(12), 1), (JobId(13), 1)],
    };
    expect!["2 matlab asked, 2 of 3 held: 1 by job 12, 1 by job 13"].assert_eq(&licences(&need));
    let kept = LicenceNeed {
        reserved: 2,
        held: Vec::new(),
        ..need
    };
    expect!["2 matlab asked, none held; 2 of 3 kept by reservations"].assert_eq(&licences(&kept));
}

#[test]
fn elements_as_squeue_prints_them() {
    for (name, want) in [
        ("17_[2-4%1]", "17_2"),
        ("w:17_[2,4-8:2]", "w:17_2"),
        ("17_[12-40,...]", "17_12"),
        ("17_3", "17_3"),
        ("my_[job]", "my_[job]"),
        ("17_[]", "17_[]"),
    ] {
        assert_eq!(first_element(name), want);
    }
}

#[test]
fn a_job_that_waits_for_gpus() {
    let amount = |cpus: u64, gpus: u64| HeldAmount {
        cpus,
        gpus,
        memory: 0,
    };
    let hour = 3_600_000;
    let why = WhyWaiting {
        job: JobId(17),
        reason: "Resources".to_owned(),
        needs: Some(amount(4, 2)),
        free: amount(20, 1),
        free_on_one: amount(4, 1),
        nodes_needed: Some(NodesNeeded {
            least: 2,
            with_room: Some(1),
            there: 8,
        }),
        out_of_use: vec![OutOfUse {
            nodes: ["g7", "g8"].map(model::NodeName::new).to_vec(),
            state: "drained".to_owned(),
            reason: "disk".to_owned(),
            by: "root".to_owned(),
        }],
        not_planned: None,
        smaller_untried: false,
        no_limit: None,
        unmet: Vec::new(),
        one_is_enough: false,
        never_met: Vec::new(),
        cpus_held_elsewhere: Vec::new(),
        there: amount(32, 4),
        ahead: vec![JobId(15), JobId(16)],
        holders: vec![
            JobHolds {
                job: JobId(12),
                user: "ann".to_owned(),
                holds: amount(8, 2),
                until: Some(Timestamp(2 * hour)),
                is_suspended: false,
                element: None,
                preempted: None,
            },
            JobHolds {
                job: JobId(11),
                user: "bob".to_owned(),
                holds: amount(1, 0),
                until: None,
                is_suspended: false,
                element: None,
                preempted: None,
            },
            JobHolds {
                job: JobId(10),
                user: "bob".to_owned(),
                holds: amount(4, 0),
                until: None,
                is_suspended: true,
                element: None,
                preempted: None,
            },
        ],
        start: Some(Timestamp(2 * hour)),
        nodes: ["g1", "g2"].map(model::NodeName::new).to_vec(),
        licences: Vec::new(),
        too_late: Some(Timestamp(9 * hour)),
        limit: None,
        partition_bound: None,
        throttle: None,
        reservations: vec![
            Reservation {
                name: "service".to_owned(),
                start: Timestamp(3 * hour),
                end: Timestamp(4 * hour),
                nodes: vec![model::NodeName::new("g1"), model::NodeName::new("g2")],
                flags: [ReservationFlag::Maint].into(),
                ..Reservation::default()
            },
            Reservation {
                name: "course".to_owned(),
                end: Timestamp(30 * hour),
                nodes: vec![model::NodeName::new("g3")],
                users: model::ReservedFor {
                    names: vec!["ann".to_owned(), "bob".to_owned()],
                    are_excluded: false,
                },
                ..Reservation::default()
            },
        ],
        instead: vec!["--gpus=1".to_owned(), "--time=01:00:00".to_owned()],
    };
    let story = |why: &WhyWaiting| {
        let has = !why.cpus_held_elsewhere.is_empty();
        let others = has.then_some("CPU 3 is in use by another engine");
        whole_story(
            "job 17",
            why,
            &[],
            others,
            When {
                now: Timestamp(hour),
                zone: &TimeZone::UTC,
            },
        )
    };
    let text = story(&why);
    expect![[r#"
        job 17: waiting for free CPUs, memory or GPUs (Resources)
          needs        2 nodes, 2 GPUs and 4 CPUs
          free         1 GPU and 20 CPUs of 4 GPUs and 32 CPUs, at most 1 GPU and 4 CPUs on one node; nodes with room: 1 of 8
          out of use   g[7-8]: drained by root: disk
          reserved     service keeps g[1-2] for maintenance from 03:00 until 04:00
          reserved     course keeps g3 for ann,bob until 1970-01-02 06:00
          ahead        2 jobs wait and come before it, job 15 among them
          held by      job 12 of ann: 2 GPUs and 8 CPUs, until 02:00
                       job 11 of bob: 1 CPU, without a limit
                       job 10 of bob: 4 CPUs, suspended
          starts       about 02:00, in 1 h 00, on g[1-2], if jobs run until their limits
          ends         09:00 if it has not started, by its deadline and its limit
          sooner       it would start now with --gpus=1 or --time=01:00:00
    "#]].assert_eq(&text);
    let last = |why: WhyWaiting| {
        let lines = WhyWaiting {
            start: None,
            needs: None,
            too_late: None,
            instead: Vec::new(),
            reservations: Vec::new(),
            holders: Vec::new(),
            ahead: Vec::new(),
            ..why
        };
        story(&lines)
    };
    let without_limit = WhyWaiting {
        no_limit: Some(JobId(11)),
        out_of_use: Vec::new(),
        ..why.clone()
    };
    expect![[r#"
        job 17: waiting for free CPUs, memory or GPUs (Resources)
          needs        2 nodes
          starts       not known: job 11 has no time limit
    "#]]
    .assert_eq(&last(without_limit));
    let holder = |job: u32, element: &str, preempted: Option<PreemptedJob>| JobHolds {
        job: JobId(job),
        element: Some(element.to_owned()).filter(|element| !element.is_empty()),
        preempted,
        ..why.holders[0].clone()
    };
    let plain = |why: &WhyWaiting| WhyWaiting {
        needs: None,
        too_late: None,
        ahead: Vec::new(),
        reservations: Vec::new(),
        out_of_use: Vec::new(),
        instead: Vec::new(),
        ..why.clone()
    };
    let preempts =
        |grace: Option<Timestamp>, comes_back: bool| Some(PreemptedJob { grace, comes_back });
    expect![[r#"
        job 17: waiting for free CPUs, memory or GPUs (Resources)
          needs        2 nodes
          held by      job 12 of ann: 2 GPUs and 8 CPUs, preempted: ended when its grace time is over, at 01:30
                       job 13 of ann: 2 GPUs and 8 CPUs, preempted: it is being queued again
          starts       about 02:00, in 1 h 00, on g[1-2], if jobs run until their limits
    "#]]
    .assert_eq(&story(&WhyWaiting {
        holders: vec![
            holder(12, "", preempts(Some(Timestamp(hour * 3 / 2)), false)),
            holder(13, "", preempts(None, true)),
        ],
        ..plain(&why)
    }));
    expect![[r#"
        job 17: its array runs as many elements as its limit allows (JobArrayTaskLimit)
          throttle     array 17 runs at most 1 element at a time (%1)
          held by      job 17_3 of ann: 2 GPUs and 8 CPUs, until 02:00
          starts       element 4 next, about 02:00, in 1 h 00, on g[1-2], if jobs run until their limits
    "#]]
    .assert_eq(&story(&WhyWaiting {
        reason: "JobArrayTaskLimit".to_owned(),
        throttle: Some(ArrayThrottle {
            array: JobId(17),
            most: 1,
            next: Some(4),
        }),
        nodes_needed: None,
        holders: vec![holder(18, "17_3", None)],
        ..plain(&why)
    }));
    let on_drained = WhyWaiting {
        reason: "ReqNodeNotAvail, UnavailableNodes:g[7-8]".to_owned(),
        ..why.clone()
    };
    expect![[r#"
        job 17: nodes that it needs are down or drained (ReqNodeNotAvail, UnavailableNodes:g[7-8])
          needs        2 nodes
          out of use   g[7-8]: drained by root: disk
          starts       once nodes are back: scontrol update NodeName=g[7-8] State=RESUME lets them take jobs
    "#]].assert_eq(&last(on_drained));
    let starts = |not_before: Option<i64>, ahead: usize, tried: Option<usize>| {
        let text = last(WhyWaiting {
            not_planned: Some(NotPlanned {
                not_before: not_before.map(Timestamp),
                ahead,
                tried,
            }),
            smaller_untried: ahead == 0,
            out_of_use: Vec::new(),
            nodes_needed: None,
            ..why.clone()
        });
        let (_, starts) = text.split_once("starts").unwrap();
        starts.trim_start().to_owned()
    };
    expect![[r#"
        not known, not before 03:00: no start is planned yet of 1200 jobs ahead of it
    "#]]
    .assert_eq(&starts(Some(3 * hour), 1200, Some(500)));
    expect![[r#"
        not known, not before 03:00: 500 jobs ahead of it still wait then, and backfill tries no more (bf_max_job_test)
          sooner       not known: so many jobs wait that no smaller request was tried
    "#]]
    .assert_eq(&starts(Some(3 * hour), 0, Some(500)));
    expect![[r#"
        not known: what comes before it would take too long to work out
          sooner       not known: so many jobs wait that no smaller request was tried
    "#]]
    .assert_eq(&starts(None, 0, None));
    let beside_others = WhyWaiting {
        cpus_held_elsewhere: vec![3],
        out_of_use: Vec::new(),
        nodes_needed: None,
        ..why.clone()
    };
    expect![[r#"
        job 17: waiting for free CPUs, memory or GPUs (Resources)
          others       CPU 3 is in use by another engine
          starts       not known: when jobs of another engine end
    "#]]
    .assert_eq(&last(beside_others));
    let after_failed = WhyWaiting {
        reason: "DependencyNeverSatisfied".to_owned(),
        unmet: Vec::new(),
        one_is_enough: false,
        never_met: vec![NeverMet {
            condition: "afterok:7".to_owned(),
            job: "7".to_owned(),
            state: Some("FAILED".to_owned()),
        }],
        out_of_use: Vec::new(),
        nodes_needed: None,
        ..why
    };
    expect![[r#"
        job 17: the job that it depends on did not end as required (DependencyNeverSatisfied)
          never        afterok:7 can't be met any more: job 7 ended as FAILED
          starts       never: scancel 17 removes it
    "#]]
    .assert_eq(&last(after_failed));
}

#[test]
fn memory_that_is_counted_is_told() {
    let amount = |cpus: u64, memory: u64| HeldAmount {
        cpus,
        gpus: 0,
        memory,
    };
    let mut why = waiting("Resources");
    why.needs = Some(amount(1, 8192));
    why.free = amount(88, 4096);
    why.free_on_one = amount(15, 1024);
    why.there = amount(96, 786_432);
    expect![[r#"
        job 17: waiting for free CPUs, memory or GPUs (Resources)
          needs        1 CPU and 8G
          free         88 CPUs and 4G of 96 CPUs and 768G, at most 15 CPUs and 1G on one node
          starts       not known: no end of a running job lets it start
    "#]]
    .assert_eq(&told(&why));
}

#[test]
fn a_job_that_is_larger_than_the_cluster_never_starts() {
    let mut why = waiting("PartitionConfig");
    why.nodes_needed = Some(NodesNeeded {
        least: 1000,
        with_room: None,
        there: 64,
    });
    let text = told(&why);
    assert!(
        text.contains("never as it is: of the 1000 nodes that it needs there are 64"),
        "{text}"
    );
}

#[test]
fn what_a_partition_says_against_a_job() {
    let says = |reason: &str, says: PartitionSays| {
        let mut why = waiting(reason);
        why.partition_bound = Some(PartitionBound {
            partition: "main".to_owned(),
            says,
        });
        if reason == "PartitionConfig" {
            why.ahead = vec![JobId(3), JobId(4)];
        }
        told(&why)
    };
    let text = [
        says(
            "PartitionTimeLimit",
            PartitionSays::Time {
                most: Seconds(3600),
            },
        ),
        says(
            "PartitionNodeLimit",
            PartitionSays::Nodes {
                least: 1,
                most: Some(2),
            },
        ),
        says("PartitionDown", PartitionSays::Closed),
        says(
            "PartitionConfig",
            PartitionSays::Cpus {
                asked: 64,
                on_one: true,
                there: 4,
            },
        ),
        says(
            "PartitionConfig",
            PartitionSays::Cpus {
                asked: 17,
                on_one: false,
                there: 16,
            },
        ),
    ];
    expect![[r#"
        job 17: its partition doesn't allow so long a time (PartitionTimeLimit)
          partition    main: jobs last at most 01:00:00
          starts       not as it is: scontrol update JobId=17 TimeLimit=01:00:00 lets it take its turn
        job 17: its partition doesn't allow so many nodes (PartitionNodeLimit)
          partition    main: nodes of a job: at most 2
          starts       not as it is: scontrol update JobId=17 NumNodes=2 lets it take its turn
        job 17: its partition starts no jobs now (PartitionDown)
          partition    main: it starts no jobs
          starts       once main is up: scontrol update PartitionName=main State=UP lets it start jobs
        job 17: its partition is too small for it, or is not for its user (PartitionConfig)
          partition    main: a task asks for 64 CPUs on one node, its largest node has 4 CPUs
          starts       never as it is: cancel it, and submit it again with --cpus-per-task=4 or less
        job 17: its partition is too small for it, or is not for its user (PartitionConfig)
          partition    main: the job asks for 17 CPUs, it has 16 CPUs in all
          starts       never as it is: cancel it, and submit it again with 16 CPUs or fewer in all
    "#]].assert_eq(&text.concat());
}

/// Its QOS, of which its reason says nothing, wants it shorter than its partition does.
#[test]
fn a_time_that_all_limits_take_is_advised() {
    let mut why = waiting("PartitionTimeLimit");
    let most = Seconds(86_400);
    why.partition_bound = Some(PartitionBound {
        partition: "main".to_owned(),
        says: PartitionSays::Time { most },
    });
    why.instead = vec!["--time=08:00:00".to_owned()];
    let told = told(&why);
    assert!(
        told.contains("JobId=17 TimeLimit=08:00:00 lets it"),
        "{told}"
    );
}

/// Job 17, of which nothing is known but its reason.
fn waiting(reason: &str) -> WhyWaiting {
    let none = HeldAmount {
        cpus: 0,
        gpus: 0,
        memory: 0,
    };
    WhyWaiting {
        job: JobId(17),
        reason: reason.to_owned(),
        needs: None,
        nodes_needed: None,
        out_of_use: Vec::new(),
        free: none,
        free_on_one: none,
        there: none,
        ahead: Vec::new(),
        holders: Vec::new(),
        start: None,
        nodes: Vec::new(),
        no_limit: None,
        unmet: Vec::new(),
        one_is_enough: false,
        never_met: Vec::new(),
        cpus_held_elsewhere: Vec::new(),
        licences: Vec::new(),
        reservations: Vec::new(),
        too_late: None,
        limit: None,
        partition_bound: None,
        throttle: None,
        not_planned: None,
        instead: Vec::new(),
        smaller_untried: false,
    }
}

fn told(why: &WhyWaiting) -> String {
    let when = When {
        now: Timestamp(0),
        zone: &TimeZone::UTC,
    };
    whole_story("job 17", why, &[], None, when)
}

#[test]
fn conditions_that_are_not_met_name_their_jobs_and_when_those_end() {
    let hour = 3_600_000;
    let job = |job: &str, waits: Option<&str>, until: Option<i64>| AwaitedJob {
        job: job.to_owned(),
        waits: waits.map(str::to_owned),
        until: until.map(Timestamp),
        is_suspended: false,
    };
    let unmet = |condition: &str, jobs: Vec<AwaitedJob>, more| Unmet {
        condition: condition.to_owned(),
        met_at: None,
        jobs,
        more,
    };
    let mut why = waiting("Dependency");
    why.unmet = vec![
        unmet("afterok:7", vec![job("7", None, Some(2 * hour))], 0),
        unmet(
            "afterany:9",
            vec![job("9", Some("Resources"), None), job("9_1", None, None)],
            3,
        ),
        Unmet {
            met_at: Some(Timestamp(hour)),
            ..unmet("after:8+10", Vec::new(), 0)
        },
    ];
    why.one_is_enough = true;
    expect![[r#"
        job 17: waiting for another job to end (Dependency)
          after        afterok:7: job 7 runs until 02:00 at the latest, or
                       afterany:9: job 9 waits itself (Resources), job 9_1 runs without a limit, 3 more jobs, or
                       after:8+10: met at 01:00
          starts       not known: no end of a running job lets it start
    "#]].assert_eq(&told(&why));
}
