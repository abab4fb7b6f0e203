use super::*;

/// `name`, `name!` for one that lacks a part, `name?` for one of which nothing tells that it is complete, `name+`
/// for one of which nothing tells how many parts it has.
fn known(text: &str) -> KnownCheckpoint {
    let name = text.trim_end_matches(['!', '?', '+']);
    let mut known = KnownCheckpoint::named(name);
    known.parts.lacks = usize::from(text.contains('!'));
    known.parts.unconfirmed = text.contains('+');
    known.proven = !text.contains('?');
    known
}

fn whole(texts: &[&str]) -> WholeCheckpoints {
    WholeCheckpoints::new(texts.iter().map(|text| known(text)).collect())
}

#[track_caller]
fn check(out: &[&str], kept: &[&str], want: &[&str]) {
    let kept = kept.iter().map(|text| known(text)).collect();
    let found = whole(out).candidates(kept);
    let shown: Vec<String> = found
        .iter()
        .map(|one| format!("{}{}", one.known.name, if one.kept { " kept" } else { "" }))
        .collect();
    assert_eq!(shown, want);
}

#[test]
fn the_newest_of_both_places_comes_first() {
    check(&[], &[], &[]);
    check(&["c-20", "c-10"], &["c-30"], &["c-30 kept", "c-20", "c-10"]);
    check(&["c-20", "c-10"], &["c-20"], &["c-20", "c-20 kept", "c-10"]);
    check(&["c-20"], &["c-10"], &["c-20", "c-10 kept"]);
    check(&["last"], &["last"], &["last kept", "last"]);
    check(&["c-20", "last"], &["last"], &["c-20", "last kept", "last"]);
    check(&["c-20!", "c-10"], &["c-5"], &["c-10", "c-5 kept", "c-20"]);
    check(&["c-20+", "c-10"], &[], &["c-20", "c-10"]);
}

/// An older one that was put together afterwards told that there are parts of two nodes.
#[test]
fn what_others_of_its_series_tell_of_the_number_of_parts_holds_for_earlier_ones_too() {
    let of = |text: &str, nodes: &[&str]| {
        let mut known = known(text);
        known.parts.of = 2;
        known.parts.nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        known
    };
    let first = of("c-20+", &["n0"]);
    let both = of("c-10", &["n0", "n1"]);
    let one = of("c-10", &["n0"]);
    let other = of("d-10", &["n0", "n1"]);
    for (second, want) in [(both, "c-10"), (one, "c-20"), (other, "c-20")] {
        let out = WholeCheckpoints::new(vec![first.clone(), second]);
        let found = out.candidates(Vec::new());
        assert_eq!(found[0].known.name, want, "{found:?}");
    }
}

/// Beside a checkpoint of another series what one node of three had saved of it looked small.
#[test]
fn one_whose_parts_are_together_again_is_as_large_as_they_are() {
    let of = |text: &str, bytes: u64, written: i64| KnownCheckpoint {
        bytes: Some(bytes),
        written: Some(Timestamp(written)),
        ..known(text)
    };
    let out = WholeCheckpoints::new(vec![of("best", 27, 5), of("step-8!", 9, 900_000)]);
    let found = out.candidates(vec![of("step-8", 27, 900_000)]);
    assert!(
        found[0].kept && found[0].known.name == "step-8",
        "{found:?}"
    );
}

/// Training went on with a new optimizer, and `keep` removed the half of a pair.
#[test]
fn what_belongs_together_is_resumed_from_kept_and_removed_together() {
    let with = |out: &[&str], kept: &[&str], want: &str| {
        let kept = kept.iter().map(|text| known(text)).collect();
        let best = &whole(out).candidates(kept)[0];
        let shown = best.members();
        let shown = shown.map(|it| format!("{}{}", it.name, if it.kept { " kept" } else { "" }));
        assert_eq!(shown.collect::<Vec<_>>().join(", "), want, "{out:?}");
    };
    let both = ["model-80", "optim-80"];
    with(&both, &[], "model-80, optim-80");
    with(
        &["optim-80", "model-80", "model-70"],
        &[],
        "model-80, optim-80",
    );
    with(&both[..1], &both[1..], "model-80, optim-80 kept");
    with(&both, &both, "model-80, optim-80");
    // The optimizer of the newest is still to come.
    let more = ["model-80", "optim-80", "model-90"];
    with(&more, &[], "model-80, optim-80");
    with(&["model-80", "model-90"], &[], "model-90");
    check_superfluous(&more, 1, &[]);
    let all = ["model-80", "optim-80", "model-90", "optim-90"];
    check_superfluous(&all, 1, &["model-80", "optim-80"]);
    check_superfluous(&all, 2, &[]);
    check_superfluous(&["model-80", "optim-80", "optim-90"], 1, &[]);
    check_outdone(&more, "model-80", (false, true));
    check_outdone(&all, "model-80", (true, true));
    // One that is larger than its model is no other checkpoint.
    let of = |text: &str, bytes: u64| KnownCheckpoint {
        bytes: Some(bytes),
        written: Some(Timestamp(5)),
        ..known(text)
    };
    let out = WholeCheckpoints::new(vec![of("model-80", 9), of("optim-80", 20)]);
    assert_eq!(out.candidates(Vec::new())[0].known.name, "model-80");
}

#[track_caller]
fn check_outdone(out: &[&str], name: &str, want: (bool, bool)) {
    let whole = whole(out);
    let found = (whole.outdo(name), whole.have_as_new(name));
    assert_eq!(found, want, "{out:?} {name}");
}

/// An epoch's checkpoint that a full disk had refused was given up for a later step's.
#[test]
fn steps_of_other_series_and_what_lacks_a_part_outdo_nothing() {
    check_outdone(&["step-300"], "step-200", (true, true));
    check_outdone(&["step-300"], "step-300", (false, true));
    check_outdone(&["step-300"], "epoch-3", (false, false));
    check_outdone(&["step-300!"], "step-200", (false, false));
    check_outdone(&["step-300+"], "step-200", (false, false));
    check_outdone(&["step-300"], "last", (false, false));
    check_outdone(&[], "step-1", (false, false));
}

/// With `keep = 2` a folder ended with the epochs 12 and 24 of 72.
#[test]
fn what_was_written_last_is_never_superfluous() {
    let names = |texts: &[&str], keep: u32| {
        let written = |(second, text): (i64, &&str)| KnownCheckpoint {
            written: Some(Timestamp(second * 12_000)),
            bytes: Some(9),
            ..known(text)
        };
        let out = (0..).zip(texts).map(written).collect();
        WholeCheckpoints::new(out).superfluous(keep)
    };
    let falling = ["ep=12-loss=0.33", "ep=24-loss=0.21", "ep=36-loss=0.19"];
    assert_eq!(names(&falling, 2), ["ep=12-loss=0.33"]);
    assert_eq!(names(&["ck-90", "ck-70", "ck-50"], 2), ["ck-90"]);
    assert_eq!(names(&["ck-90", "ck-70"], 1), Vec::<String>::new());
    assert_eq!(names(&["ck-70", "ck-90", "last"], 1), ["ck-70"]);
}

#[track_caller]
fn check_superfluous(out: &[&str], keep: u32, want: &[&str]) {
    assert_eq!(whole(out).superfluous(keep), want, "{out:?} {keep}");
}

#[test]
fn the_newest_and_the_newest_proven_one_are_never_superfluous() {
    check_superfluous(&["c-1", "c-2", "c-3"], 2, &["c-1"]);
    check_superfluous(&["c-1", "c-2", "c-3"], 0, &["c-2", "c-1"]);
    check_superfluous(&["c-1", "c-2?", "c-3?"], 1, &["c-2"]);
    check_superfluous(&["c-1?", "c-2?", "c-3?"], 1, &["c-1"]);
    check_superfluous(&["c-1?", "c-2?", "c-3?"], 2, &["c-1"]);
    check_superfluous(&["c-1", "c-2!", "c-3!"], 1, &[]);
    check_superfluous(&["c-1!", "c-2", "c-3!"], 1, &["c-1"]);
    check_superfluous(&["c-1", "c-2", "c-3+"], 1, &["c-1"]);
    check_superfluous(&["c-1+", "c-2+", "c-3+"], 1, &["c-2", "c-1"]);
}
