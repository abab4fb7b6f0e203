//! Parts that come after the others were put together.

use super::*;

#[test]
fn a_late_shard_is_added_and_a_new_version_replaces() {
    let mut copies = Copies::new([0, 1]);
    copies.complete(0, "last".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("last", &[0, 1]));
    copies.part(0, "last", part("a"));
    copies.no_part(1, "last");
    assert_eq!(
        next(&mut copies, false, NOW),
        publish("last", &["a"], false)
    );
    copies.complete(1, "last".into(), Some(9), None);
    copies.published("last", NOW);
    assert_eq!(next(&mut copies, false, NOW), ask("last", &[1]));
    copies.part(1, "last", part("b"));
    assert_eq!(next(&mut copies, false, NOW), publish("last", &["b"], true));
    copies.published("last", NOW);
    copies.complete(0, "last".into(), Some(9), None);
    // Both wrote a part of it before.
    assert_eq!(next(&mut copies, false, NOW), None);
    copies.complete(1, "last".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("last", &[0, 1]));
}

/// Its nodes knew it as out.
#[test]
fn a_late_part_does_not_go_alone_before_what_could_not_be_published() {
    let mut copies = Copies::new([0, 1]);
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("step-10", &[0, 1]));
    copies.part(0, "step-10", part("a"));
    copies.no_part(1, "step-10");
    assert_eq!(
        next(&mut copies, false, NOW),
        publish("step-10", &["a"], false)
    );
    copies.complete(1, "step-10".into(), Some(9), None);
    copies.not_published("step-10", NOW);
    let due = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, due), ask("step-10", &[0, 1]));
}

/// It was forgotten when another node's part joined, and that node then taken for one that takes no part.
#[test]
fn a_late_part_that_could_not_be_copied_is_asked_for_again() {
    let mut copies = Copies::new([0, 1, 2]);
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("step-10", &[0, 1, 2]));
    copies.part(0, "step-10", part("a"));
    copies.no_part(1, "step-10");
    copies.no_part(2, "step-10");
    assert!(next(&mut copies, false, NOW).is_some());
    copies.published("step-10", NOW);
    copies.complete(1, "step-10".into(), Some(9), None);
    copies.complete(2, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[1]));
    copies.refused(1, "step-10", full(), true);
    let gave_up = next(&mut copies, false, NOW);
    assert!(matches!(gave_up, Some(Next::GiveUp { .. })), "{gave_up:?}");
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[2]));
    copies.part(2, "step-10", part("c"));
    assert_eq!(
        next(&mut copies, false, NOW),
        publish("step-10", &["c"], true)
    );
    copies.published("step-10", NOW);
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[1]));
}

/// The part of the first node, which was out, was replaced.
#[test]
fn a_late_part_that_could_not_be_published_leaves_what_it_was_to_join() {
    let mut copies = Copies::new([0, 1, 2]);
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("step-10", &[0, 1, 2]));
    copies.part(0, "step-10", part("a"));
    copies.no_part(1, "step-10");
    copies.no_part(2, "step-10");
    assert!(next(&mut copies, false, NOW).is_some());
    copies.published("step-10", NOW);
    copies.complete(1, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[1]));
    copies.part(1, "step-10", part("b"));
    assert!(next(&mut copies, false, NOW).is_some());
    copies.not_published("step-10", NOW);
    copies.complete(2, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[2]));
}
