//! One entry, look by look.

use super::*;
use crate::agent::recognise::{Format, Recognised::*};
use model::Seconds;

#[derive(Clone, Copy, Debug)]
struct Evidence {
    recognised: Recognised,
    marked: Marked,
    open: bool,
}

impl Inside for Evidence {
    fn recognised(&mut self, _: &str) -> Recognised {
        self.recognised
    }
    fn marked(&mut self, _: &str, _: &str) -> Marked {
        self.marked
    }
    fn open(&mut self, _: &str) -> bool {
        self.open
    }
    fn shape(&mut self, _: &str) -> Shape {
        files(&[("", 1)])
    }
}

fn files(files: &[(&str, u64)]) -> Shape {
    let file = |(name, bytes): &(&str, u64)| ((*name).to_owned(), *bytes);
    files.iter().map(file).collect()
}

const PLAIN: Evidence = Evidence {
    recognised: Unknown,
    marked: Marked::Not,
    open: false,
};
const ZIP: Evidence = Evidence {
    recognised: Whole(Format::Zip),
    ..PLAIN
};
const CUT: Evidence = Evidence {
    recognised: Partial(Format::Zip),
    ..PLAIN
};

fn marker() -> Complete {
    Complete::Marker {
        name: "done".to_owned(),
    }
}

/// Looks every 100 ms at one entry; `sizes` are its sizes (`-`: not there). Returns at which
/// look it was reported, with `?` when unproven.
#[track_caller]
fn check(rule: Complete, name: &str, sizes: &str, mut evidence: Evidence, want: &str) {
    let mut watcher = Watcher::new(rule.clone());
    let mut seen = Vec::new();
    for (look, size) in sizes.chars().enumerate() {
        let now = Timestamp(i64::try_from(look).unwrap() * 100);
        let there = size.to_digit(36).map(|size| {
            (
                name.to_owned(),
                Fingerprint {
                    bytes: size.into(),
                    digest: size.into(),
                },
            )
        });
        for found in watcher.look(there.as_slice(), now, &mut evidence) {
            seen.push(format!("{look}{}", if found.proven { "" } else { "?" }));
        }
    }
    assert_eq!(seen.join(" "), want, "{rule:?} {name} {sizes} {evidence:?}");
}

#[test]
fn rename_means_there_and_still() {
    check(Complete::Rename, "ckpt-1.npz", "--111", PLAIN, "3");
    check(Complete::Rename, "ckpt-1.npz", "--123333", PLAIN, "5");
    check(Complete::Rename, "ckpt-1.npz.tmp", "11111", PLAIN, "");
    check(Complete::Rename, ".ckpt-1", "11111", PLAIN, "");
    check(
        Complete::Rename,
        "100.orbax-checkpoint-tmp-17",
        "11111",
        PLAIN,
        "",
    );
}

#[test]
fn the_same_name_again_is_told_again() {
    check(Complete::Rename, "last.ckpt", "11122", PLAIN, "1 4");
    check(Complete::Rename, "last.ckpt", "11--11", PLAIN, "1 5");
}

/// One rank writes it for the parts of all nodes.
#[test]
fn a_marker_on_another_node_counts_once_the_part_is_not_written_any_more() {
    let mut watcher = Watcher::new(marker());
    let looks = |watcher: &mut Watcher, now: i64, bytes: u64, open: bool| {
        let print = Fingerprint {
            bytes,
            digest: bytes,
        };
        let there = [("step-5".to_owned(), print)];
        let mut evidence = Evidence { open, ..PLAIN };
        watcher.look(&there, Timestamp(now), &mut evidence).len()
    };
    assert_eq!(looks(&mut watcher, 0, 1, false), 0);
    assert_eq!(looks(&mut watcher, 5_000, 1, false), 0, "no marker");
    watcher.marked_elsewhere("step-5".to_owned());
    assert_eq!(looks(&mut watcher, 5_100, 1, true), 0, "it is open");
    assert_eq!(looks(&mut watcher, 5_200, 1, false), 1);
    assert_eq!(looks(&mut watcher, 5_300, 2, false), 0, "it goes on");
    assert_eq!(looks(&mut watcher, 7_400, 2, false), 0, "a new version");
    watcher.marked_elsewhere("step-5".to_owned());
    assert_eq!(looks(&mut watcher, 7_500, 2, false), 1);
}

/// The marker of one node made a whole part of what another's death had cut.
#[test]
fn a_marker_on_another_node_says_nothing_of_what_was_closed_by_death() {
    let mut watcher = Watcher::new(marker());
    let print = Fingerprint {
        bytes: 1,
        digest: 1,
    };
    let there = [("step-5".to_owned(), print)];
    let mut evidence = PLAIN;
    assert!(watcher.look(&there, Timestamp(0), &mut evidence).is_empty());
    watcher.marked_elsewhere("step-5".to_owned());
    watcher.drain(Timestamp(100), true, false);
    for now in [200, 5_000, 9_000] {
        assert!(
            watcher
                .look(&there, Timestamp(now), &mut evidence)
                .is_empty()
        );
    }
}

#[test]
fn markers() {
    check(marker(), "step-5", "1111", PLAIN, "");
    check(
        marker(),
        "step-5",
        "1111",
        Evidence {
            marked: Marked::Last,
            ..PLAIN
        },
        "1",
    );
    check(
        marker(),
        "step-5.done",
        "1111",
        Evidence {
            marked: Marked::Last,
            ..PLAIN
        },
        "",
    );
}

#[test]
fn what_is_unknown_must_settle_and_be_closed() {
    let long = "1".repeat(30);
    check(
        Complete::Settle { settle: Seconds(2) },
        "a.pkl",
        &long,
        PLAIN,
        "20?",
    );
    check(
        Complete::Settle { settle: Seconds(2) },
        "a.pkl",
        &long,
        Evidence {
            open: true,
            ..PLAIN
        },
        "",
    );
    check(
        Complete::Recognise { settle: Seconds(2) },
        "a.pkl",
        &long,
        PLAIN,
        "20?",
    );
    check(
        Complete::Recognise { settle: Seconds(2) },
        "a.pkl",
        &long,
        Evidence {
            open: true,
            ..PLAIN
        },
        "",
    );
}

#[test]
fn known_formats_tell_at_once_or_are_waited_for_long() {
    check(
        Complete::Recognise { settle: Seconds(2) },
        "a.pt",
        "111",
        ZIP,
        "1",
    );
    check(
        Complete::Recognise { settle: Seconds(2) },
        "a.pt",
        &"1".repeat(100),
        CUT,
        "",
    );
    check(
        Complete::Recognise { settle: Seconds(2) },
        "a.pt",
        &"1".repeat(302),
        CUT,
        "300?",
    );
}

/// Ranks of DeepSpeed that came late cost the checkpoint that was saved right before the end; half of the next one
/// written over it is none.
#[test]
fn what_is_changed_after_its_mark_is_of_late_ranks_unless_one_of_its_name_was_complete() {
    let settle = || Complete::Recognise { settle: Seconds(2) };
    let late = Evidence {
        recognised: Overtaken(Format::DeepSpeed),
        ..PLAIN
    };
    check(settle(), "step-5", &"1".repeat(30), late, "20?");
    let mut watcher = Watcher::new(settle());
    let mut look = |size, now, mut evidence: Evidence| {
        let print = Fingerprint {
            bytes: size,
            digest: size,
        };
        let there = [("last".to_owned(), print)];
        watcher.look(&there, Timestamp(now), &mut evidence).len()
    };
    let whole = Evidence {
        recognised: Whole(Format::DeepSpeed),
        ..PLAIN
    };
    assert_eq!([look(1, 0, whole), look(1, 100, whole)], [0, 1]);
    for (size, now) in [(2, 200), (2, 300), (2, 5_000), (3, 5_100), (3, 10_000)] {
        assert_eq!(look(size, now, late), 0, "{now}");
    }
    assert_eq!(look(3, 10_100, whole), 1);
}

#[test]
fn what_a_finished_training_left_need_not_stand_still() {
    let there = [(
        "final".to_owned(),
        Fingerprint {
            bytes: 1,
            digest: 1,
        },
    )];
    let settle = Seconds(10);
    let mut watcher = Watcher::new(Complete::Settle { settle });
    let look = |watcher: &mut Watcher, now| {
        watcher
            .look(&there, Timestamp(now), &mut PLAIN.clone())
            .len()
    };
    assert_eq!(look(&mut watcher, 0), 0);
    watcher.drain(Timestamp(50), true, true);
    assert_eq!(look(&mut watcher, 60), 1);
    assert!(!watcher.waits() && watcher.left().is_empty());

    let mut killed = Watcher::new(Complete::Settle { settle });
    look(&mut killed, 0);
    killed.drain(Timestamp(50), true, false);
    assert_eq!(look(&mut killed, 60), 0, "it may be half a file");
    let why = MOMENTS.to_owned();
    let left = Left {
        name: "final".to_owned(),
        why,
        may_be_whole: true,
    };
    assert_eq!(killed.left(), [left]);
}

/// What stands in a folder, look by look, each file with its size; `w`: a writer has it open.
struct Folder(Vec<(&'static str, &'static str, u64, bool)>);

impl Folder {
    /// `step-1/a 4 step-1/b 5w step-2 3`
    fn new(text: &'static str) -> Folder {
        let words: Vec<&'static str> = text.split_whitespace().collect();
        let file = |pair: &[&'static str]| {
            let (name, inner) = pair[0].split_once('/').unwrap_or((pair[0], ""));
            let bytes = pair[1].trim_end_matches('w').parse().unwrap();
            (name, inner, bytes, pair[1].ends_with('w'))
        };
        Folder(words.chunks(2).map(file).collect())
    }

    fn there(&mut self) -> Vec<(String, Fingerprint)> {
        let names: BTreeSet<&str> = self.0.iter().map(|file| file.0).collect();
        let print = |name: &str| {
            let all = self.0.iter().filter(|file| file.0 == name);
            let bytes = all.clone().map(|file| file.2).sum();
            let digest = bytes * 100 + u64::try_from(all.count()).unwrap();
            Fingerprint { bytes, digest }
        };
        let entry = |name: &str| (name.to_owned(), print(name));
        names.into_iter().map(entry).collect()
    }
}

impl Inside for Folder {
    fn recognised(&mut self, _: &str) -> Recognised {
        Unknown
    }
    fn marked(&mut self, _: &str, _: &str) -> Marked {
        Marked::Not
    }
    fn open(&mut self, name: &str) -> bool {
        self.0.iter().any(|file| file.0 == name && file.3)
    }
    fn shape(&mut self, name: &str) -> Shape {
        let mine = self.0.iter().filter(|file| file.0 == name);
        mine.map(|file| (file.1.to_owned(), file.2)).collect()
    }
}

/// How writers come to their end.
#[derive(Clone, Copy, Debug)]
enum End {
    Requested,
    Died,
    /// Of an exit of their own, after they were asked to.
    Left,
}

/// Three looks, 100 ms each, at every state of a folder; `resumed` was resumed from. Then the writers
/// end, `late` ms after the last look, and it is looked at once more: returns what that found, and
/// what is left with why.
fn ended(resumed: &'static str, states: &[&'static str], late: i64, end: End) -> String {
    let settle = Seconds(10);
    let mut watcher = Watcher::new(Complete::Recognise { settle });
    let mut resumed = Folder::new(resumed);
    for (name, _) in resumed.there() {
        let shape = resumed.shape(&name);
        watcher.was_finished(&name, shape);
    }
    let mut now = 0;
    let mut folder = Folder::new("");
    for state in states {
        folder = Folder::new(state);
        for _ in 0..3 {
            now += 100;
            let there = folder.there();
            assert_eq!(watcher.look(&there, Timestamp(now), &mut folder), []);
        }
    }
    now += late;
    for file in &mut folder.0 {
        file.3 = false;
    }
    match end {
        End::Requested => watcher.ending(None),
        End::Left => watcher.left_by_themselves(),
        End::Died => {}
    }
    let there = folder.there();
    let mut found = watcher.look(&there, Timestamp(now), &mut folder);
    watcher.drain(Timestamp(now), true, false);
    found.extend(watcher.look(&there, Timestamp(now), &mut folder));
    assert!(found.iter().all(|one| !one.proven), "only believed");
    let kept = found.into_iter().map(|one| one.name);
    let left = watcher.left().into_iter();
    let left = left.map(|left| format!("{}: {}", left.name, left.why));
    kept.chain(left).collect::<Vec<_>>().join("; ")
}

#[track_caller]
fn check_end(states: &[&'static str], want: &str) {
    assert_eq!(ended("", states, 100, End::Requested), want, "{states:?}");
}

const MOMENTS: &str = "the program was ended, or failed, within moments of writing it, and nothing tells \
                       that it is whole";
const WRITING: &str = "the program was still writing it when it ended";

#[test]
fn what_writers_had_closed_before_they_were_ended_counts_if_it_is_like_the_one_before() {
    check_end(&["step-1 9", "step-1 9 step-2 9"], "step-2; step-1");
    check_end(
        &["step-1 9", "step-1 9 step-2 3w"],
        &format!("step-1; step-2: {WRITING}"),
    );
    check_end(
        &["s-1/a 4 s-1/b 4", "s-1/a 4 s-1/b 4 s-2/a 4 s-2/b 4"],
        "s-2; s-1",
    );
}

/// It was lost with the words that the program was still writing it.
#[test]
fn what_a_program_saves_that_is_asked_to_end_counts_whatever_code_it_exits_with() {
    let check = |states: &[&'static str], want: &str| {
        assert_eq!(ended("", states, 10, End::Left), want, "{states:?}");
    };
    check(&["step-1 9w"], "step-1");
    check(&["step-1 9", "step-1 9 step-2 9w"], "step-2; step-1");
    check(
        &["step-1 90", "step-1 90 step-2 9"],
        "step-1; step-2: it has 9 bytes, and 90 in the previous checkpoint step-1",
    );
}

#[test]
fn a_folder_that_lacks_a_file_at_the_end_is_left_and_the_one_before_is_kept() {
    check_end(
        &["s-1/a 4", "s-1/a 4 s-1/b 4", "s-1/a 4 s-1/b 4 s-2/a 4"],
        "s-1; s-2: it lacks b, which s-1 has",
    );
}

#[test]
fn a_file_that_is_closed_to_be_opened_again_is_left_at_the_end() {
    check_end(
        &["s-1 8", "s-1 16", "s-1 16 s-2 8"],
        "s-1; s-2: it has 8 bytes, and the previous checkpoint s-1 has 16",
    );
    // Under one name again and again.
    check_end(
        &["last 8", "last 16", "last 8"],
        "last: it has 8 bytes, and the previous checkpoint last has 16",
    );
    check_end(&["last 8", "last 16", "last 8", "last 16"], "last");
}

#[test]
fn what_can_be_compared_with_nothing_must_have_stood_still() {
    let why = |seconds| {
        format!(
            "s-1: it was unchanged for {seconds} of the 10 s after which it counts as complete, and there is \
             no earlier one to compare it with"
        )
    };
    check_end(&["s-1/a 4"], &why(0));
    check_end(
        &["s-1 4", "s-1 4 other-2 4"],
        &format!("other-2{}; {}", &why(0)[3..], why(0)),
    );
    assert_eq!(ended("", &["s-1 4"], 4_000, End::Requested), why(4));
    assert_eq!(ended("", &["s-1 4"], 9_800, End::Requested), "s-1");
}

#[test]
fn what_was_resumed_from_is_what_the_next_is_compared_with() {
    assert_eq!(ended("s-1 9", &["s-2 9"], 100, End::Requested), "s-2");
    assert_eq!(ended("last 9", &["last 9"], 100, End::Requested), "last");
    assert_eq!(
        ended("s-1/a 4 s-1/b 4", &["s-2/a 4"], 100, End::Requested),
        "s-2: it lacks b, which s-1 has"
    );
}

#[test]
fn who_dies_closes_files_that_are_not_finished() {
    let states = ["s-1 9", "s-1 9 s-2 9"];
    assert_eq!(
        ended("", &states, 100, End::Died),
        format!("s-1; s-2: {MOMENTS}")
    );
    assert_eq!(ended("", &states, 2_000, End::Died), "s-2; s-1");
}

#[test]
fn the_newest_goes_first_once_the_writers_end() {
    let mut watcher = Watcher::new(Complete::Settle {
        settle: Seconds(10),
    });
    let there: Vec<(String, Fingerprint)> = ["step-10", "step-8", "step-9"]
        .map(|name| {
            let print = Fingerprint {
                bytes: 1,
                digest: 1,
            };
            (name.to_owned(), print)
        })
        .to_vec();
    assert_eq!(watcher.look(&there, Timestamp(0), &mut PLAIN.clone()), []);
    watcher.ending(Some(&mut PLAIN.clone()));
    watcher.drain(Timestamp(100), true, false);
    let found = watcher.look(&there, Timestamp(100), &mut PLAIN.clone());
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["step-10", "step-9", "step-8"]);
}

#[test]
fn a_file_that_is_closed_after_the_signal_may_be_half() {
    let mut watcher = Watcher::new(Complete::Settle {
        settle: Seconds(10),
    });
    let there = [(
        "a.pkl".to_owned(),
        Fingerprint {
            bytes: 1,
            digest: 1,
        },
    )];
    let open = Evidence {
        open: true,
        ..PLAIN
    };
    for now in [0, 100] {
        assert_eq!(watcher.look(&there, Timestamp(now), &mut open.clone()), []);
    }
    watcher.ending(None);
    for now in [200, 300] {
        assert_eq!(watcher.look(&there, Timestamp(now), &mut PLAIN.clone()), []);
    }
    watcher.drain(Timestamp(400), true, false);
    assert_eq!(watcher.look(&there, Timestamp(400), &mut PLAIN.clone()), []);
}

#[test]
fn a_drain_waits_only_for_what_was_in_work() {
    let seen = |name: &str, digest| (name.to_owned(), Fingerprint { bytes: 1, digest });
    let mut watcher = Watcher::new(Complete::Rename);
    let look = |watcher: &mut Watcher, there: &[(String, Fingerprint)], now| {
        watcher
            .look(there, Timestamp(now), &mut PLAIN.clone())
            .len()
    };
    look(&mut watcher, &[seen("1", 1), seen("old.tmp", 1)], 0);
    assert_eq!(
        look(&mut watcher, &[seen("1", 1), seen("old.tmp", 1)], 100),
        1
    );
    look(
        &mut watcher,
        &[seen("1", 1), seen("old.tmp", 1), seen("2.tmp", 1)],
        9_000,
    );
    watcher.drain(Timestamp(9_000), false, false);
    assert!(
        watcher.waits(),
        "2.tmp is being written; old.tmp was left lying"
    );
    look(&mut watcher, &[seen("1", 1), seen("2", 1)], 9_100);
    assert!(watcher.waits(), "2.tmp became 2, which was seen once");
    assert_eq!(
        look(
            &mut watcher,
            &[seen("1", 1), seen("2", 1), seen("3.tmp", 1)],
            9_200
        ),
        1
    );
    assert!(!watcher.waits(), "3.tmp was begun after the drain");
}
