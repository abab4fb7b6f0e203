//! Jobs that are suspended and resumed.

use crate::Test;
use crate::house::{House, ended, limit, row, running, until};
use api::{CancelRequest, Client, Refusal, Selector};
use model::{JobId, JobState, MemoryRequest, Outcome};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    (
        "suspend::slow::all_processes_stop_and_the_limit_stands_still",
        all_processes_stop,
    ),
    ("suspend::a_suspended_job_is_cancelled", cancelled),
];

/// Two processes, one of them in a session of its own, that write their numbers down; until a file
/// is there.
const TWO: &str = "echo $$ > near
setsid sh -c 'echo $$ > far; while [ ! -e go ]; do sleep 0.01; done' &
while [ ! -e go ]; do sleep 0.01; done
wait";

/// Waits until the processes whose numbers stand in these files are stopped, or are not.
#[track_caller]
fn until_stopped(house: &House, want: bool) {
    for name in ["near", "far"] {
        until("it is stopped or goes on", || {
            let path = format!("/proc/{}/stat", house.text(name).trim());
            let stat = std::fs::read_to_string(path).unwrap_or_default();
            let state = stat.rsplit(") ").next().and_then(|it| it.chars().next());
            !stat.is_empty() && (state == Some('T')) == want
        });
    }
}

fn submit(house: &House, client: &mut Client) -> JobId {
    let job = house.submit(client, TWO);
    running(client, job);
    until("both have begun", || !house.text("far").is_empty());
    job
}

fn all_processes_stop() {
    let house = House::new();
    let mut client = house.client();
    let begun = Instant::now();
    let job = submit(&house, &mut client);
    client.suspend(job, true).unwrap();
    // Of its limit ten seconds are left, as long as it stands still.
    let seconds = begun.elapsed().as_secs() + 10;
    limit(&mut client, job, seconds);
    until_stopped(&house, true);
    house.kill_engine(&client);
    let mut client = house.client();
    assert!(row(&mut client, job).state.is_suspended());
    // Its CPUs are another's, which ends before the limit of the first would have struck.
    let facts = client.facts().unwrap();
    assert_eq!(facts.cpus_used, 0);
    let mut other = house.script("true");
    other.request.cpus_per_task = Some(facts.cpus);
    // The first keeps its memory.
    other.request.memory = Some(MemoryRequest::PerNode(100));
    let other = client.submit(other).unwrap();
    assert_eq!(ended(&mut client, other).0, Outcome::Completed);
    until("its limit has passed", || {
        begun.elapsed() > Duration::from_secs(seconds + 1)
    });
    until_stopped(&house, true);
    client.suspend(job, false).unwrap();
    until_stopped(&house, false);
    assert!(matches!(
        client.suspend(job, false).unwrap_err().refusal(),
        Some(Refusal::Invalid { message }) if message == "Job is not suspended"
    ));
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert_eq!(outcome, Outcome::Completed);
    let JobState::Ended { ran: Some(ran), .. } = row.standing.state else {
        panic!("{row:?}");
    };
    assert!(ran.suspended_ms > 500, "{ran:?}");
}

fn cancelled() {
    let house = House::new();
    let mut client = house.client();
    let job = submit(&house, &mut client);
    client.suspend(job, true).unwrap();
    until_stopped(&house, true);
    client
        .cancel(CancelRequest {
            selector: Selector::Job(job),
            signal: None,
            batch: false,
            full: false,
        })
        .unwrap();
    assert!(matches!(
        ended(&mut client, job).0,
        Outcome::Cancelled { .. }
    ));
    let far = house.text("far").trim().parse().unwrap();
    assert_eq!(sys::process::start_time(far), None);
}
