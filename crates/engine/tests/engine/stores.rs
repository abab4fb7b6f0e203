//! Stores that come back shorter than they were: what a job did stays that job's.

use crate::Test;
use crate::house::{House, ended, program};
use api::{Client, EngineFolder};
use model::{JobId, Outcome, WaitStatus};
use std::path::PathBuf;

pub const TESTS: &[Test] = &[
    ("stores::a_record_belongs_to_one_store", moved_away),
    ("stores::a_restored_store_gives_no_id_twice", restored),
    ("stores::a_flipped_bit_in_the_log_is_reported", flipped_bit),
    ("stores::no_loss_no_word", no_loss),
];

const COUNT: u32 = 5;

fn store(house: &House) -> PathBuf {
    EngineFolder::new(house.dir()).store()
}

/// Jobs whose script fails, to their ends; their ids.
fn fail(house: &House, client: &mut Client) -> Vec<JobId> {
    let jobs = (0..COUNT).map(|number| {
        let mut submission = house.script("exit 3");
        submission.token = format!("failing {number} {}", client.engine().unwrap().pid);
        client.submit(submission).unwrap()
    });
    let jobs: Vec<JobId> = jobs.collect();
    for job in &jobs {
        let status = WaitStatus::exit(3);
        assert_eq!(ended(client, *job).0, Outcome::Failed { status });
    }
    jobs
}

/// Jobs that are submitted now get new ids and run.
#[track_caller]
fn new_jobs_run(house: &House, client: &mut Client, after: &[JobId]) {
    for number in 0..COUNT {
        let job = house.submit(client, &format!("echo ran >> new.{number}"));
        assert!(after.iter().all(|old| *old < job), "{job} after {after:?}");
        assert_eq!(ended(client, job).0, Outcome::Completed);
        assert_eq!(house.text(&format!("new.{number}")), "ran\n");
    }
}

/// What the first client shows, and what the status says for good.
fn notice(house: &House) -> (Option<String>, String) {
    let shown = || {
        let mut client = Client::connect(&house.dir()).unwrap();
        client.facts().unwrap();
        client.engine().unwrap().notice.clone()
    };
    let notice = shown();
    assert_eq!(shown(), None, "once");
    let facts = house.client().facts().unwrap();
    (notice, facts.losses.join("\n"))
}

fn moved_away() {
    let house = House::new();
    let mut client = house.client();
    let old = fail(&house, &mut client);
    client.stop().unwrap();
    let store = store(&house);
    std::fs::write(&store, "garbage, and nothing but garbage").unwrap();
    let error = Client::connect_with(&house.dir(), &program()).unwrap_err();
    assert!(error.todo().contains("move it away"), "{}", error.todo());
    std::fs::rename(&store, store.with_extension("damaged")).unwrap();
    let mut client = house.client();
    let (notice, losses) = notice(&house);
    let notice = notice.unwrap();
    assert!(notice.contains("knows no jobs from 1 to 5"), "{notice}");
    assert!(losses.contains(&notice), "{losses}");
    new_jobs_run(&house, &mut client, &old);
    let log = std::fs::read_to_string(EngineFolder::new(house.dir()).log()).unwrap();
    assert!(log.contains(&notice), "{log}");
}

fn restored() {
    let house = House::new();
    let mut client = house.client();
    fail(&house, &mut client);
    client.stop().unwrap();
    let backup = house.work().join("backup");
    std::fs::copy(store(&house), &backup).unwrap();
    let mut client = house.client();
    let old = fail(&house, &mut client);
    client.stop().unwrap();
    std::fs::copy(&backup, store(&house)).unwrap();
    let mut client = house.client();
    let (notice, _) = notice(&house);
    let notice = notice.unwrap();
    assert!(notice.contains("jobs 6 to 10 are not in it"), "{notice}");
    new_jobs_run(&house, &mut client, &old);
}

fn flipped_bit() {
    let house = House::new();
    let mut client = house.client();
    let old = fail(&house, &mut client);
    house.kill_engine_and_fork_server(&client);
    let log = store(&house).with_extension("sqlite-wal");
    let mut bytes = std::fs::read(&log).unwrap();
    // In a page of the first half of the log.
    let frame = 24 + 4096;
    let middle = 32 + (bytes.len() / frame / 2) * frame + 2000;
    bytes[middle] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let mut client = house.client();
    let (notice, losses) = notice(&house);
    let notice = notice.unwrap();
    assert!(notice.contains("write-ahead log is damaged"), "{notice}");
    assert!(losses.contains(&notice), "{losses}");
    new_jobs_run(&house, &mut client, &old);
}

/// An engine that is killed or stopped loses nothing, and says nothing.
fn no_loss() {
    let house = House::new();
    for _ in 0..3 {
        let mut client = house.client();
        fail(&house, &mut client);
        house.kill_engine(&client);
    }
    house.client().stop().unwrap();
    house.client();
    assert_eq!(notice(&house), (None, String::new()));
}
