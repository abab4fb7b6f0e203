//! An engine that no client can find ends by itself.

use crate::Test;
use crate::house::{House, ended, is_there, running, until};
use model::Outcome;

pub const TESTS: &[Test] = &[
    ("gone::another_takes_over_without_a_socket", socket),
    ("gone::an_engine_ends_with_its_folder", folder),
];

fn socket() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "while [ ! -e go ]; do sleep 0.02; done; exit 3",
    );
    running(&mut client, job);
    let first = client.engine().unwrap().pid;
    std::fs::remove_file(house.dir().join(sys::ENGINE_SOCKET)).unwrap();
    until("the engine has ended", || {
        sys::process::start_time(first).is_none()
    });
    let mut client = house.client();
    assert_ne!(client.engine().unwrap().pid, first);
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, _) = ended(&mut client, job);
    let failed = matches!(outcome, Outcome::Failed { status } if status.code() == 3);
    assert!(failed, "{outcome:?}");
}

fn folder() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        ": > began; while [ ! -e go ]; do sleep 0.02; done; : > done",
    );
    until("it runs", || is_there(&house.work(), "began"));
    let holder = engine::record::read(&house.record(job))
        .unwrap()
        .unwrap()
        .holder;
    let engine = client.engine().unwrap().pid;
    // The engine may just be making a file in it.
    until("its folder is removed", || {
        std::fs::remove_dir_all(house.dir()).is_ok() || !house.dir().exists()
    });
    until("the engine has ended", || {
        sys::process::start_time(engine).is_none()
    });
    // The job goes on, and its supervisor makes no new engine when it is over.
    std::fs::write(house.work().join("go"), "").unwrap();
    until("the job is done", || is_there(&house.work(), "done"));
    until("its supervisor has ended", || {
        sys::process::start_time(holder.pid).is_none()
    });
    assert!(!house.dir().exists());
}
