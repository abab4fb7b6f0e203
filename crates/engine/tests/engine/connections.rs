//! Clients that connect and say nothing, or not all.

use crate::Test;
use crate::house::{House, all, ended, until};
use crate::trouble::wrapped;
use api::{Client, Hello, HelloAnswer, LONGEST_ANSWER, PROTOCOL, read_frame, write_frame};
use model::Outcome;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

pub const TESTS: &[Test] = &[
    ("connections::idle_ones_hold_no_client_up", idle),
    (
        "connections::beyond_the_bound_the_longest_idle_goes",
        beyond,
    ),
];

fn greeted(house: &House) -> UnixStream {
    let mut stream = sys::socket::connect(&house.dir().join("engine.sock")).unwrap();
    let hello = Hello {
        version: "0.0.0".to_owned(),
        protocol: PROTOCOL,
        shows_notices: false,
    };
    write_frame(&mut stream, &hello).unwrap();
    let answer: Option<HelloAnswer> = read_frame(&mut stream, LONGEST_ANSWER).unwrap();
    assert!(answer.is_some());
    stream
}

fn idle() {
    let house = House::new();
    let mut client = house.client();
    let connect = |number: u32| match number % 3 {
        0 => sys::socket::connect(&house.dir().join("engine.sock")).unwrap(),
        1 => greeted(&house),
        _ => {
            // A call that never becomes whole.
            let mut stream = greeted(&house);
            stream.write_all(&[0, 0, 1, 0, b'{']).unwrap();
            stream
        }
    };
    let idle: Vec<UnixStream> = (0..500).map(connect).collect();
    let job = house.submit(&mut client, "true");
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    assert_eq!(all(&mut house.client()).len(), 1);
    let pid = client.engine().unwrap().pid;
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
        tasks.unwrap().count()
    };
    assert!(threads() > 500);
    drop(idle);
    until("their threads end", || threads() < 50);
    assert_eq!(all(&mut house.client()).len(), 1);
}

/// More connections than the engine has room for: each new one is served, and an old client asks
/// again on another.
fn beyond() {
    let house = House::new();
    // Three quarters of this are for connections.
    let program = wrapped(&house, "ulimit -n 100");
    let mut client = Client::connect_with(&house.dir(), &program).unwrap();
    let job = house.submit(&mut client, "true");
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    let idle: Vec<UnixStream> = (0..200).map(|_| greeted(&house)).collect();
    let closed = |mut stream: &UnixStream| matches!(stream.read(&mut [0]), Ok(0));
    assert!(closed(&idle[0]), "the longest idle made room");
    assert_eq!(all(&mut client).len(), 1);
}
