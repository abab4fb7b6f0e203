//! How long the parts of other nodes are waited for.

use super::*;

/// It was saved with the part of the first node alone, and resumed from.
#[test]
fn a_node_that_lags_is_waited_for_and_holds_up_nothing_else() {
    let mut copies = of_both();
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), None);
    assert!(!copies.is_idle());
    copies.complete(0, "best.pt".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("best.pt", &[0, 1]));
    copies.part(0, "best.pt", part("a"));
    copies.no_part(1, "best.pt");
    assert_eq!(
        next(&mut copies, true, NOW),
        publish("best.pt", &["a"], false)
    );
    copies.published("best.pt", NOW);
    copies.complete(1, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, true, NOW), ask("step-10", &[0, 1]));
}

#[test]
fn at_the_end_what_lacks_a_part_comes_after_what_lacks_none_and_says_so() {
    let mut copies = of_both();
    copies.complete(0, "step-15".into(), Some(9), None);
    for agent in [0, 1] {
        copies.complete(agent, "step-10".into(), Some(9), None);
    }
    assert_eq!(copies.next(true, true, NOW), ask("step-10", &[0, 1]));
    copies.part(0, "step-10", part("a"));
    copies.part(1, "step-10", part("b"));
    assert_eq!(least(&mut copies, true, NOW), Some(2));
    copies.published("step-10", NOW);
    assert_eq!(copies.next(true, true, NOW), ask("step-15", &[0, 1]));
    copies.part(0, "step-15", part("a"));
    copies.no_part(1, "step-15");
    assert_eq!(least(&mut copies, true, NOW), Some(2));
}

/// Has `name` come from the first node alone, after it was waited for; of how many nodes it should be.
fn late_part(copies: &mut Copies, name: &str, now: Timestamp) -> (Timestamp, Option<usize>) {
    assert_eq!(next(copies, false, now), None);
    let late = copies.next_due().unwrap();
    assert_eq!(next(copies, false, late), ask(name, &[0, 1]));
    copies.part(0, name, part("a"));
    copies.no_part(1, name);
    let asked = least(copies, false, late);
    copies.published(name, late);
    (late, asked)
}

/// It was saved as whole with one node's part, since nothing told that there are more.
#[test]
fn the_first_of_a_series_waits_for_the_parts_of_all() {
    let mut copies = Copies::new([0, 1]);
    let complete = |copies: &mut Copies, agent, name: &str| {
        copies.complete(agent, name.into(), Some(9), None);
    };
    complete(&mut copies, 0, "step-10");
    assert_eq!(next(&mut copies, false, NOW), None);
    complete(&mut copies, 1, "step-10");
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
    // Time is short: at the end all are asked that have come so far.
    for (hurry, last) in [(true, false), (true, true), (false, true)] {
        let mut copies = Copies::new([0, 1]);
        complete(&mut copies, 0, "step-10");
        let asked = copies.next(hurry, last, NOW);
        assert_eq!(asked, ask("step-10", &[0, 1]), "{hurry} {last}");
    }
}

/// Where one rank writes for all it takes two, each of which is waited for.
#[test]
fn how_many_parts_there_are_is_known_when_the_second_lacks_the_same() {
    let mut copies = Copies::new([0, 1]);
    let mut now = NOW;
    for (name, want) in [("step-10", true), ("step-15", false)] {
        copies.complete(0, name.into(), Some(9), None);
        assert_eq!(next(&mut copies, false, now), None, "{name}");
        now = copies.next_due().unwrap();
        assert_eq!(next(&mut copies, false, now), ask(name, &[0, 1]));
        copies.part(0, name, part("a"));
        copies.no_part(1, name);
        let Some(Next::Publish { asked, .. }) = copies.next(false, false, now) else {
            panic!("{copies:?}")
        };
        assert_eq!((asked.least, asked.unconfirmed), (1, want), "{name}");
        copies.published(name, now);
    }
    copies.complete(0, "step-20".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, now), ask("step-20", &[0, 1]));
    // The next start knows as much.
    let of = |unconfirmed| Parts {
        nodes: vec!["n0".to_owned()],
        of: 2,
        unconfirmed,
        ..Parts::default()
    };
    for (parts, want) in [(of(true), None), (of(false), Some(1))] {
        let copies = Copies::new([0, 1]).least([("step-15", &parts)]);
        assert_eq!(copies.parts_of("step-25"), want);
    }
}

/// It may hang, and the training with it: the first one without its part was taken for whole.
#[test]
fn a_node_that_writes_none_twice_is_not_waited_for_again() {
    let mut copies = of_both();
    copies.complete(0, "step-10".into(), Some(9), None);
    let (late, asked) = late_part(&mut copies, "step-10", NOW);
    assert_eq!(asked, Some(2));
    copies.complete(0, "step-15".into(), Some(9), None);
    let (late, asked) = late_part(&mut copies, "step-15", late);
    assert_eq!(asked, Some(1));
    copies.complete(0, "step-20".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, late), ask("step-20", &[0, 1]));
}

#[test]
fn two_that_a_node_missed_in_one_standstill_are_one() {
    let mut copies = of_both();
    for name in ["step-10", "step-15"] {
        copies.complete(0, name.into(), Some(9), None);
    }
    assert_eq!(next(&mut copies, false, NOW), None);
    let late = copies.next_due().unwrap();
    for name in ["step-10", "step-15"] {
        assert_eq!(next(&mut copies, false, late), ask(name, &[0, 1]));
        copies.part(0, name, part("a"));
        copies.no_part(1, name);
        assert_eq!(least(&mut copies, false, late), Some(2), "{name}");
        copies.published(name, late);
    }
}

/// Half a checkpoint that an earlier start left on one node was published as a whole one.
#[test]
fn what_nodes_keep_of_earlier_starts_says_nothing_of_who_writes_now() {
    let mut copies = of_both();
    let mut now = NOW;
    for name in ["step-10", "step-15", "step-20"] {
        copies.complete_earlier(0, name.into());
        let (late, asked) = late_part(&mut copies, name, now);
        assert_eq!(asked, Some(2), "{name}");
        now = late;
    }
}

#[test]
fn a_rescue_knows_of_how_many_nodes_checkpoints_are() {
    let mut copies = Copies::new([0, 1]).after(&of_both());
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    let mut fewer = Copies::new([0]).after(&of_both());
    fewer.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut fewer, false, NOW), ask("step-10", &[0]));
}

/// It came after it was asked for: the next one without it was taken for whole.
#[test]
fn a_part_that_comes_after_all_is_not_missed() {
    let mut copies = of_both();
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    let late = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, late), ask("step-10", &[0, 1]));
    for agent in [0, 1] {
        copies.part(agent, "step-10", part("a"));
    }
    assert_eq!(least(&mut copies, false, late), Some(2));
    copies.published("step-10", late);
    copies.complete(0, "step-15".into(), Some(9), None);
    assert_eq!(late_part(&mut copies, "step-15", late).1, Some(2));
}

#[test]
fn a_node_that_had_written_before_and_writes_none_any_more_is_not_waited_for_again() {
    let mut copies = of_both();
    let mut now = NOW;
    for agent in [0, 1] {
        copies.complete(agent, "step-10".into(), Some(9), None);
    }
    assert_eq!(next(&mut copies, false, now), ask("step-10", &[0, 1]));
    for agent in [0, 1] {
        copies.part(agent, "step-10", part("a"));
    }
    assert_eq!(least(&mut copies, false, now), Some(2));
    copies.published("step-10", now);
    for (name, want) in [("step-15", 2), ("step-20", 1)] {
        copies.complete(0, name.into(), Some(9), None);
        let (late, asked) = late_part(&mut copies, name, now);
        assert_eq!(asked, Some(want), "{name}");
        now = late;
    }
}

/// Its part came later than ten seconds after the first node's, and was lost with it: the half was resumed from.
#[test]
fn a_node_that_writes_is_waited_for_longer_and_the_first_checkpoint_without_its_part_lacks_it() {
    let mut copies = Copies::new([0, 1]);
    assert_eq!(copies.writes(1), []);
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    let late = copies.next_due().unwrap();
    assert_eq!(late, Timestamp(60_000));
    assert_eq!(next(&mut copies, false, late), ask("step-10", &[0, 1]));
    copies.part(0, "step-10", part("a"));
    copies.no_part(1, "step-10");
    assert_eq!(least(&mut copies, false, late), Some(2));
    copies.published("step-10", late);
    copies.complete(1, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, late), ask("step-10", &[1]));
    copies.part(1, "step-10", part("b"));
    assert_eq!(
        next(&mut copies, false, late),
        publish("step-10", &["b"], true)
    );
}

#[test]
fn what_is_saved_lacks_the_part_of_a_node_that_begins_to_write_afterwards() {
    let mut copies = Copies::new([0, 1]);
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    let late = copies.next_due().unwrap();
    assert_eq!(next(&mut copies, false, late), ask("step-10", &[0, 1]));
    copies.part(0, "step-10", part("a"));
    copies.no_part(1, "step-10");
    assert_eq!(least(&mut copies, false, late), Some(1));
    let parts = Parts {
        of: 2,
        unconfirmed: true,
        ..Parts::default()
    };
    copies.published("step-10", late);
    copies.is_saved("step-10", parts);
    assert_eq!(copies.writes(0), []);
    assert_eq!(copies.writes(1), [("step-10".to_owned(), 1)]);
    assert_eq!(copies.writes(1), [], "it is said once");
    assert_eq!(copies.lacks_more("step-10"), None);
}
