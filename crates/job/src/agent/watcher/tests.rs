//! One entry, look by look.

use super::*;
use crate::agent::recognise::{Format, Recognised::*};

#[derive(Clone, Copy, Debug)]
struct Evidence {
    recognised: Recognised,
    marked: bool,
    open: bool,
}

impl Inside for Evidence {
    fn recognised(&mut self, _: &str) -> Recognised {
        self.recognised
    }
    fn marked(&mut self, _: &str, _: &str) -> bool {
        self.marked
    }
    fn open(&mut self, _: &str) -> bool {
        self.open
    }
}

const PLAIN: Evidence = Evidence {
    recognised: Unknown,
    marked: false,
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
/// look it was told, with `?` when unproven.
#[track_caller]
fn check(rule: Complete, name: &str, sizes: &str, mut evidence: Evidence, want: &str) {
    let mut watcher = Watcher::new(rule.clone());
    let mut told = Vec::new();
    for (look, size) in sizes.chars().enumerate() {
        let now = Timestamp(i64::try_from(look).unwrap() * 100);
        let there = size.to_digit(36).map(|size| {
            (
                name.to_owned(),
                Fingerprint {
                    bytes: size.into(),
                    files: 1,
                    digest: size.into(),
                },
            )
        });
        for found in watcher.look(there.as_slice(), now, &mut evidence) {
            told.push(format!("{look}{}", if found.proven { "" } else { "?" }));
        }
    }
    assert_eq!(told.join(" "), want, "{rule:?} {name} {sizes} {evidence:?}");
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

#[test]
fn markers() {
    check(marker(), "step-5", "1111", PLAIN, "");
    check(
        marker(),
        "step-5",
        "1111",
        Evidence {
            marked: true,
            ..PLAIN
        },
        "1",
    );
    check(
        marker(),
        "step-5.done",
        "1111",
        Evidence {
            marked: true,
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

#[test]
fn what_a_finished_training_left_need_not_stand_still() {
    let there = [(
        "final".to_owned(),
        Fingerprint {
            bytes: 1,
            files: 1,
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
    let why = "the program was still writing it when it ended".to_owned();
    assert_eq!(killed.left(), [("final".to_owned(), why)]);
}

/// Looks at one entry of unknown format for 1.2 s at 100 ms each, with `open` saying at which looks a
/// writer has it open; then the writers end as `end` says, and it is looked at once more. Returns
/// what that found.
#[track_caller]
fn at_the_end(
    files: usize,
    before: usize,
    open: impl Fn(usize) -> bool,
    end: impl Fn(&mut Watcher, Timestamp),
) -> Vec<Found> {
    let settle = Seconds(10);
    let mut watcher = Watcher::new(Complete::Recognise { settle });
    watcher.files = before;
    let print = |digest| Fingerprint {
        bytes: 1,
        files,
        digest,
    };
    let mut now = Timestamp(0);
    for look in 0..12 {
        now = Timestamp(i64::try_from(look).unwrap() * 100);
        let mut evidence = Evidence {
            open: open(look),
            ..PLAIN
        };
        let there = [("a.pkl".to_owned(), print(u64::from(open(look))))];
        assert_eq!(watcher.look(&there, now, &mut evidence), []);
    }
    end(&mut watcher, now);
    let there = [("a.pkl".to_owned(), print(u64::from(open(11))))];
    watcher.look(&there, now, &mut PLAIN.clone())
}

#[test]
fn what_writers_had_closed_before_they_were_ended_counts_without_a_wait() {
    let told = |watcher: &mut Watcher, now| {
        watcher.ending(None);
        watcher.drain(now, true, false);
    };
    let died = |watcher: &mut Watcher, now| watcher.drain(now, true, false);
    let never = |_| false;
    let found = |found: Vec<Found>| {
        let words = found
            .iter()
            .map(|one| if one.proven { "proven" } else { "unproven" });
        words.collect::<String>()
    };
    assert_eq!(found(at_the_end(1, 0, never, told)), "unproven", "marked");
    let until_9 = |look| look < 9;
    assert_eq!(
        found(at_the_end(1, 0, until_9, told)),
        "unproven",
        "just closed"
    );
    let until_the_end = |_| true;
    assert_eq!(
        found(at_the_end(1, 0, until_the_end, told)),
        "",
        "half a file"
    );
    assert_eq!(
        found(at_the_end(1, 0, never, died)),
        "",
        "closed by a death?"
    );
    assert_eq!(
        found(at_the_end(3, 3, never, told)),
        "unproven",
        "as the last one"
    );
    assert_eq!(
        found(at_the_end(2, 3, never, told)),
        "",
        "one file is missing"
    );
    assert_eq!(
        found(at_the_end(2, 0, never, told)),
        "",
        "how many shall it be?"
    );
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
                files: 1,
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
            files: 1,
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
    let seen = |name: &str, digest| {
        (
            name.to_owned(),
            Fingerprint {
                bytes: 1,
                files: 1,
                digest,
            },
        )
    };
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
