//! A supervisor that is stopped holds up its own step alone.

use crate::Test;
use crate::house::{House, all, ended, is_there, limit, running, until};
use api::{CancelRequest, Selector};
use model::{JobId, Outcome, Seconds, TimeLimitRequest};

const SIGSTOP: i32 = 19;
const SIGCONT: i32 = 18;

pub const TESTS: &[Test] = &[
    (
        "stopped::others_go_on_beside_a_stopped_supervisor",
        others_go_on,
    ),
    (
        "stopped::a_limit_that_could_not_be_said_is_said_by_the_next_engine",
        a_limit_is_said_again,
    ),
    (
        "stopped::slow::an_idle_one_that_is_stopped_gets_no_step_and_leaves",
        idle,
    ),
    (
        "stopped::slow::one_that_its_own_job_stopped_keeps_the_limit",
        by_its_own_job,
    ),
];

fn cancel(job: JobId) -> CancelRequest {
    CancelRequest {
        selector: Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    }
}

fn is_cancelled(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Cancelled { .. })
}

fn others_go_on() {
    let house = House::new();
    let mut client = house.client();
    let stopped = house.submit(
        &mut client,
        "trap 'exit 3' TERM; : > began; while :; do sleep 0.1; done",
    );
    until("it runs", || is_there(&house.work(), "began"));
    let holder = engine::record::read(&house.record(stopped))
        .unwrap()
        .unwrap()
        .holder;
    // Once it listens, whoever calls it waits for an answer.
    let signal = CancelRequest {
        signal: Some(SIGCONT),
        full: true,
        ..cancel(stopped)
    };
    client.cancel(signal.clone()).unwrap();
    let socket = house.record(stopped).with_file_name(format!(
        "{}.sock",
        house.record(stopped).file_name().unwrap().to_str().unwrap()
    ));
    until("it listens", || socket.exists());
    sys::process::signal(holder.pid, SIGSTOP).unwrap();
    for _ in 0..200 {
        client.cancel(signal.clone()).unwrap();
    }
    client.cancel(cancel(stopped)).unwrap();
    for _ in 0..5 {
        let other = house.submit(&mut client, "sleep 1000");
        running(&mut client, other);
        client.cancel(cancel(other)).unwrap();
        assert!(is_cancelled(&ended(&mut client, other).0));
    }
    assert_eq!(all(&mut client).len(), 6);
    sys::process::signal(holder.pid, SIGCONT).unwrap();
    assert!(is_cancelled(&ended(&mut client, stopped).0));
}

/// The job ended by its former limit, and showed the new one.
fn a_limit_is_said_again() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        ": > began; while [ ! -e go ]; do sleep 0.1; done",
    );
    until("it runs", || is_there(&house.work(), "began"));
    let holder = engine::record::read(&house.record(job));
    let holder = holder.unwrap().unwrap().holder;
    sys::process::signal(holder.pid, SIGSTOP).unwrap();
    limit(&mut client, job, 1);
    house.kill_engine(&client);
    let mut client = house.client();
    running(&mut client, job);
    sys::process::signal(holder.pid, SIGCONT).unwrap();
    let (outcome, _) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Timeout { .. }), "{outcome:?}");
}

/// The job ran on for ever.
fn by_its_own_job() {
    let house = House::new();
    let mut client = house.client();
    let mut submission = house.script("kill -STOP $PPID; exec sleep 1000");
    submission.request.time = Some(TimeLimitRequest::Limit(Seconds(1)));
    let job = client.submit(submission).unwrap();
    let (outcome, _) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Timeout { .. }), "{outcome:?}");
}

fn idle() {
    let house = House::new();
    let mut client = house.client();
    let first = house.submit(&mut client, "true");
    assert_eq!(ended(&mut client, first).0, Outcome::Completed);
    let fork_server = sys::process::children(client.engine().unwrap().pid);
    let idle = fork_server
        .iter()
        .flat_map(|pid| sys::process::children(*pid));
    let idle: Vec<u32> = idle.collect();
    for pid in &idle {
        // It may have left by now.
        let _gone = sys::process::signal(*pid, SIGSTOP);
    }
    let second = house.submit(&mut client, "true");
    assert_eq!(ended(&mut client, second).0, Outcome::Completed);
    until("it has left", || {
        let mut idle = idle.iter();
        idle.all(|pid| sys::process::start_time(*pid).is_none())
    });
}
