//! What `squeue` lists: states, arrays, filters, order.

use crate::jobs::{NOW, allocation, facts, held_job};
use expect_test::{Expect, expect};
use model::{
    ArrayPlace, ArraySpec, ArrayTask, Ending, JobId, JobRecord, JobState, Outcome, PendingReason,
    Ran, Seconds, SqueueArgs, Timestamp, WaitStatus,
};
use std::sync::Arc;

fn job(id: u32, name: &str, priority: u32, state: JobState) -> JobRecord {
    let mut job = held_job(id);
    Arc::make_mut(&mut job.request).name = name.to_owned();
    Arc::make_mut(&mut job.request).hold = false;
    job.eligible = Some(NOW);
    job.priority = priority;
    job.state = state;
    job
}

fn waiting(reason: PendingReason) -> JobState {
    JobState::Pending { reason }
}

fn running(seconds: i64, nodes: u32, ending: Option<Ending>) -> JobState {
    JobState::Running {
        since: Timestamp(NOW.0 - seconds * 1000),
        allocation: allocation(nodes, &[0, 1], &[]),
        limit: Some(Seconds(90)),
        ending,
        suspension: None,
        held: None,
        end_moved_ms: 0,
    }
}

fn element(mut job: JobRecord, array: u32, task: ArrayTask) -> JobRecord {
    job.array = Some(ArrayPlace {
        array_job: JobId(array),
        throttle: match &task {
            ArrayTask::Waiting(spec) => spec.throttle,
            ArrayTask::One(_) => None,
        },
        task,
    });
    job
}

fn queue() -> Vec<JobRecord> {
    let spec = ArraySpec {
        indices: vec![2, 3, 4, 7],
        step: 1,
        throttle: Some(2),
    };
    let failed = JobState::Ended {
        outcome: Outcome::Failed {
            status: WaitStatus::exit(3),
        },
        at: NOW,
        ran: Some(Ran {
            since: Timestamp(NOW.0 - 3_784_000),
            allocation: allocation(1, &[0], &[]),
            limit: None,
            suspended_ms: 0,
        }),
    };
    let timeout = Ending::End(Outcome::Timeout {
        status: WaitStatus::default(),
    });
    vec![
        job(1, "first", 10, running(65, 3, None)),
        job(2, "ending", 10, running(95, 1, Some(timeout))),
        job(3, "failed", 10, failed),
        job(4, "low", 1, waiting(PendingReason::Priority)),
        job(5, "high", 9, waiting(PendingReason::Resources)),
        element(
            job(6, "sweep", 5, waiting(PendingReason::JobArrayTaskLimit)),
            6,
            ArrayTask::Waiting(spec),
        ),
        element(
            job(7, "sweep", 5, running(5, 1, None)),
            6,
            ArrayTask::One(0),
        ),
        element(
            job(8, "sweep", 5, waiting(PendingReason::BeginTime)),
            6,
            ArrayTask::One(1),
        ),
    ]
}

#[track_caller]
fn check(line: &str, want: Expect) {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let args = SqueueArgs::parse("squeue", &words, &|_| None).unwrap();
    let jobs = args.select(&queue(), &facts(), 1005, None);
    // A bar holds the blanks of right-aligned columns where they are.
    let lines: Vec<String> = args
        .print_jobs(&jobs, &facts())
        .stdout
        .lines()
        .map(|line| format!("|{line}\n"))
        .collect();
    want.assert_eq(&lines.concat());
}

#[test]
fn the_plain_list_is_slurms() {
    check(
        "",
        expect![[r#"
            |             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
            |                 2       gpu   ending     dave CG       1:35      1 node1
            |                 5       gpu     high     dave PD       0:00      1 (Resources)
            |       6_[1-4,7%2]       gpu    sweep     dave PD       0:00      1 (JobArrayTaskLimit,BeginTime)
            |                 4       gpu      low     dave PD       0:00      1 (Priority)
            |                 1       gpu    first     dave  R       1:05      3 node[1-3]
            |               6_0       gpu    sweep     dave  R       0:05      1 node1
        "#]],
    );
    check(
        "-l",
        expect![[r#"
            |Tue Nov 14 22:13:20 2023
            |             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)
            |                 2       gpu   ending     dave COMPLETI       1:35      1:30      1 node1
            |                 5       gpu     high     dave  PENDING       0:00   1:03:00      1 (Resources)
            |       6_[1-4,7%2]       gpu    sweep     dave  PENDING       0:00   1:03:00      1 (JobArrayTaskLimit,BeginTime)
            |                 4       gpu      low     dave  PENDING       0:00   1:03:00      1 (Priority)
            |                 1       gpu    first     dave  RUNNING       1:05      1:30      3 node[1-3]
            |               6_0       gpu    sweep     dave  RUNNING       0:05      1:30      1 node1
        "#]],
    );
}

#[test]
fn each_element_may_have_its_line() {
    check(
        "-r -h -j 6 -o %i|%K|%F|%A|%r",
        expect![[r#"
            |6_1|1|6|8|BeginTime
            |6_2|2|6|6|JobArrayTaskLimit
            |6_3|3|6|6|JobArrayTaskLimit
            |6_4|4|6|6|JobArrayTaskLimit
            |6_7|7|6|6|JobArrayTaskLimit
            |6_0|0|6|7|None
        "#]],
    );
    check(
        "-h -j 6_3 -o %i",
        expect![[r#"
            |6_3
        "#]],
    );
    check(
        "-h -j 6_3,6_4,6_9 -o %i",
        expect![[r#"
            |6_[3-4%2]
        "#]],
    );
}

#[test]
fn states_choose_and_sort_orders() {
    check(
        "-h -t all -S i -o %i|%t|%T|%R",
        expect![[r#"
            |1|R|RUNNING|node[1-3]
            |2|CG|COMPLETING|node1
            |3|F|FAILED|(NonZeroExitCode)
            |4|PD|PENDING|(Priority)
            |5|PD|PENDING|(Resources)
            |6_0|R|RUNNING|node1
            |6_[1-4,7%2]|PD|PENDING|(JobArrayTaskLimit,BeginTime)
        "#]],
    );
    check(
        "-h -t PD,CG -S -i -o %i",
        expect![[r#"
            |6_[1-4,7%2]
            |5
            |4
            |2
        "#]],
    );
    check(
        "-h -u 1005 -n LOW,high -o %j",
        expect![[r#"
            |high
            |low
        "#]],
    );
    check("-h -u alice", expect![""]);
    check("-h --me -p other", expect![""]);
    check(
        "-h -j 1 -o %N|%L|%l|%e|%S|%B|%C|%D",
        expect![[r#"
            |node[1-3]|0:25|1:30|2023-11-14T22:13:45|2023-11-14T22:12:15|node1|6|3
        "#]],
    );
}

#[test]
fn no_name_makes_a_row_of_its_own() {
    let name = "x\n 1 gpu root R \x1b]0;t\x07";
    let jobs = [job(1, name, 1, waiting(PendingReason::Priority))];
    let words = ["--noheader", "-o", "%i %j"].map(str::to_owned);
    let args = SqueueArgs::parse("squeue", &words, &|_| None).unwrap();
    let listed = args.print_jobs(&args.select(&jobs, &facts(), 0, None), &facts());
    assert_eq!(listed.stdout, "1 x\\n 1 gpu root R \\x1b]0;t\\x07\n");
}
