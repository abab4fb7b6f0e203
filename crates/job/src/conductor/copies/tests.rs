//! The queue: what is asked of whom, and in which order.

use super::*;
use folder::Attempt;

mod again;
mod beside;
mod earlier;
mod lagging;
mod late;

const NOW: Timestamp = Timestamp(0);

fn full() -> NotOut {
    NotOut {
        why: "disk full".to_owned(),
        disk: true,
    }
}

fn part(incoming: &str) -> Part {
    Part {
        incoming: incoming.to_owned(),
        bytes: 1,
        took_ms: 1,
        proven: true,
        node: incoming.to_owned(),
        start: None,
        written: None,
    }
}

fn ask(name: &str, from: &[AgentId]) -> Option<Next> {
    Some(Next::Ask {
        name: name.to_owned(),
        from: from.to_vec(),
    })
}

fn publish(name: &str, parts: &[&str], merge: bool) -> Option<Next> {
    let parts = parts.iter().map(|incoming| part(incoming)).collect();
    Some(Next::Publish {
        name: name.to_owned(),
        parts,
        merge,
        asked: PartsAsked::default(),
    })
}

/// Without what is asked of all parts.
fn next(copies: &mut Copies, newest_first: bool, now: Timestamp) -> Option<Next> {
    let mut next = copies.next(newest_first, false, now);
    if let Some(Next::Publish { asked, .. }) = &mut next {
        *asked = PartsAsked::default();
    }
    next
}

#[test]
fn one_disk() {
    let mut copies = Copies::new([0]);
    copies.complete(0, "1".into(), Some(9), None);
    copies.complete(0, "2".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("1", &[0]));
    assert_eq!(next(&mut copies, false, NOW), None);
    copies.part(0, "1", part("a"));
    assert_eq!(next(&mut copies, false, NOW), publish("1", &["a"], false));
    assert_eq!(next(&mut copies, false, NOW), None, "it is being published");
    copies.published("1", NOW);
    assert_eq!(next(&mut copies, false, NOW), ask("2", &[0]));
    copies.refused(0, "2", full(), false);
    let gave_up = Next::GiveUp {
        name: "2".into(),
        why: full(),
        parts: vec![],
    };
    assert_eq!(next(&mut copies, false, NOW), Some(gave_up));
    assert!(copies.is_idle());
}

#[test]
fn newest_first_when_time_is_short() {
    let mut copies = Copies::new([0]);
    for name in ["1", "2", "3"] {
        copies.complete(0, name.into(), Some(9), None);
    }
    assert_eq!(next(&mut copies, true, NOW), ask("3", &[0]));
}

/// So much is left to copy of `old` when `new` is seen; whether it is broken off.
#[track_caller]
fn check_overtaken(old: &str, new: &str, left: Option<u64>, want: bool) {
    let mut copies = Copies::new([0, 1]);
    copies.complete(0, old.into(), Some(900), None);
    assert_eq!(next(&mut copies, true, NOW), ask(old, &[0, 1]));
    copies.part(1, old, part("b"));
    copies.complete(0, new.into(), Some(9), None);
    let overtaken = copies.overtaken(|_| left);
    assert_eq!(overtaken, want.then(|| old.to_owned()), "{old} {new}");
    assert_eq!(copies.overtaken(|_| left), None, "it is asked once");
    assert_eq!(next(&mut copies, true, NOW), None);
    if !want {
        return;
    }
    copies.refused(0, old, full(), true);
    let discarded = Next::Discard(vec![part("b")]);
    assert_eq!(next(&mut copies, true, NOW), Some(discarded));
    assert_eq!(next(&mut copies, true, NOW), ask(new, &[0, 1]));
    copies.part(0, new, part("c"));
    copies.no_part(1, new);
    assert_eq!(next(&mut copies, true, NOW), publish(new, &["c"], false));
    copies.published(new, NOW);
    assert_eq!(next(&mut copies, true, NOW), ask(old, &[0, 1]));
}

#[test]
fn a_small_newer_one_overtakes_a_large_copy_when_time_is_short() {
    check_overtaken("step-1", "step-2", Some(800), true);
    check_overtaken("step-1", "step-2", Some(8), false);
    check_overtaken("step-1", "step-2", None, false);
    check_overtaken("step-2", "step-1", Some(800), false);
    check_overtaken("last", "step-1", Some(800), false);
}

/// The copy was through before the word came.
#[test]
fn one_that_came_nevertheless_is_saved() {
    let mut copies = Copies::new([0]);
    copies.complete(0, "step-1".into(), Some(900), None);
    assert_eq!(next(&mut copies, true, NOW), ask("step-1", &[0]));
    copies.complete(0, "step-2".into(), Some(9), None);
    assert!(copies.overtaken(|_| Some(800)).is_some());
    copies.part(0, "step-1", part("a"));
    assert_eq!(
        next(&mut copies, true, NOW),
        publish("step-1", &["a"], false)
    );
}

#[test]
fn shards_of_two_nodes_are_one_checkpoint() {
    let mut copies = Copies::new([0, 2]);
    copies.complete(2, "1".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("1", &[0, 2]));
    copies.complete(0, "1".into(), Some(9), None);
    copies.part(2, "1", part("b"));
    assert_eq!(next(&mut copies, false, NOW), None);
    copies.part(0, "1", part("a"));
    assert_eq!(
        next(&mut copies, false, NOW),
        publish("1", &["a", "b"], false)
    );
    copies.published("1", NOW);
    assert!(copies.is_idle());
}

#[test]
fn gone_before_it_was_held() {
    let mut copies = Copies::new([0]);
    copies.complete(0, "1".into(), Some(9), None);
    copies.complete(0, "2".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("1", &[0]));
    copies.no_part(0, "1");
    assert_eq!(next(&mut copies, false, NOW), ask("2", &[0]));
}

/// Copies of two nodes of which each checkpoint has a part.
fn of_both() -> Copies {
    let parts = Parts {
        nodes: vec!["n0".to_owned(), "n1".to_owned()],
        of: 2,
        ..Parts::default()
    };
    Copies::new([0, 1]).least([("step-5", &parts)])
}

fn least(copies: &mut Copies, last: bool, now: Timestamp) -> Option<usize> {
    match copies.next(false, last, now) {
        Some(Next::Publish { asked, .. }) => Some(asked.least),
        _ => None,
    }
}

/// The run was resumed from the other one.
#[test]
fn of_names_without_a_step_the_one_that_was_written_last_goes_first() {
    let mut copies = Copies::new([0]);
    for (name, written) in [("last.pt", 20), ("best.pt", 10)] {
        copies.complete(0, name.into(), Some(9), Some(Timestamp(written)));
    }
    assert_eq!(next(&mut copies, true, NOW), ask("last.pt", &[0]));
}
