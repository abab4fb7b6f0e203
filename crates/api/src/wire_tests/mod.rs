//! The messages as they are sent, beside the number that stands for them: what is sent differently needs another number.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod answers;
mod calls;
mod jobs;
mod requests;

use crate::{
    Answer, Call, ClusterChange, Handover, Hello, HelloAnswer, LossOfPlace, NodeChange, PROTOCOL,
    Refusal, Selector,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::path::Path;

/// Of each call and answer a line with all that can be in it, then the variants of what is in them.
const LINES: &str = include_str!("lines.txt");

/// What serde says of a variant that there is not: it names those that there are.
fn variants<T: DeserializeOwned>(text: &str) -> String {
    let error = serde_json::from_str::<T>(text).err().unwrap().to_string();
    let (_, names) = error.split_once("expected ").unwrap();
    let (names, _place) = names.rsplit_once(" at line").unwrap_or((names, ""));
    names.to_owned()
}

/// The lines of one type; each of its variants has one, and is read as it was written.
#[track_caller]
fn lines<T: Serialize + DeserializeOwned>(tag: &str, all: &[T]) -> String {
    let mut text = String::new();
    for message in all {
        let line = serde_json::to_string(message).unwrap();
        let read: T = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        writeln!(text, "{line}").unwrap();
    }
    let names = variants::<T>(&format!("{{\"{tag}\":\"?\"}}"));
    for name in names.split('`').skip(1).step_by(2) {
        let start = format!("{{\"{tag}\":\"{name}\"");
        assert!(
            text.contains(&start),
            "no {tag} {name} is among the samples"
        );
    }
    text
}

/// A line that names the variants of each type.
macro_rules! variants_of {
    ($($name:path),* $(,)?) => {
        [$((stringify!($name), variants::<$name>("\"?\""))),*]
    };
}

fn now() -> String {
    let mut text = format!("protocol {PROTOCOL}\n");
    text += &lines("call", &calls::all());
    text += &lines("answer", &answers::all());
    let nested = variants_of![
        LossOfPlace,
        NodeChange,
        Selector,
        model::ArrayTask,
        model::BindTo,
        model::Dealing,
        model::Denial,
        model::Ending,
        model::GpuBindTo,
        model::HeldBy,
        model::JobChange,
        model::JobProlog,
        model::JobState,
        model::JobStateName,
        model::LengthChange,
        model::Levels,
        model::LimitChange,
        model::LimitScope,
        model::LimitedAmount,
        model::MailEvent,
        model::MemoryRequest,
        model::NameSign,
        model::NodeUse,
        model::OpenMode,
        model::Outcome,
        model::PartitionSays,
        model::PartitionSharing,
        model::PendingReason,
        model::ReservationFlag,
        model::ReservedNodes,
        model::Sharing,
        model::SignalTarget,
        model::StartedBy,
        model::StepId,
        model::StepState,
        model::TimeLimitRequest,
    ];
    for (name, variants) in nested {
        let name = name.rsplit("::").next().unwrap_or(name).trim();
        writeln!(text, "{name}: {variants}").unwrap();
    }
    let tagged = [
        (
            "ClusterChange",
            variants::<ClusterChange>("{\"change\":\"?\"}"),
        ),
        ("Refusal", variants::<Refusal>("{\"why\":\"?\"}")),
    ];
    for (name, variants) in tagged {
        writeln!(text, "{name}: {variants}").unwrap();
    }
    text
}

/// A field or a variant that is added, goes, or is written otherwise shows in the lines. So does a new field that is left
/// out where it is empty: the samples name all fields, and don't compile without it.
#[test]
fn messages_that_changed_have_another_number() {
    let now = now();
    if now == LINES {
        return;
    }
    let (number, _) = LINES.split_once('\n').unwrap();
    let former: u32 = number.trim_start_matches("protocol ").parse().unwrap();
    let gone = LINES
        .lines()
        .filter(|line| !now.lines().any(|it| it == *line));
    assert!(
        PROTOCOL > former,
        "messages of protocol {former} changed: raise PROTOCOL (api/src/version.rs), then run this test with \
         UPDATE_EXPECT=1. Where no program was released that speaks {former}, lower the first line of \
         api/src/wire_tests/lines.txt instead.\nwas {:#?}",
        gone.collect::<Vec<_>>()
    );
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire_tests/lines.txt");
        std::fs::write(path, now).unwrap();
        return;
    }
    panic!(
        "api/src/wire_tests/lines.txt is of protocol {former}, not {PROTOCOL}: run this test with UPDATE_EXPECT=1"
    );
}

/// Programs of all versions must understand them: a difference here is a mistake, whatever the number.
#[test]
fn how_programs_of_different_versions_greet_never_changes() {
    let hello = Hello {
        version: "0.1.0".to_owned(),
        protocol: 20,
        shows_notices: true,
    };
    let answer = HelloAnswer {
        version: "0.1.0".to_owned(),
        protocol: 20,
        pid: 7,
        store: "0123".to_owned(),
        notice: Some("lost".to_owned()),
    };
    let handover = Call::Handover(Handover {
        to: "0.2.0".to_owned(),
    });
    assert_eq!(
        serde_json::to_string(&hello).unwrap(),
        r#"{"version":"0.1.0","protocol":20,"shows_notices":true}"#
    );
    assert_eq!(
        serde_json::to_string(&answer).unwrap(),
        r#"{"version":"0.1.0","protocol":20,"pid":7,"store":"0123","notice":"lost"}"#
    );
    assert_eq!(
        serde_json::to_string(&handover).unwrap(),
        r#"{"call":"handover","to":"0.2.0"}"#
    );
    assert_eq!(
        serde_json::to_string(&Answer::HandedOver).unwrap(),
        r#"{"answer":"handed_over"}"#
    );
}
