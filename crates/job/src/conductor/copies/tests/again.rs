//! What could not be copied, and what is written again.

use super::*;

#[test]
fn what_found_no_room_is_tried_again() {
    let mut copies = Copies::new([0, 1]);
    copies.complete(0, "1".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("1", &[0, 1]));
    copies.part(0, "1", part("a"));
    copies.refused(1, "1", full(), true);
    let gave_up = Next::GiveUp {
        name: "1".into(),
        why: full(),
        parts: vec![part("a")],
    };
    assert_eq!(next(&mut copies, false, NOW), Some(gave_up));
    assert!(copies.is_idle());
    assert_eq!(next(&mut copies, false, Timestamp(29_999)), None);
    assert_eq!(copies.next_due(), Some(Timestamp(30_000)));
    // Another one got through: now there may be room.
    copies.complete(0, "2".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("2", &[0, 1]));
    copies.part(0, "2", part("b"));
    copies.no_part(1, "2");
    assert_eq!(next(&mut copies, false, NOW), publish("2", &["b"], false));
    copies.published("2", Timestamp(5));
    assert_eq!(next(&mut copies, false, Timestamp(5)), ask("1", &[0, 1]));
    copies.part(0, "1", part("a"));
    copies.part(1, "1", part("c"));
    assert_eq!(
        next(&mut copies, false, NOW),
        publish("1", &["a", "c"], false)
    );
    // Such as a rename that failed; the next pause is longer.
    copies.not_published("1", NOW);
    assert_eq!(copies.next_due(), Some(Timestamp(60_000)));
    copies.retry_all();
    assert_eq!(next(&mut copies, true, NOW), ask("1", &[0, 1]));
    copies.no_part(0, "1");
    copies.no_part(1, "1");
    assert_eq!(next(&mut copies, true, NOW), None);
    assert!(copies.is_idle() && copies.next_due().is_none());
}

/// It was due again and again, and stayed on its nodes: the conductor span.
#[test]
fn what_is_given_up_while_it_waits_is_due_no_more() {
    let mut copies = of_both();
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    assert!(copies.next_due().is_some());
    assert!(copies.forget("step-10"));
    assert_eq!(copies.next_due(), None);
    assert!(!copies.forget("step-10"));
    // One that was forgotten begins anew.
    copies.complete(1, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
}

/// The second node's old part was put beside the first one's new one.
#[test]
fn a_new_version_of_what_could_not_be_copied_waits_for_all_its_parts() {
    let mut copies = of_both();
    for agent in [0, 1] {
        copies.complete(agent, "step-10".into(), Some(9), None);
    }
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
    copies.part(1, "step-10", part("b"));
    copies.refused(0, "step-10", full(), true);
    assert!(matches!(
        next(&mut copies, false, NOW),
        Some(Next::GiveUp { .. })
    ));
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    copies.complete(1, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
}

/// Its due moment was past, and the conductor looked again and again.
#[test]
fn what_is_due_again_does_not_wait_for_what_lags() {
    let mut copies = of_both();
    copies.complete(0, "best.pt".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("best.pt", &[0, 1]));
    copies.refused(0, "best.pt", full(), true);
    copies.no_part(1, "best.pt");
    assert!(matches!(
        next(&mut copies, false, NOW),
        Some(Next::GiveUp { .. })
    ));
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    let due = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, due), ask("best.pt", &[0, 1]));
}

/// What was written again during its copy was not asked for; its agent says so once more.
#[test]
fn what_was_written_again_during_its_copy_is_copied_too() {
    let mut copies = Copies::new([0]);
    copies.complete(0, "last".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("last", &[0]));
    copies.complete(0, "last".into(), Some(9), None);
    copies.part(0, "last", part("a"));
    copies.complete(0, "last".into(), Some(9), None);
    assert!(next(&mut copies, false, NOW).is_some());
    copies.published("last", NOW);
    assert_eq!(next(&mut copies, false, NOW), ask("last", &[0]));
}
