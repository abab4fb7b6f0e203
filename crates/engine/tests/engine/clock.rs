//! The machine's clock is set while jobs run. Only a test's clock is: the engine reads by how much
//! from a file.

use crate::Test;
use crate::house::{House, ended, running, until};
use crate::trouble::wrapped;
use api::Client;
use model::{JobState, Outcome, Seconds, TimeLimitRequest, Timestamp};

pub const TESTS: &[Test] = &[
    ("clock::an_hour_ahead_ends_no_job", ahead),
    ("clock::an_hour_back_prolongs_no_job", back),
];

const HOUR: i64 = 3_600_000;

fn set(house: &House, millis: i64) {
    let file = house.work().join("clock");
    sys::atomic::write(&file, millis.to_string().as_bytes()).unwrap();
}

/// A client of an engine whose clock is the test's.
fn client(house: &House) -> Client {
    let clock = house.work().join("clock");
    let before = format!("export TRAINYARD_TEST_CLOCK='{}'", clock.display());
    Client::connect_with(&house.dir(), &wrapped(house, &before)).unwrap()
}

fn limited(house: &House, body: &str, seconds: u64) -> api::Submission {
    let mut submission = house.script(body);
    submission.request.time = Some(TimeLimitRequest::Limit(Seconds(seconds)));
    submission
}

fn ahead() {
    let house = House::new();
    let mut client = client(&house);
    let job = client
        .submit(limited(
            &house,
            "while [ ! -e go ]; do sleep 0.01; done",
            600,
        ))
        .unwrap();
    let mut without_script = limited(&house, "", 600);
    without_script.script = None;
    let allocation = client.submit(without_script).unwrap();
    running(&mut client, job);
    running(&mut client, allocation);
    let since = |client: &mut Client| match client.jobs(Default::default()).unwrap()[0].state {
        JobState::Running { since, .. } => since,
        ref other => panic!("{other:?}"),
    };
    let began = since(&mut client);
    set(&house, HOUR);
    let moved = Timestamp(began.0 + HOUR);
    until("the start is told by the new clock", || {
        (since(&mut client).0 - moved.0).abs() < 60_000
    });
    // While no engine runs, too.
    client.stop().unwrap();
    set(&house, 3 * HOUR);
    let mut client = self::client(&house);
    assert!((since(&mut client).0 - moved.0 - 2 * HOUR).abs() < 60_000);
    running(&mut client, job);
    std::fs::write(house.work().join("go"), "").unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}

fn back() {
    let house = House::new();
    let mut client = client(&house);
    let job = client
        .submit(limited(&house, "touch begun; sleep 600", 1))
        .unwrap();
    set(&house, -HOUR);
    let (outcome, row) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Timeout { .. }), "{outcome:?}");
    assert!(row.restarts == 0);
}
