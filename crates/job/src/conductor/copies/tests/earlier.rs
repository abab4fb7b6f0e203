//! What earlier starts left, beside what is written now.

use super::*;

fn of_start(job: u32, incoming: &str) -> Part {
    Part {
        start: Some(Attempt { job, restart: 0 }),
        ..part(incoming)
    }
}

/// The second node still had its part of the start before, which had the same name.
#[test]
fn parts_of_two_starts_are_not_put_together() {
    let mut copies = of_both();
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(copies.next(false, true, NOW), ask("step-10", &[0, 1]));
    copies.part(0, "step-10", of_start(2, "a"));
    copies.part(1, "step-10", of_start(1, "b"));
    let publish = copies.next(false, true, NOW);
    let Some(Next::Publish { parts, asked, .. }) = publish else {
        panic!("{publish:?}")
    };
    assert_eq!(parts, [of_start(2, "a")]);
    assert_eq!(asked.least, 2);
    let discarded = Next::Discard(vec![of_start(1, "b")]);
    assert_eq!(copies.next(false, true, NOW), Some(discarded));
}

/// One node's new part joined what another had kept of the start before.
#[test]
fn what_is_written_again_takes_the_place_of_what_an_earlier_start_left() {
    let mut copies = Copies::new([0, 1]);
    copies.complete_earlier(1, "step-10".into());
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
    copies.no_part(0, "step-10");
    copies.part(1, "step-10", part("b"));
    assert!(next(&mut copies, false, NOW).is_some());
    copies.published("step-10", NOW);
    copies.complete(0, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), None);
    copies.complete(1, "step-10".into(), Some(9), None);
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
}

#[test]
fn what_was_kept_of_an_earlier_start_by_one_node_may_lack_the_parts_of_the_others() {
    let mut copies = Copies::new([0, 1]);
    copies.complete_earlier(0, "step-10".into());
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
    copies.part(0, "step-10", part("a"));
    copies.no_part(1, "step-10");
    assert_eq!(least(&mut copies, false, NOW), Some(2));
}

/// The part of an earlier start that a node had given was put aside, and its new one published alone.
#[test]
fn what_is_written_while_an_earlier_start_s_part_is_put_aside_joins_the_others() {
    let mut copies = of_both();
    for agent in [0, 1] {
        copies.complete_earlier(agent, "step-10".into());
    }
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
    copies.part(0, "step-10", of_start(1, "a"));
    copies.complete(1, "step-10".into(), Some(9), None);
    copies.complete(0, "step-10".into(), Some(9), None);
    copies.part(1, "step-10", of_start(2, "b"));
    let published = next(&mut copies, false, NOW);
    let Some(Next::Publish { parts, .. }) = published else {
        panic!("{published:?}")
    };
    assert_eq!(parts, [of_start(2, "b")]);
    copies.published("step-10", NOW);
    let discarded = Next::Discard(vec![of_start(1, "a")]);
    assert_eq!(next(&mut copies, false, NOW), Some(discarded));
    assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0]));
}
