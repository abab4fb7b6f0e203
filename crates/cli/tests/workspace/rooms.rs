//! The rooms of the crate `model` stand in an order: a file knows its own room and those before it.

use crate::architecture::{crates, sources_of};
use std::fs;

/// Each may know itself and those that stand before it.
const ORDER: &[&str] = &[
    "values", "options", "scripts", "requests", "records", "fields", "commands",
];

/// The names that follow `crate::` in a text of code.
fn named(code: &str) -> impl Iterator<Item = &str> {
    code.split("crate::").skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

/// What a file of a room names that stands neither in it nor before it.
fn ahead_of<'a>(room: &str, code: &'a str) -> Vec<&'a str> {
    let known = ORDER.iter().position(|of| *of == room).unwrap();
    named(code)
        .filter(|name| !ORDER[..=known].contains(name))
        .collect()
}

#[test]
fn a_room_of_model_knows_those_before_it_alone() {
    let source = crates().join("model/src");
    let mut wrong = Vec::new();
    for file in sources_of("model") {
        let inside = file.strip_prefix(&source).unwrap();
        let room = inside.iter().next().unwrap().to_str().unwrap();
        if room == "lib.rs" {
            continue;
        }
        assert!(ORDER.contains(&room), "{room} stands in the order");
        let code = fs::read_to_string(&file).unwrap();
        for name in ahead_of(room, &code) {
            wrong.push(format!("{} names crate::{name}", inside.display()));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn what_stands_ahead_is_found() {
    let code = "use crate::values::JobId;\nuse crate::records::StepRecord;\nuse crate::Request;";
    assert_eq!(ahead_of("options", code), ["records", "Request"]);
    assert_eq!(ahead_of("records", code), ["Request"]);
}
