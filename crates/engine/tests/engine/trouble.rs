//! Stores that can't be used, other versions, full disks.

use crate::Test;
use crate::house::{House, all, ended, is_there, program, running, until};
use api::{
    Answer, Call, Client, EngineFolder, Handover, Hello, HelloAnswer, JobFilter, LONGEST_ANSWER,
    LONGEST_CALL, PROTOCOL, Refusal, read_frame, write_frame,
};
use model::{JobId, Outcome, StepId};
use std::os::unix::fs::PermissionsExt;

pub const TESTS: &[Test] = &[
    ("trouble::garbage_in_the_store", garbage),
    ("trouble::a_newer_store", newer_store),
    ("trouble::a_network_file_system", network),
    ("trouble::a_full_disk", full_disk),
    (
        "trouble::an_engine_whose_log_finds_no_room_goes_on",
        an_engine_whose_log_finds_no_room_goes_on,
    ),
    (
        "trouble::jobs_that_run_beside_a_full_disk_are_waited_for_once",
        jobs_beside_a_full_disk,
    ),
    (
        "trouble::nothing_is_taken_in_while_the_store_can_not_be_read",
        unread_store,
    ),
    (
        "trouble::a_job_whose_supervisor_can_not_be_looked_at_is_not_lost",
        not_lost,
    ),
    ("trouble::handover", handover),
    ("trouble::another_protocol", another_protocol),
    (
        "trouble::an_older_engine_is_replaced",
        an_older_engine_is_replaced,
    ),
    (
        "trouble::an_older_engine_that_was_asked_at_once_is_replaced",
        an_older_engine_that_was_asked_at_once_is_replaced,
    ),
    (
        "trouble::an_older_engine_is_not_asked_what_may_be_done_once",
        an_older_engine_is_not_asked_what_may_be_done_once,
    ),
    (
        "trouble::a_look_replaces_an_older_engine",
        a_look_replaces_an_older_engine,
    ),
    (
        "trouble::an_older_engine_is_stopped",
        an_older_engine_is_stopped,
    ),
];

#[track_caller]
fn refused(house: &House) -> String {
    let error = Client::connect_with(&house.dir(), &program()).unwrap_err();
    format!("{error}\n{}", error.todo())
}

fn garbage() {
    let house = House::new();
    std::fs::create_dir_all(house.dir()).unwrap();
    let store = house.dir().join("store.sqlite");
    std::fs::write(&store, "garbage, and nothing but garbage").unwrap();
    let text = refused(&house);
    assert!(text.contains("it is no SQLite file"), "{text}");
    assert!(text.contains("move it away"), "{text}");
    let kept = std::fs::read_to_string(&store).unwrap();
    assert_eq!(kept, "garbage, and nothing but garbage");
}

fn newer_store() {
    let house = House::new();
    let client = house.client();
    client.stop().unwrap();
    let store = house.dir().join("store.sqlite");
    let mut bytes = std::fs::read(&store).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&store, &bytes).unwrap();
    let text = refused(&house);
    assert!(text.contains("written by a newer yard"), "{text}");
    assert_eq!(std::fs::read(&store).unwrap(), bytes);
}

/// A program that becomes an engine after the shell said something.
pub fn wrapped(house: &House, before: &str) -> std::path::PathBuf {
    let path = house.work().join("wrapped");
    let text = format!(
        "#!/bin/sh\n{before}\nexec '{}' \"$@\"\n",
        program().display()
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn network() {
    let house = House::new();
    let home = house.dir();
    let before = format!(
        "export TRAINYARD_TEST_FS='nfs:{}'",
        home.parent().unwrap().display()
    );
    let error = Client::connect_with(&home, &wrapped(&house, &before)).unwrap_err();
    let text = format!("{error}\n{}", error.todo());
    assert!(
        text.contains("lies on a network file system (nfs)"),
        "{text}"
    );
    assert!(text.contains("set TRAINYARD_HOME"), "{text}");
    assert!(!home.join("store.sqlite").exists());
}

/// No file may grow beyond a size: what the store says then is what it says on a full disk.
fn full_disk() {
    let house = House::new();
    // The pinned copy of the program is larger than that.
    house.client().stop().unwrap();
    let small = wrapped(&house, "trap '' XFSZ; ulimit -f 4096");
    let mut client = Client::connect_with(&house.dir(), &small).unwrap();
    let mut accepted = Vec::new();
    let refusal = loop {
        let mut submission = house.script(&"# much to store\n".repeat(20_000));
        submission.request.hold = true;
        submission.token = format!("token {}", accepted.len());
        match client.submit(submission) {
            Ok(job) => accepted.push(job),
            Err(error) => break error,
        }
        assert!(accepted.len() < 1000, "the disk was never full");
    };
    assert!(
        matches!(refusal.refusal(), Some(Refusal::Store { .. })),
        "{refusal}"
    );
    let ids = |client: &mut Client| -> Vec<JobId> {
        let jobs = client.jobs(JobFilter::default()).unwrap();
        jobs.into_iter().map(|job| job.id).collect()
    };
    assert_eq!(ids(&mut client), accepted);
    client.stop().unwrap();
    let mut client = house.client();
    assert_eq!(ids(&mut client), accepted);
    let job = house.submit(&mut client, "echo there is room again");
    assert!(!accepted.contains(&job));
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}

/// From now on no file of a process grows beyond a size.
pub fn let_files_grow_to(pid: u32, bytes: &str) {
    let limits = [format!("--pid={pid}"), format!("--fsize={bytes}:")];
    let set = std::process::Command::new("prlimit").args(limits).status();
    assert!(set.unwrap().success());
}

/// It said on standard error that it could not write to its log; that is the log, and it panicked.
fn an_engine_whose_log_finds_no_room_goes_on() {
    let house = House::new();
    house.client().stop().unwrap();
    let small = wrapped(&house, "trap '' XFSZ");
    let mut client = Client::connect_with(&house.dir(), &small).unwrap();
    let engine = client.engine().unwrap().pid;
    let_files_grow_to(engine, "0");
    let refusal = client.submit(house.script("true")).unwrap_err();
    assert!(
        matches!(refusal.refusal(), Some(Refusal::Store { .. })),
        "{refusal}"
    );
    let_files_grow_to(engine, "unlimited");
    let job = house.submit(&mut client, "true");
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    assert_eq!(client.engine().unwrap().pid, engine);
}

/// Each attempt to write another job's end took one more thread and descriptor for each job that runs; when
/// there were no more, those were believed lost, and ran twice.
fn jobs_beside_a_full_disk() {
    let house = House::new();
    house.client().stop().unwrap();
    let small = wrapped(&house, "trap '' XFSZ");
    let mut client = Client::connect_with(&house.dir(), &small).unwrap();
    let engine = client.engine().unwrap().pid;
    let wait_for =
        |name: &str| format!("touch begun.{name}; while [ ! -e {name} ]; do sleep 0.01; done");
    let long = house.submit(&mut client, &wait_for("long"));
    let short = house.submit(&mut client, &wait_for("short"));
    until("both run", || {
        is_there(&house.work(), "begun.long") && is_there(&house.work(), "begun.short")
    });
    // The store has no room for one more page, and the log has some.
    let written = std::fs::metadata(house.dir().join("store.sqlite-wal")).unwrap();
    let_files_grow_to(engine, &written.len().to_string());
    std::fs::write(house.work().join("short"), "").unwrap();
    let log = || std::fs::read_to_string(EngineFolder::new(house.dir()).log()).unwrap();
    until("its end could not be written some times", || {
        log().matches("nothing was accepted").count() >= 4
    });
    let threads = std::fs::read_dir(format!("/proc/{engine}/task")).unwrap();
    let names = threads.map(|it| std::fs::read_to_string(it.unwrap().path().join("comm")));
    let adopted = names.filter(|name| name.as_ref().is_ok_and(|name| name == "adopted\n"));
    assert_eq!(adopted.count(), 1);
    let_files_grow_to(engine, "unlimited");
    assert_eq!(ended(&mut client, short).0, Outcome::Completed);
    std::fs::write(house.work().join("long"), "").unwrap();
    let (outcome, row) = ended(&mut client, long);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 0));
}

/// What was refused stood in memory from then on, and was started.
fn unread_store() {
    let house = House::new();
    house.client().stop().unwrap();
    let small = wrapped(&house, "trap '' XFSZ");
    let mut client = Client::connect_with(&house.dir(), &small).unwrap();
    // Too much to be kept in memory of the store as it is.
    let accepted: Vec<JobId> = (0..40)
        .map(|number| {
            let mut submission = house.script("true");
            submission.request.hold = true;
            submission.request.rare.comment = Some(format!("{number} {}", "x".repeat(300_000)));
            submission.token = number.to_string();
            client.submit(submission).unwrap()
        })
        .collect();
    let engine = client.engine().unwrap().pid;
    let newest = house.dir().join("store.sqlite-wal");
    let kept = std::fs::read(&newest).unwrap();
    let_files_grow_to(engine, "0");
    std::fs::write(&newest, "").unwrap();
    for _ in 0..2 {
        let refusal = client.submit(house.script("true")).unwrap_err();
        assert!(
            matches!(refusal.refusal(), Some(Refusal::Store { .. })),
            "{refusal}"
        );
    }
    let jobs = client.jobs(JobFilter::default());
    let count = jobs.map(|jobs| jobs.len());
    assert!(count.is_err(), "{count:?} jobs");
    std::fs::write(&newest, kept).unwrap();
    let_files_grow_to(engine, "unlimited");
    let mut ids = Vec::new();
    until("it is read again", || {
        let jobs = client.jobs(JobFilter::default());
        ids = jobs
            .unwrap_or_default()
            .into_iter()
            .map(|job| job.id)
            .collect();
        !ids.is_empty()
    });
    assert_eq!(ids, accepted);
    let job = house.submit(&mut client, "true");
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    assert_eq!(client.engine().unwrap().pid, engine);
}

/// What could not be opened for want of descriptors was taken for a supervisor that is gone.
fn not_lost() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "touch begun; while [ ! -e go ]; do sleep 0.01; done",
    );
    until("it runs", || is_there(&house.work(), "begun"));
    let engine = client.engine().unwrap().pid;
    let descriptors = |most: &str| {
        let limits = [format!("--pid={engine}"), format!("--nofile={most}:")];
        let set = std::process::Command::new("prlimit").args(limits).status();
        assert!(set.unwrap().success());
    };
    descriptors("1");
    client.step_ended(job, 0, StepId::Batch, 0).unwrap();
    let log = || std::fs::read_to_string(EngineFolder::new(house.dir()).log()).unwrap();
    running(&mut client, job);
    descriptors("1024");
    until("it is looked at again", || {
        log().contains("looked at again")
    });
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 0));
}

fn handover() {
    let house = House::new();
    let mut client = house.client();
    let first = client.engine().unwrap().pid;
    let to = "9.9.9".to_owned();
    let answer = client.call(&Call::Handover(Handover { to })).unwrap();
    assert!(matches!(answer, Answer::HandedOver), "{answer:?}");
    // Its lock is free, so the next one comes without waiting.
    let next = house.client();
    assert_ne!(next.engine().unwrap().pid, first);
}

/// An engine of a former version, as far as the messages that never change go: it answers `hello`,
/// refuses what it does not know, and hands over. Returns what it was asked.
fn former_engine(house: &House) -> std::thread::JoinHandle<Vec<String>> {
    let folder = EngineFolder::new(house.dir());
    std::fs::create_dir_all(house.dir()).unwrap();
    let lock = sys::lock::FileLock::try_acquire(&folder.lock())
        .unwrap()
        .unwrap();
    let listener = sys::socket::listen(&folder.socket()).unwrap();
    std::thread::spawn(move || {
        let mut asked = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            let hello = read_frame::<serde_json::Value>(&mut stream, LONGEST_CALL);
            let Some(hello) = hello.unwrap() else {
                continue;
            };
            assert!(hello["protocol"].as_u64() > Some(u64::from(PROTOCOL - 1)));
            let answer = serde_json::json!({
                "version": "0.0.1", "protocol": PROTOCOL - 1, "pid": 1, "store": "",
            });
            write_frame(&mut stream, &answer).unwrap();
            let read = read_frame::<serde_json::Value>(&mut stream, LONGEST_CALL);
            let Some(call) = read.unwrap() else {
                continue;
            };
            let is_last = call["call"] == "handover";
            asked.push(call.to_string());
            if !is_last {
                let refusal = Answer::Refused(Refusal::Invalid {
                    message: "another protocol".to_owned(),
                });
                // Its client may not wait for it.
                let _gone = write_frame(&mut stream, &refusal);
                continue;
            }
            std::fs::remove_file(folder.socket()).unwrap();
            drop(lock);
            let answer = serde_json::json!({ "answer": "handed_over" });
            write_frame(&mut stream, &answer).unwrap();
            return asked;
        }
    })
}

fn an_older_engine_is_replaced() {
    let asked = format!(r#"{{"call":"handover","to":"{}"}}"#, api::VERSION);
    let house = House::new();
    let former = former_engine(&house);
    let job = house.submit(&mut house.client(), "true");
    assert_eq!(former.join().unwrap(), [asked]);
    assert_eq!(ended(&mut house.client(), job).0, Outcome::Completed);
}

/// A command's first call comes with its hello: an older engine refuses it, and the one in its place
/// has it once more.
fn an_older_engine_that_was_asked_at_once_is_replaced() {
    let handover = format!(r#"{{"call":"handover","to":"{}"}}"#, api::VERSION);
    let house = House::new();
    let former = former_engine(&house);
    let submission = house.script("true");
    let sent = serde_json::to_value(Call::Submit(Box::new(submission.clone()))).unwrap();
    let mut client = Client::connect_to_look(&house.dir()).unwrap().unwrap();
    let job = client.submit(submission).unwrap();
    assert_eq!(former.join().unwrap(), [sent.to_string(), handover]);
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    assert_eq!(all(&mut client).len(), 1);
}

/// What must not be done twice is said to no older engine.
fn an_older_engine_is_not_asked_what_may_be_done_once() {
    let handover = format!(r#"{{"call":"handover","to":"{}"}}"#, api::VERSION);
    let house = House::new();
    let former = former_engine(&house);
    let mut client = Client::connect_to_look(&house.dir()).unwrap().unwrap();
    assert!(client.notify(JobId(1), "hello").is_err(), "there is no job");
    assert_eq!(former.join().unwrap(), [handover]);
}

/// A look starts no engine, but it can't speak with an older one.
fn a_look_replaces_an_older_engine() {
    let asked = format!(r#"{{"call":"handover","to":"{}"}}"#, api::VERSION);
    let house = House::new();
    let former = former_engine(&house);
    let mut client = Client::connect_to_look(&house.dir()).unwrap().unwrap();
    assert!(client.jobs(JobFilter::default()).unwrap().is_empty());
    assert_eq!(former.join().unwrap().last(), Some(&asked));
}

fn an_older_engine_is_stopped() {
    let asked = format!(r#"{{"call":"handover","to":"{}"}}"#, api::VERSION);
    let house = House::new();
    let former = former_engine(&house);
    let client = Client::connect_running(&house.dir()).unwrap().unwrap();
    client.stop().unwrap();
    assert_eq!(former.join().unwrap(), [asked]);
}

fn another_protocol() {
    let house = House::new();
    let client = house.client();
    let mut stream = sys::socket::connect(&client.folder().socket()).unwrap();
    let hello = Hello {
        version: "99.0.0".to_owned(),
        protocol: PROTOCOL + 1,
        shows_notices: false,
    };
    write_frame(&mut stream, &hello).unwrap();
    let answer: HelloAnswer = read_frame(&mut stream, LONGEST_ANSWER).unwrap().unwrap();
    assert_eq!(answer.protocol, PROTOCOL);
    write_frame(&mut stream, &Call::Facts).unwrap();
    let answer: Answer = read_frame(&mut stream, LONGEST_ANSWER).unwrap().unwrap();
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    let to = "99.0.0".to_owned();
    write_frame(&mut stream, &Call::Handover(Handover { to })).unwrap();
    let answer: Answer = read_frame(&mut stream, LONGEST_ANSWER).unwrap().unwrap();
    assert!(matches!(answer, Answer::HandedOver), "{answer:?}");
}
