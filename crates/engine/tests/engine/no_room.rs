//! Single folders of an engine's whose disk is full: what its jobs need is written once there is room.

use crate::Test;
use crate::house::{House, ended, row, running, until};
use crate::trouble::{let_files_grow_to, wrapped};
use api::{Client, EngineFolder};
use model::{JobState, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const TESTS: &[Test] = &[
    (
        "no_room::a_supervisor_waits_for_room_for_its_record",
        record,
    ),
    (
        "no_room::a_job_whose_script_finds_no_room_is_started_once_there_is_some",
        script,
    ),
    (
        "no_room::a_job_whose_script_finds_no_room_can_be_cancelled",
        cancelled,
    ),
    (
        "no_room::an_allocation_whose_client_goes_during_a_full_disk_ends",
        allocation_ends,
    ),
    (
        "no_room::an_allocation_that_is_refused_is_nobodys",
        refused_allocation,
    ),
];

/// A small disk that is full.
struct FullDisk(PathBuf);

impl FullDisk {
    /// Where this user may mount one.
    fn new(at: &Path) -> Option<FullDisk> {
        std::fs::create_dir_all(at).unwrap();
        sys::mounts::unshare().ok()?;
        let run = |program: &str, args: &[&str]| {
            let status = Command::new(program).args(args).status();
            status.is_ok_and(|status| status.success())
        };
        let is_mounted = run("mount", &["--make-rprivate", "/"])
            && run(
                "mount",
                &["-t", "tmpfs", "-o", "size=64k", "none", at.to_str()?],
            );
        if !is_mounted {
            println!("skipped: no small disk can be mounted here");
            return None;
        }
        let disk = FullDisk(at.to_owned());
        assert!(std::fs::write(disk.filling(), [0; 64 << 10]).is_ok());
        Some(disk)
    }

    fn filling(&self) -> PathBuf {
        self.0.join("filling")
    }

    fn make_room(&self) {
        std::fs::remove_file(self.filling()).unwrap();
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        let _ended = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn until_logged(house: &House, words: &str) {
    let log = EngineFolder::new(house.dir()).log();
    until("the log says so", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.contains(words)
    });
}

/// A job that must not come back, so that an end without a word would be one for good.
fn submit(house: &House, client: &mut Client) -> model::JobId {
    let mut submission = house.script("echo once >> runs");
    submission.request.rare.requeue = Some(false);
    client.submit(submission).unwrap()
}

#[track_caller]
fn runs_once(house: &House, client: &mut Client, job: model::JobId) {
    let (outcome, row) = ended(client, job);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 0));
    assert_eq!(house.text("runs"), "once\n");
}

/// It ended without a word: the job was lost, as with a node, and others came back once a second.
fn record() {
    let house = House::new();
    let Some(disk) = FullDisk::new(&house.dir().join("steps")) else {
        return;
    };
    let mut client = house.client();
    let job = submit(&house, &mut client);
    until_logged(&house, "it waits for room for its record");
    assert!(matches!(
        row(&mut client, job).state,
        JobState::Running { .. }
    ));
    disk.make_room();
    runs_once(&house, &mut client, job);
}

/// The job was held for good.
fn script() {
    let house = House::new();
    let Some(disk) = FullDisk::new(&house.dir().join("jobs")) else {
        return;
    };
    let mut client = house.client();
    let job = submit(&house, &mut client);
    until_logged(&house, "it could not be started");
    assert!(matches!(
        row(&mut client, job).state,
        JobState::Running { .. }
    ));
    disk.make_room();
    runs_once(&house, &mut client, job);
}

fn cancelled() {
    let house = House::new();
    let Some(_disk) = FullDisk::new(&house.dir().join("jobs")) else {
        return;
    };
    let mut client = house.client();
    let job = submit(&house, &mut client);
    until_logged(&house, "it could not be started");
    let cancel = api::CancelRequest {
        selector: api::Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    };
    client.cancel(cancel).unwrap();
    let (outcome, _) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Cancelled { .. }), "{outcome:?}");
    assert_eq!(house.text("runs"), "");
}

/// An engine whose store has no room from when it is said.
fn with_small_store(house: &House) -> Client {
    house.client().stop().unwrap();
    Client::connect_with(&house.dir(), &wrapped(house, "trap '' XFSZ")).unwrap()
}

fn fill_store(house: &House, client: &Client) {
    let written = std::fs::metadata(house.dir().join("store.sqlite-wal")).unwrap();
    let_files_grow_to(client.engine().unwrap().pid, &written.len().to_string());
}

/// It ran on without a client and without a limit.
fn allocation_ends() {
    let house = House::new();
    let mut owner = with_small_store(&house);
    let mut submission = house.script("");
    submission.script = None;
    let job = owner.submit(submission).unwrap();
    running(&mut owner, job);
    let mut client = house.client();
    fill_store(&house, &client);
    drop(owner);
    until_logged(&house, "nothing was accepted");
    let_files_grow_to(client.engine().unwrap().pid, "unlimited");
    let (outcome, _) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Cancelled { .. }), "{outcome:?}");
}

/// The next job, with the same id, was cancelled once the first one's client went.
fn refused_allocation() {
    let house = House::new();
    let mut first = with_small_store(&house);
    fill_store(&house, &first);
    let mut submission = house.script("");
    submission.script = None;
    first.submit(submission).unwrap_err();
    let mut client = house.client();
    let_files_grow_to(client.engine().unwrap().pid, "unlimited");
    let job = house.submit(&mut client, "while [ ! -e go ]; do sleep 0.01; done");
    running(&mut client, job);
    drop(first);
    let other = house.submit(&mut client, "true");
    assert_eq!(ended(&mut client, other).0, Outcome::Completed);
    std::fs::write(house.work().join("go"), "").unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}
