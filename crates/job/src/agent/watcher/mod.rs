//! Decides which entries of `{checkpoints}` are complete. Pure: what is there, and the time, come
//! in; what a look inside an entry tells is asked for only when the entry stands still.
//!
//! ```text
//! (new or changed) ──same twice──▶ still ──rule says so──▶ told ──changed──▶ (new or changed)
//! ```

mod names;

use super::recognise::Recognised;
use model::{Seconds, Timestamp};
use names::{is_marker, looks_temporary};
use std::collections::{BTreeMap, BTreeSet};
use train::Complete;

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
    /// Whether there is a marker: `<name>.<marker>` beside it, or `<name>/<marker>`.
    fn marked(&mut self, name: &str, marker: &str) -> bool;
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

/// How long an entry must stand still whose format says that something is missing: the format may be mistaken
/// (a folder with a `config.json` that is not Hugging Face's), and a lost checkpoint is worse than
/// one that is marked as unproven.
pub const SETTLED_PARTIAL_MS: i64 = 30_000;
/// What changed so recently is taken to be in work.
const RECENT_MS: i64 = 2_000;

/// Remembers what was seen at the looks before.
#[derive(Debug)]
pub struct Watcher {
    rule: Complete,
    entries: BTreeMap<String, Entry>,
    /// While draining: the entries that are still waited for.
    draining: Option<BTreeSet<String>>,
    /// The training ended well: what stands there won't change any more and is what it wanted.
    finished: bool,
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
    pub fn new(rule: Complete) -> Watcher {
        Watcher {
            rule,
            entries: BTreeMap::new(),
            draining: None,
            finished: false,
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
            if !entry.told
                && entry.looks >= 2
                && !looks_temporary(name)
                && !is_marker(&self.rule, name)
                && let Some(proven) = complete(&self.rule, name, entry, now, self.finished, inside)
            {
                entry.told = true;
                found.push(Found {
                    name: name.clone(),
                    proven,
                });
            }
            // What was waited for under another name has been renamed to this one.
            if let Some(waited) = &mut self.draining
                && new
                && gone.iter().any(|name| waited.contains(name))
            {
                waited.insert(name.clone());
            }
        }
        let (entries, rule) = (&self.entries, &self.rule);
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
    /// later are not. `ranks_gone`: nobody will rename what has a temporary name now. `finished`:
    /// they ended well, so nothing has to stand still before it counts.
    pub fn drain(&mut self, now: Timestamp, ranks_gone: bool, finished: bool) {
        self.finished = finished;
        let lost = |name: &str| ranks_gone && looks_temporary(name);
        let in_work = |(name, entry): (&String, &Entry)| {
            (!lost(name) && in_work(&self.rule, name, entry, now)).then(|| name.clone())
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

    /// Entries that never were complete, and have no name of unfinished ones.
    #[must_use]
    pub fn left(&self) -> Vec<String> {
        let left = |(name, entry): (&String, &Entry)| {
            let is = !entry.told && !looks_temporary(name) && !is_marker(&self.rule, name);
            is.then(|| name.clone())
        };
        self.entries.iter().filter_map(left).collect()
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
    rule: &Complete,
    name: &str,
    entry: &Entry,
    now: Timestamp,
    finished: bool,
    inside: &mut dyn Inside,
) -> Option<bool> {
    let still = now.since(entry.since);
    let settled = |inside: &mut dyn Inside, after: i64| {
        ((finished || still >= after) && !inside.open(name)).then_some(false)
    };
    match rule {
        Complete::Rename => Some(true),
        Complete::Marker { name: marker } => inside.marked(name, marker).then_some(true),
        Complete::Settle { settle } => settled(inside, millis(*settle)),
        Complete::Recognise { settle } => match inside.recognised(name) {
            Recognised::Whole(_) => Some(true),
            Recognised::Partial(_) => settled(inside, SETTLED_PARTIAL_MS.max(millis(*settle))),
            Recognised::Unknown => settled(inside, millis(*settle)),
        },
    }
}

fn millis(length: Seconds) -> i64 {
    i64::try_from(length.0.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// Whether waiting a little may still make a complete entry of it: what was left lying does not
/// hold up the end.
fn in_work(rule: &Complete, name: &str, entry: &Entry, now: Timestamp) -> bool {
    let patience = match rule {
        Complete::Recognise { settle } | Complete::Settle { settle } => millis(*settle) + 1_000,
        Complete::Rename | Complete::Marker { .. } => RECENT_MS,
    };
    !entry.told && !is_marker(rule, name) && now.since(entry.since) < patience
}

#[cfg(test)]
mod tests;
