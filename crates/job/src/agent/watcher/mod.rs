//! Decides which entries of `{checkpoints}` are complete. Pure: what is there, and the time, come
//! in; what a look inside an entry tells is asked for only when the entry stands still.
//!
//! ```text
//! (new or changed) ──same twice──▶ still ──rule says so──▶ told ──changed──▶ (new or changed)
//! ```
//!
//! What has no mark of its completeness must stand still for long. When nobody writes any more that
//! wait tells nothing: then an entry counts at once if its writers had closed it themselves.

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
    /// How many files it has.
    pub files: usize,
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
/// A longer stillness is not waited for when nobody writes any more.
const LONGEST_LAST_SETTLE_MS: i64 = 4_000;
/// What changed so recently is taken to be in work.
const RECENT_MS: i64 = 2_000;

/// Remembers what was seen at the looks before.
#[derive(Debug)]
pub struct Watcher {
    rule: Complete,
    entries: BTreeMap<String, Entry>,
    /// While draining: the entries that are still waited for.
    draining: Option<BTreeSet<String>>,
    /// Who may still write.
    writers: Writers,
    /// Files of the last entry that was complete.
    files: usize,
}

/// Those who write the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writers {
    /// They go on.
    Live,
    /// They were told to end: a file that is closed from now on may be half a file.
    Ending,
    /// Nobody writes any more.
    Gone {
        /// Since when.
        at: Timestamp,
        /// Whether they had been told to end before.
        told: bool,
    },
    /// They ended by themselves and well: what stands there is what they wanted.
    Finished,
}

#[derive(Debug)]
struct Entry {
    print: Fingerprint,
    since: Timestamp,
    looks: u32,
    told: bool,
    /// Nobody had it open any more, before the writers were told to end.
    closed: bool,
    /// Its format says that something is missing.
    partial: bool,
}

impl Entry {
    fn new(print: Fingerprint, since: Timestamp) -> Entry {
        Entry {
            print,
            since,
            looks: 0,
            told: false,
            closed: false,
            partial: false,
        }
    }
}

impl Watcher {
    /// One that has seen nothing yet.
    #[must_use]
    pub fn new(rule: Complete) -> Watcher {
        Watcher {
            rule,
            entries: BTreeMap::new(),
            draining: None,
            writers: Writers::Live,
            files: 0,
        }
    }

    /// Takes what is there now; returns what has become complete, in the order in which it was
    /// written, as far as times and the steps in names tell; the newest first once the writers end.
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
            let entry = self
                .entries
                .entry(name.clone())
                .or_insert_with(|| Entry::new(*print, now));
            if entry.print != *print {
                *entry = Entry::new(*print, now);
            }
            entry.looks += 1;
            if !entry.told
                && entry.looks >= 2
                && !looks_temporary(name)
                && !is_marker(&self.rule, name)
                && let Some(proven) = complete(
                    &self.rule,
                    name,
                    entry,
                    now,
                    self.writers,
                    self.files,
                    inside,
                )
            {
                entry.told = true;
                self.files = entry.print.files;
                let written = (entry.since, folder::step_of(name));
                found.push((
                    written,
                    Found {
                        name: name.clone(),
                        proven,
                    },
                ));
            }
            // What was waited for under another name has been renamed to this one.
            if let Some(waited) = &mut self.draining
                && new
                && gone.iter().any(|name| waited.contains(name))
            {
                waited.insert(name.clone());
            }
        }
        found.sort_by_key(|(written, _)| *written);
        if self.writers != Writers::Live {
            found.reverse();
        }
        let (entries, rule, writers) = (&self.entries, &self.rule, self.writers);
        if let Some(waited) = &mut self.draining {
            waited.retain(|name| {
                entries
                    .get(name)
                    .is_some_and(|entry| in_work(rule, name, entry, now, writers))
            });
        }
        found.into_iter().map(|(_, found)| found).collect()
    }

    /// From now on only what is being written at this moment is waited for; entries that are begun
    /// later are not. `ranks_gone`: nobody will rename what has a temporary name now. `finished`:
    /// they ended well, so nothing has to stand still before it counts.
    pub fn drain(&mut self, now: Timestamp, ranks_gone: bool, finished: bool) {
        if finished {
            self.writers = Writers::Finished;
        } else if ranks_gone {
            let told = self.writers != Writers::Live;
            self.writers = Writers::Gone { at: now, told };
        }
        let lost = |name: &str| ranks_gone && looks_temporary(name);
        let in_work = |(name, entry): (&String, &Entry)| {
            (!lost(name) && in_work(&self.rule, name, entry, now, self.writers))
                .then(|| name.clone())
        };
        self.draining = Some(self.entries.iter().filter_map(in_work).collect());
    }

    /// The writers are told to end: from now on a file may be closed because its writer was killed.
    /// `inside` looks at entries right before that; without it they were told by someone else.
    pub fn ending(&mut self, inside: Option<&mut dyn Inside>) {
        if self.writers != Writers::Live {
            return;
        }
        self.writers = Writers::Ending;
        let Some(inside) = inside else { return };
        for (name, entry) in &mut self.entries {
            if !entry.told && !entry.closed && !looks_temporary(name) {
                entry.closed = !inside.open(name);
            }
        }
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

    /// Entries that never were complete, and have no name of unfinished ones; each with why, in
    /// words.
    #[must_use]
    pub fn left(&self) -> Vec<(String, String)> {
        let left = |(name, entry): (&String, &Entry)| {
            let is = !entry.told && !looks_temporary(name) && !is_marker(&self.rule, name);
            is.then(|| (name.clone(), self.why_left(name, entry)))
        };
        self.entries.iter().filter_map(left).collect()
    }

    fn why_left(&self, name: &str, entry: &Entry) -> String {
        match &self.rule {
            Complete::Marker { name: marker } => {
                format!("neither {name}.{marker} nor {name}/{marker} was there when the job ended")
            }
            _ if entry.partial => {
                "its format says that something of it is missing, and the program has ended"
                    .to_owned()
            }
            _ if entry.closed && entry.print.files < self.files => format!(
                "the program was ended when it had written {} of {} files, as many as the one before",
                entry.print.files, self.files
            ),
            _ => "the program was still writing it when it ended".to_owned(),
        }
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

/// `Some(proven)` once it is complete. `files`: how many the one before it has.
fn complete(
    rule: &Complete,
    name: &str,
    entry: &mut Entry,
    now: Timestamp,
    writers: Writers,
    files: usize,
    inside: &mut dyn Inside,
) -> Option<bool> {
    let still = now.since(entry.since);
    let settled = |inside: &mut dyn Inside, after: i64| {
        let enough = writers == Writers::Finished || still >= after;
        (enough && !inside.open(name)).then_some(false)
    };
    let unknown = |entry: &mut Entry, inside: &mut dyn Inside, after: i64| {
        if writers == Writers::Live && !entry.closed {
            entry.closed = !inside.open(name);
        }
        match was_left_whole(entry, writers, files) {
            true => (!inside.open(name)).then_some(false),
            false => settled(inside, after),
        }
    };
    match rule {
        Complete::Rename => Some(true),
        Complete::Marker { name: marker } => inside.marked(name, marker).then_some(true),
        Complete::Settle { settle } => unknown(entry, inside, millis(*settle)),
        Complete::Recognise { settle } => match inside.recognised(name) {
            Recognised::Whole(_) => Some(true),
            Recognised::Partial(_) => {
                entry.partial = true;
                settled(inside, SETTLED_PARTIAL_MS.max(millis(*settle)))
            }
            Recognised::Unknown => unknown(entry, inside, millis(*settle)),
        },
    }
}

/// Whether an entry that nobody will change any more was whole by what can be known: its writers had
/// closed all its files before they were told to end, and it lacks none that the one before it has.
/// Of writers that died by themselves, and of a folder that nothing can be compared with, nothing is
/// known but that it stood still for a while.
fn was_left_whole(entry: &Entry, writers: Writers, files: usize) -> bool {
    let Writers::Gone { at, told } = writers else {
        return false;
    };
    let stood = at.since(entry.since) >= RECENT_MS;
    let all = entry.print.files == 1 || (files > 0 && entry.print.files >= files);
    entry.closed && (stood || (told && all))
}

fn millis(length: Seconds) -> i64 {
    i64::try_from(length.0.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// Whether waiting a little may still make a complete entry of it: what was left lying does not
/// hold up the end.
fn in_work(rule: &Complete, name: &str, entry: &Entry, now: Timestamp, writers: Writers) -> bool {
    let gone = matches!(writers, Writers::Gone { .. });
    let patience = match rule {
        // A second look is all that it takes to know what was left; so long nobody waits at the end.
        Complete::Recognise { settle } | Complete::Settle { settle }
            if gone && millis(*settle) > LONGEST_LAST_SETTLE_MS =>
        {
            return !entry.told && entry.looks < 2;
        }
        Complete::Recognise { settle } | Complete::Settle { settle } => millis(*settle) + 1_000,
        Complete::Rename | Complete::Marker { .. } => RECENT_MS,
    };
    !entry.told && !is_marker(rule, name) && now.since(entry.since) < patience
}

#[cfg(test)]
mod tests;
