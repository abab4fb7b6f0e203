//! Decides which entries of `{checkpoints}` are complete. Pure: what is there, and the time, come
//! in; what a look inside an entry tells is asked for only when the entry stands still.
//!
//! ```text
//! (new or changed) ──same twice──▶ still ──rule says so──▶ told ──changed──▶ (new or changed)
//! ```

use super::recognise::Recognised;
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// How the run file says that an entry is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It says nothing: known formats tell by themselves, others are waited for.
    Recognise,
    /// The program renames a finished entry into place.
    Rename,
    /// The program makes a marker file when it is done: see [`Inside::marked`].
    Marker,
    /// Nothing changes any more.
    Settle,
}

/// What makes two states of an entry differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Bytes of all its files.
    pub bytes: u64,
    /// A digest of its files' names, sizes, times and inodes.
    pub digest: u64,
}

/// Looks inside an entry. Each question costs reading, so each is asked only when it decides.
pub trait Inside {
    /// What its format says.
    fn recognised(&mut self, name: &str) -> Recognised;
    /// Whether there is a marker: `NAME.done` or `NAME.complete` beside it, or in the folder one of
    /// `DONE`, `COMPLETE`, `_SUCCESS`, `.done`, `.complete`.
    fn marked(&mut self, name: &str) -> bool;
    /// Whether a process has one of its files open for writing.
    fn open(&mut self, name: &str) -> bool;
}

/// An entry that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Whether that was seen, and not only waited for.
    pub proven: bool,
}

/// How long an entry must stand still where nothing better tells that it is complete.
pub const SETTLED_MS: i64 = 2_000;
/// The same for an entry whose format says that something is missing: the format may be mistaken
/// (a folder with a `config.json` that is not Hugging Face's), and a lost checkpoint is worse than
/// one that is marked as unproven.
pub const SETTLED_PARTIAL_MS: i64 = 30_000;

/// Remembers what was seen at the looks before.
#[derive(Debug)]
pub struct Watcher {
    rule: Rule,
    entries: BTreeMap<String, Entry>,
    /// While draining: the entries that are still waited for.
    draining: Option<BTreeSet<String>>,
}

#[derive(Debug)]
struct Entry {
    print: Fingerprint,
    since: Timestamp,
    looks: u32,
    told: bool,
}

impl Watcher {
    /// One that has seen nothing yet.
    #[must_use]
    pub fn new(rule: Rule) -> Watcher {
        Watcher {
            rule,
            entries: BTreeMap::new(),
            draining: None,
        }
    }

    /// Takes what is there now; returns what has become complete, by name.
    pub fn look(
        &mut self,
        there: &[(String, Fingerprint)],
        now: Timestamp,
        inside: &mut dyn Inside,
    ) -> Vec<Found> {
        let mut found = Vec::new();
        let names: BTreeSet<&String> = there.iter().map(|(name, _)| name).collect();
        let gone: Vec<String> = self
            .entries
            .keys()
            .filter(|name| !names.contains(name))
            .cloned()
            .collect();
        for name in &gone {
            self.entries.remove(name);
        }
        for (name, print) in there {
            let new = !self.entries.contains_key(name);
            let entry = self.entries.entry(name.clone()).or_insert(Entry {
                print: *print,
                since: now,
                looks: 0,
                told: false,
            });
            if entry.print != *print {
                *entry = Entry {
                    print: *print,
                    since: now,
                    looks: 0,
                    told: false,
                };
            }
            entry.looks += 1;
            if !entry.told && entry.looks >= 2 && !looks_temporary(name) {
                if let Some(proven) = complete(self.rule, name, entry, now, inside) {
                    entry.told = true;
                    found.push(Found {
                        name: name.clone(),
                        proven,
                    });
                }
            }
            // What was waited for under another name has been renamed to this one.
            if let Some(waited) = &mut self.draining
                && new
                && gone.iter().any(|name| waited.contains(name))
            {
                waited.insert(name.clone());
            }
        }
        let (entries, rule) = (&self.entries, self.rule);
        if let Some(waited) = &mut self.draining {
            waited.retain(|name| {
                entries
                    .get(name)
                    .is_some_and(|entry| in_work(rule, name, entry, now))
            });
        }
        found
    }

    /// From now on only what is being written at this moment is waited for; entries that are begun
    /// later are not.
    pub fn drain(&mut self, now: Timestamp) {
        let in_work = |(name, entry): (&String, &Entry)| {
            in_work(self.rule, name, entry, now).then(|| name.clone())
        };
        self.draining = Some(self.entries.iter().filter_map(in_work).collect());
    }

    /// Whether something that was in work when the drain began still is.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.draining
            .as_ref()
            .is_some_and(|waited| !waited.is_empty())
    }

    /// Whether the entry is there and not yet complete.
    #[must_use]
    pub fn is_unfinished(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|entry| !entry.told)
    }

    /// Forgets that the entry was told, so that it is looked at again: its copy failed because it
    /// changed meanwhile.
    pub fn look_again(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.told = false;
            entry.looks = 0;
        }
    }
}

/// `Some(proven)` once it is complete.
fn complete(
    rule: Rule,
    name: &str,
    entry: &Entry,
    now: Timestamp,
    inside: &mut dyn Inside,
) -> Option<bool> {
    let still = now.since(entry.since);
    let settled = |inside: &mut dyn Inside, after: i64| {
        (still >= after && !inside.open(name)).then_some(false)
    };
    match rule {
        Rule::Rename => Some(true),
        Rule::Marker => inside.marked(name).then_some(true),
        Rule::Settle => settled(inside, SETTLED_MS),
        Rule::Recognise => match inside.recognised(name) {
            Recognised::Whole(_) => Some(true),
            Recognised::Partial(_) => settled(inside, SETTLED_PARTIAL_MS),
            Recognised::Unknown if inside.marked(name) => Some(true),
            Recognised::Unknown => settled(inside, SETTLED_MS),
        },
    }
}

/// Whether waiting a little may still make a complete entry of it: what was left lying does not
/// hold up the end.
fn in_work(rule: Rule, name: &str, entry: &Entry, now: Timestamp) -> bool {
    let patience = match rule {
        Rule::Recognise | Rule::Settle => SETTLED_MS + 1_000,
        Rule::Rename | Rule::Marker => SETTLED_MS,
    };
    let marker = rule == Rule::Marker && is_marker(name);
    !entry.told && !marker && now.since(entry.since) < patience
}

/// Whether a name is one that programs give to what they have not finished.
#[must_use]
pub fn looks_temporary(name: &str) -> bool {
    const ENDS: [&str; 8] = [
        ".tmp",
        ".temp",
        ".part",
        ".partial",
        ".incomplete",
        ".saving",
        ".writing",
        "~",
    ];
    const INSIDE: [&str; 3] = [".orbax-checkpoint-tmp", ".tmp.", ".tmp-"];
    let lower = name.to_ascii_lowercase();
    lower.starts_with('.')
        || lower.starts_with("tmp-")
        || lower.starts_with("tmp_")
        || ENDS.iter().any(|end| lower.ends_with(end))
        || INSIDE.iter().any(|part| lower.contains(part))
        || is_marker(&lower)
        // DeepSpeed's pointer to the newest folder is made anew at a restart.
        || lower == "latest"
}

fn is_marker(name: &str) -> bool {
    name.ends_with(".done") || name.ends_with(".complete")
}

#[cfg(test)]
mod tests {
    use super::super::recognise::{Format, Recognised::*};
    use super::*;

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
        fn marked(&mut self, _: &str) -> bool {
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

    /// Looks every 100 ms at one entry; `sizes` are its sizes (`-`: not there). Returns at which
    /// look it was told, with `?` when unproven.
    #[track_caller]
    fn check(rule: Rule, name: &str, sizes: &str, mut evidence: Evidence, want: &str) {
        let mut watcher = Watcher::new(rule);
        let mut told = Vec::new();
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
                told.push(format!("{look}{}", if found.proven { "" } else { "?" }));
            }
        }
        assert_eq!(told.join(" "), want, "{rule:?} {name} {sizes} {evidence:?}");
    }

    #[test]
    fn rename_means_there_and_still() {
        check(Rule::Rename, "ckpt-1.npz", "--111", PLAIN, "3");
        check(Rule::Rename, "ckpt-1.npz", "--123333", PLAIN, "5");
        check(Rule::Rename, "ckpt-1.npz.tmp", "11111", PLAIN, "");
        check(Rule::Rename, ".ckpt-1", "11111", PLAIN, "");
        check(
            Rule::Rename,
            "100.orbax-checkpoint-tmp-17",
            "11111",
            PLAIN,
            "",
        );
    }

    #[test]
    fn the_same_name_again_is_told_again() {
        check(Rule::Rename, "last.ckpt", "11122", PLAIN, "1 4");
        check(Rule::Rename, "last.ckpt", "11--11", PLAIN, "1 5");
    }

    #[test]
    fn markers() {
        check(Rule::Marker, "step-5", "1111", PLAIN, "");
        check(
            Rule::Marker,
            "step-5",
            "1111",
            Evidence {
                marked: true,
                ..PLAIN
            },
            "1",
        );
        check(
            Rule::Marker,
            "step-5.done",
            "1111",
            Evidence {
                marked: true,
                ..PLAIN
            },
            "",
        );
        check(
            Rule::Recognise,
            "step-5",
            "1111",
            Evidence {
                marked: true,
                ..PLAIN
            },
            "1",
        );
    }

    #[test]
    fn what_is_unknown_must_settle_and_be_closed() {
        let long = "1".repeat(30);
        check(Rule::Settle, "a.pkl", &long, PLAIN, "20?");
        check(
            Rule::Settle,
            "a.pkl",
            &long,
            Evidence {
                open: true,
                ..PLAIN
            },
            "",
        );
        check(Rule::Recognise, "a.pkl", &long, PLAIN, "20?");
        check(
            Rule::Recognise,
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
        check(Rule::Recognise, "a.pt", "111", ZIP, "1");
        check(Rule::Recognise, "a.pt", &"1".repeat(100), CUT, "");
        check(Rule::Recognise, "a.pt", &"1".repeat(302), CUT, "300?");
    }

    #[test]
    fn a_drain_waits_only_for_what_was_in_work() {
        let seen = |name: &str, digest| (name.to_owned(), Fingerprint { bytes: 1, digest });
        let mut watcher = Watcher::new(Rule::Rename);
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
        watcher.drain(Timestamp(9_000));
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
}
