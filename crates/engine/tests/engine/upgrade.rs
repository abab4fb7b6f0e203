//! A running engine is replaced by one of another program, while a job of it runs and another waits.

use crate::Test;
use crate::house::{House, ended, is_there, program, row, running, until};
use api::{Answer, Call, Client, Handover};
use model::{JobState, Outcome};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

pub const TESTS: &[Test] = &[(
    "upgrade::a_running_job_goes_on_under_the_next_program",
    a_running_job_goes_on_under_the_next_program,
)];

/// The pinned program that a client's engine runs.
fn pinned(client: &Client) -> PathBuf {
    let pid = client.engine().unwrap().pid;
    fs::read_link(format!("/proc/{pid}/exe")).unwrap()
}

/// Has the engine replaced by that of a program, as the first client of a new version does.
fn replace(house: &House, mut client: Client, newer: &Path) -> Client {
    let former = pinned(&client);
    loop {
        let to = "9.9.9".to_owned();
        let answer = client.call(&Call::Handover(Handover { to })).unwrap();
        assert!(matches!(answer, Answer::HandedOver), "{answer:?}");
        client = Client::connect_with(&house.dir(), newer).unwrap();
        // The job's supervisor may have been first to miss the engine, and started it again.
        if pinned(&client) != former {
            return client;
        }
    }
}

fn a_running_job_goes_on_under_the_next_program() {
    let house = House::new();
    let mut client = house.client();
    let former = client.engine().unwrap().pid;
    let script =
        "echo $$ >> began; until [ -e go ]; do sleep 0.05; done; echo done >> over; exit 3";
    let job = house.submit(&mut client, script);
    let mut after = house.script("echo after >> over");
    after.request.rare.dependency = Some(format!("afterany:{job}"));
    let after = client.submit(after).unwrap();
    running(&mut client, job);
    until("its script runs", || is_there(&house.work(), "began"));
    let holder = engine::record::read(&house.record(job))
        .unwrap()
        .unwrap()
        .holder;
    let before = row(&mut client, job);

    let newer = house.work().join("newer");
    fs::copy(program(), &newer).unwrap();
    let mut file = OpenOptions::new().append(true).open(&newer).unwrap();
    file.write_all(b"newer").unwrap();
    drop(file);
    let mut client = replace(&house, client, &newer);
    assert_ne!(client.engine().unwrap().pid, former);
    // Where older programs find the one to go on as.
    let serves = client.folder().serving_program().canonicalize().unwrap();
    assert_eq!(serves.join("yard"), pinned(&client));

    running(&mut client, job);
    let now = row(&mut client, job);
    let nodes = |state: &JobState| match state {
        JobState::Running {
            since, allocation, ..
        } => (*since, allocation.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(nodes(&now.state), nodes(&before.state));
    let same = engine::record::read(&house.record(job))
        .unwrap()
        .unwrap()
        .holder;
    assert_eq!(same.pid, holder.pid);
    fs::write(house.work().join("go"), "").unwrap();
    let (outcome, record) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    assert_eq!(record.restarts, 0);
    assert_eq!(ended(&mut client, after).0, Outcome::Completed);
    assert_eq!(house.text("began").lines().count(), 1);
    assert_eq!(house.text("over"), "done\nafter\n");
}
