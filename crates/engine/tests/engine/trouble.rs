//! Stores that can't be used, other versions, full disks.

use crate::Test;
use crate::house::{House, program};
use api::{Answer, Call, Client, Handover, Hello, HelloAnswer, LONGEST_ANSWER, PROTOCOL};
use api::{read_frame, write_frame};

pub const TESTS: &[Test] = &[
    ("trouble::garbage_in_the_store", garbage),
    ("trouble::a_newer_store", newer_store),
    ("trouble::handover", handover),
    ("trouble::another_protocol", another_protocol),
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

fn handover() {
    let house = House::new();
    let mut client = house.client();
    let first = client.engine().pid;
    let to = "9.9.9".to_owned();
    let answer = client.call(&Call::Handover(Handover { to })).unwrap();
    assert!(matches!(answer, Answer::HandedOver), "{answer:?}");
    // Its lock is free, so the next one comes without waiting.
    let next = house.client();
    assert_ne!(next.engine().pid, first);
}

fn another_protocol() {
    let house = House::new();
    let client = house.client();
    let mut stream = sys::socket::connect(&client.folder().socket()).unwrap();
    let hello = Hello {
        version: "99.0.0".to_owned(),
        protocol: PROTOCOL + 1,
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
