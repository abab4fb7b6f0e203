//! A half of what is written again, beside the whole one.

use super::*;

fn part_of(node: &str, incoming: &str) -> Part {
    Part {
        node: node.to_owned(),
        ..part(incoming)
    }
}

/// The parts of `last` that both nodes wrote are saved.
fn both_saved() -> Copies {
    let both = Parts {
        nodes: vec!["n0".to_owned(), "n1".to_owned()],
        of: 2,
        ..Parts::default()
    };
    Copies::new([0, 1]).least([("last", &both)])
}

/// The first node has written `last` again and the second has not.
fn half_beside() -> Copies {
    let mut copies = both_saved();
    copies.complete(0, "last".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    let late = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, late), ask("last", &[0, 1]));
    copies.part(0, "last", part_of("n0", "a"));
    copies.no_part(1, "last");
    let beside = Next::StayBeside {
        name: "last".to_owned(),
        nodes: vec!["n0".to_owned()],
        saved: 2,
    };
    assert_eq!(next(&mut copies, false, late), Some(beside));
    assert_eq!(copies.next_due(), None);
    assert!(copies.is_idle());
    copies
}

/// A node that came later than it was waited for had the first one's half published over the whole one.
#[test]
fn a_half_of_what_is_written_again_stays_beside_the_whole_one_until_the_others_come() {
    let mut copies = half_beside();
    copies.complete(1, "last".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("last", &[1]));
    copies.part(1, "last", part_of("n1", "b"));
    let both = vec![part_of("n0", "a"), part_of("n1", "b")];
    let exchanged = Next::Publish {
        name: "last".to_owned(),
        parts: both,
        merge: false,
        asked: PartsAsked::default(),
    };
    assert_eq!(next(&mut copies, false, NOW), Some(exchanged));
    // Its parts are gone from the run folder: all are asked again.
    copies.not_published("last", NOW);
    let due = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, due), ask("last", &[0, 1]));
}

/// The first node's next version threw its half away, and the second one's joined the saved one.
#[test]
fn a_late_part_finds_its_half_also_where_the_first_node_has_written_the_name_once_more() {
    let mut copies = half_beside();
    copies.complete(1, "last".into(), Some(9), None);
    copies.complete(0, "last".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("last", &[1]));
    copies.part(1, "last", part_of("n1", "b"));
    let Some(Next::Publish { parts, merge, .. }) = next(&mut copies, false, NOW) else {
        panic!("the two halves are one checkpoint");
    };
    assert_eq!(parts, [part_of("n0", "a"), part_of("n1", "b")]);
    assert!(!merge);
}

#[test]
fn what_was_removed_for_newer_ones_holds_up_no_half_of_what_is_written_again() {
    let mut copies = both_saved();
    copies.is_removed("last");
    copies.complete(0, "last".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    let late = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, late), ask("last", &[0, 1]));
    copies.part(0, "last", part_of("n0", "a"));
    copies.no_part(1, "last");
    let given = next(&mut copies, false, late);
    assert!(
        matches!(&given, Some(Next::Publish { parts, .. }) if parts.len() == 1),
        "{given:?}"
    );
}

#[test]
fn a_late_part_that_fails_leaves_the_half_beside() {
    let mut copies = half_beside();
    copies.complete(1, "last".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("last", &[1]));
    copies.refused(1, "last", full(), true);
    let Some(Next::GiveUp { parts, .. }) = next(&mut copies, false, NOW) else {
        panic!("{copies:?}")
    };
    assert_eq!(parts, []);
    let due = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, due), ask("last", &[1]));
    copies.part(1, "last", part_of("n1", "b"));
    let Some(Next::Publish { parts, merge, .. }) = next(&mut copies, false, due) else {
        panic!("{copies:?}")
    };
    assert_eq!((parts.len(), merge), (2, false));
}

/// One that misses two of them takes no part any more.
#[test]
fn a_half_takes_the_place_of_the_whole_one_once_it_is_known_that_no_more_comes() {
    let mut copies = half_beside();
    copies.complete(0, "last".into(), Some(9), None);
    let discarded = Next::Discard(vec![part_of("n0", "a")]);
    let now = Timestamp(100_000);
    assert_eq!(next(&mut copies, false, now), Some(discarded));
    assert_eq!(next(&mut copies, false, now), None);
    let late = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, late), ask("last", &[0, 1]));
    copies.part(0, "last", part_of("n0", "c"));
    copies.no_part(1, "last");
    assert_eq!(least(&mut copies, false, late), Some(1));
}

#[test]
fn a_half_that_is_given_up_or_left_to_fresh_agents_is_removed() {
    let discarded = || Some(Next::Discard(vec![part_of("n0", "a")]));
    let mut copies = half_beside();
    assert!(copies.forget("last"));
    assert_eq!(next(&mut copies, false, NOW), discarded());
    let mut fresh = Copies::new([0, 1]).after(&half_beside());
    assert_eq!(next(&mut fresh, false, NOW), discarded());
}

/// A node kept its half of what had been saved since.
#[test]
fn what_an_earlier_start_left_on_one_node_takes_the_place_of_no_whole_one() {
    let mut copies = both_saved();
    copies.complete_earlier(0, "last".into());
    assert_eq!(next(&mut copies, true, NOW), None);
    assert_eq!(copies.next(true, true, NOW), ask("last", &[0, 1]));
    copies.part(0, "last", part_of("n0", "a"));
    copies.no_part(1, "last");
    let beside = next(&mut copies, true, NOW);
    assert!(
        matches!(beside, Some(Next::StayBeside { .. })),
        "{beside:?}"
    );
    let discarded = Next::Discard(vec![part_of("n0", "a")]);
    assert_eq!(next(&mut copies, true, NOW), Some(discarded));
}

fn part_at(node: &str, incoming: &str, second: i64) -> Part {
    Part {
        written: Some(Timestamp(second * 1000)),
        ..part_of(node, incoming)
    }
}

fn complete_at(copies: &mut Copies, agent: AgentId, second: i64) {
    let written = Some(Timestamp(second * 1000));
    copies.complete(agent, "last".into(), Some(9), written);
}

/// While the one before was copied the first node wrote `last` twice and the second once.
#[test]
fn parts_of_two_versions_of_one_start_are_not_put_together() {
    let mut copies = both_saved();
    for (agent, second) in [(0, 10), (1, 11), (0, 40)] {
        complete_at(&mut copies, agent, second);
    }
    // The second one's next version is waited for.
    assert_eq!(next(&mut copies, false, NOW), None);
    let late = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, late), ask("last", &[0, 1]));
    copies.part(0, "last", part_at("n0", "a", 40));
    copies.part(1, "last", part_at("n1", "b", 11));
    let given = next(&mut copies, false, late);
    assert!(
        matches!(&given, Some(Next::StayBeside { nodes, .. }) if *nodes == ["n0"]),
        "{given:?}"
    );
    let discarded = Next::Discard(vec![part_at("n1", "b", 11)]);
    assert_eq!(next(&mut copies, false, late), Some(discarded));
    complete_at(&mut copies, 1, 42);
    assert_eq!(next(&mut copies, false, late), ask("last", &[1]));
    copies.part(1, "last", part_at("n1", "c", 42));
    let Some(Next::Publish { parts, merge, .. }) = next(&mut copies, false, late) else {
        panic!("{copies:?}")
    };
    let both = [part_at("n0", "a", 40), part_at("n1", "c", 42)];
    assert_eq!((&parts[..], merge), (&both[..], false));
}

#[test]
fn what_comes_late_joins_no_other_version_than_its_own() {
    let of = |late: i64| {
        let mut copies = Copies::new([0, 1]);
        complete_at(&mut copies, 0, 10);
        complete_at(&mut copies, 0, 40);
        assert_eq!(next(&mut copies, true, NOW), ask("last", &[0, 1]));
        copies.part(0, "last", part_at("n0", "a", 40));
        copies.no_part(1, "last");
        assert!(next(&mut copies, false, NOW).is_some());
        copies.published("last", NOW);
        for second in [11, 42, 71].into_iter().filter(|second| *second <= late) {
            complete_at(&mut copies, 1, second);
        }
        assert_eq!(next(&mut copies, false, NOW), ask("last", &[1]));
        copies.part(1, "last", part_at("n1", "b", late));
        next(&mut copies, false, NOW)
    };
    let merges = |late| match of(late) {
        Some(Next::Publish { merge, .. }) => Some(merge),
        Some(Next::Discard(_)) => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(merges(42), Some(true));
    assert_eq!(merges(71), Some(false), "it is newer");
    assert_eq!(merges(11), None, "it is older");
}

/// What all have written when the training is done is of one version.
#[test]
fn at_the_end_of_a_training_that_is_done_the_last_parts_are_one() {
    let mut copies = both_saved();
    for (agent, second) in [(0, 10), (0, 40), (1, 11)] {
        complete_at(&mut copies, agent, second);
    }
    copies.ended_well();
    assert_eq!(copies.next(true, true, NOW), ask("last", &[0, 1]));
    copies.part(0, "last", part_at("n0", "a", 40));
    copies.part(1, "last", part_at("n1", "b", 11));
    let Some(Next::Publish { parts, .. }) = copies.next(true, true, NOW) else {
        panic!("{copies:?}")
    };
    assert_eq!(parts.len(), 2);
}
