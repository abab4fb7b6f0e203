//! Decides which entries of `{checkpoints}` are complete. Pure: what is there, and the time, come
//! in; what a look inside an entry tells is asked for only when the entry stands still.
//!
//! ```text
//! (new or changed) ──same twice──▶ still ──rule says so──▶ reported ──changed──▶ (new or changed)
//! ```
//!
//! What has no mark of its completeness must stand still for long. When no process writes any more that
//! wait tells nothing: then an entry that its writers had closed counts at once if they had gone on
//! to the next one, or if it is like the finished one before it. What can be compared with nothing
//! may be a part.

mod complete;
mod left;
mod names;
mod shape;

pub use left::Left;
pub(crate) use names::looks_temporary;
pub use shape::Shape;

use super::recognise::Recognised;
use complete::{complete, in_work};
use folder::{Position, compare_names, series};
use model::Timestamp;
use names::is_marker;
use std::cmp::Ordering;
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
    fn marked(&mut self, name: &str, marker: &str) -> Marked;
    /// Whether a process has one of its files open for writing.
    fn open(&mut self, name: &str) -> bool;
    /// What it consists of.
    fn shape(&mut self, name: &str) -> Shape;
}

/// What an entry's marker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// There is none.
    Not,
    /// Something was changed after it: it may be of the checkpoint that this one is written over.
    Before,
    /// Nothing was changed after it.
    Last,
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
/// A longer stillness is not waited for when no process writes any more.
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
    /// The newest entry that was finished, by series.
    finished: BTreeMap<String, (String, Shape)>,
    /// Entries of which another node has the marker.
    marked_elsewhere: BTreeSet<String>,
    /// Whether the writers were asked to save and end, and all ended by an exit of their own.
    left_by_themselves: bool,
}

/// Those who write the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writers {
    /// They go on.
    Live,
    /// They were signalled to end: a file that is closed from now on may be half a file.
    Ending,
    /// No process writes any more.
    Gone {
        /// Since when.
        at: Timestamp,
        /// Whether they had been signalled to end before.
        signalled: bool,
    },
    /// They ended by themselves and well: what stands there is what they wanted.
    Finished,
}

#[derive(Debug)]
struct Entry {
    print: Fingerprint,
    /// When its name was first seen.
    begun: Timestamp,
    since: Timestamp,
    looks: u32,
    reported: bool,
    /// What it consisted of when no process had it open any more, before the writers were signalled to end.
    closed: Option<Shape>,
    /// Whether a process was seen to have it open.
    was_open: bool,
    /// Its format says that something is missing.
    partial: bool,
    /// One of this name was complete before: this one may be written over it, and is half of each until it is done.
    is_again: bool,
}

impl Entry {
    fn new(print: Fingerprint, begun: Timestamp, since: Timestamp) -> Entry {
        Entry {
            print,
            begun,
            since,
            looks: 0,
            reported: false,
            closed: None,
            was_open: false,
            partial: false,
            is_again: false,
        }
    }

    fn look_whether_closed(&mut self, name: &str, inside: &mut dyn Inside) {
        self.was_open = inside.open(name);
        self.closed = (!self.was_open).then(|| inside.shape(name));
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
            finished: BTreeMap::new(),
            marked_elsewhere: BTreeSet::new(),
            left_by_themselves: false,
        }
    }

    /// Another node has the marker of that entry: one rank writes it for all. Without a barrier before it
    /// this node may still be at work, so that the entry must be unchanged for a moment.
    pub fn marked_elsewhere(&mut self, name: String) {
        self.marked_elsewhere.insert(name);
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
        let mut order = Vec::new();
        for (name, print) in there {
            let new = !self.entries.contains_key(name);
            let entry = self
                .entries
                .entry(name.clone())
                .or_insert_with(|| Entry::new(*print, now, now));
            if entry.print != *print {
                let before = entry.closed.take();
                let is_again = entry.is_again || entry.reported;
                *entry = Entry::new(*print, entry.begun, now);
                entry.is_again = is_again;
                // Who writes the same name again had finished what stood there.
                if let Some(before) = before
                    && !inside.shape(name).is_grown_from(&before)
                {
                    self.finished.insert(series(name), (name.clone(), before));
                }
            }
            entry.is_again |= self.finished.values().any(|(before, _)| before == name);
            entry.looks += 1;
            order.push((entry.since, Position::of(name), name));
            // What was waited for under another name has been renamed to this one.
            if let Some(waited) = &mut self.draining
                && new
                && gone.iter().any(|name| waited.contains(name))
            {
                waited.insert(name.clone());
            }
        }
        // As they were written: each is compared with what was finished before it.
        order.sort();
        for (since, position, name) in order {
            self.note_what_was_left(name, inside);
            let believed = match self.rule {
                Complete::Marker { .. } => {
                    // Its writers' death may have closed it in the middle.
                    let may_be = matches!(self.writers, Writers::Live | Writers::Finished);
                    self.marked_elsewhere.contains(name) && (may_be || self.is_believed(name))
                }
                _ => self.is_believed(name),
            };
            let Some(entry) = self.entries.get_mut(name) else {
                continue;
            };
            if !entry.reported
                && entry.looks >= 2
                && !looks_temporary(name)
                && !is_marker(&self.rule, name)
                && let Some(proven) =
                    complete(&self.rule, name, entry, now, self.writers, believed, inside)
            {
                entry.reported = true;
                // The next of this name needs a marker of its own.
                self.marked_elsewhere.remove(name);
                if let Some(shape) = &entry.closed {
                    self.finished
                        .insert(series(name), (name.clone(), shape.clone()));
                }
                let name = name.clone();
                found.push(((since, position), Found { name, proven }));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
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
    /// later are not. `ranks_gone`: no process will rename what has a temporary name now. `finished`:
    /// they ended well, so nothing has to stand still before it counts.
    pub fn drain(&mut self, now: Timestamp, ranks_gone: bool, finished: bool) {
        if finished {
            self.writers = Writers::Finished;
        } else if ranks_gone {
            let signalled = self.writers != Writers::Live;
            self.writers = Writers::Gone { at: now, signalled };
        }
        let lost = |name: &str| ranks_gone && looks_temporary(name);
        let in_work = |(name, entry): (&String, &Entry)| {
            (!lost(name) && in_work(&self.rule, name, entry, now, self.writers))
                .then(|| name.clone())
        };
        self.draining = Some(self.entries.iter().filter_map(in_work).collect());
    }

    /// The writers are signalled to end: from now on a file may be closed because its writer was killed.
    /// `inside` looks at entries right before that; without it another process signalled them.
    pub fn ending(&mut self, inside: Option<&mut dyn Inside>) {
        if self.writers != Writers::Live {
            return;
        }
        self.writers = Writers::Ending;
        let Some(inside) = inside else { return };
        for (name, entry) in &mut self.entries {
            if !entry.reported && entry.closed.is_none() && !looks_temporary(name) {
                entry.look_whether_closed(name, inside);
            }
        }
    }

    /// An entry that was finished before this watcher began, such as what was resumed from.
    pub fn was_finished(&mut self, name: &str, shape: Shape) {
        self.finished.insert(series(name), (name.to_owned(), shape));
    }

    /// The writers were asked to save and end, and have done so by an exit of their own, with whatever code: what
    /// is closed they had finished, unless it lacks something that the finished one before it has.
    pub fn left_by_themselves(&mut self) {
        self.left_by_themselves = true;
    }

    fn note_what_was_left(&mut self, name: &str, inside: &mut dyn Inside) {
        let are_gone = matches!(self.writers, Writers::Gone { .. });
        if self.left_by_themselves
            && are_gone
            && !looks_temporary(name)
            && let Some(entry) = self.entries.get_mut(name)
            && !entry.reported
            && entry.closed.is_none()
        {
            entry.look_whether_closed(name, inside);
        }
    }

    /// Whether an entry that no process will change any more was whole by what can be known: its writers
    /// had closed it before they were signalled to end, and had gone on to the next of its series, or it
    /// lacks nothing that the finished one before it has.
    fn is_believed(&self, name: &str) -> bool {
        let (Some(entry), Writers::Gone { at, signalled }) = (self.entries.get(name), self.writers)
        else {
            return false;
        };
        let Some(shape) = entry.closed.as_ref().filter(|_| !entry.reported) else {
            return false;
        };
        // Files of writers that died by themselves were closed by that.
        let by_hand = self.left_by_themselves || signalled || at.since(entry.since) >= RECENT_MS;
        let before = self.finished.get(&series(name));
        let lacks = |(named, before): &(String, Shape)| shape.lacks(before, named).is_some();
        let like = || before.map_or(self.left_by_themselves, |before| !lacks(before));
        self.is_left_for_the_next(name, entry) || (by_hand && like())
    }

    /// Whether a later one of its series was begun when it was not changed any more.
    fn is_left_for_the_next(&self, name: &str, entry: &Entry) -> bool {
        let mine = series(name);
        self.entries.iter().any(|(other, next)| {
            let is_later = || compare_names(other, name).is_none_or(Ordering::is_gt);
            next.begun >= entry.since && other != name && series(other) == mine && is_later()
        })
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
        self.entries.get(name).is_some_and(|entry| !entry.reported)
    }

    /// Entries that never were complete, and have no name of unfinished ones.
    #[must_use]
    pub fn left(&self) -> Vec<Left> {
        let left = |(name, entry): (&String, &Entry)| {
            let is = !entry.reported && !looks_temporary(name) && !is_marker(&self.rule, name);
            is.then(|| Left {
                name: name.clone(),
                why: self.why_left(name, entry),
                may_be_whole: self.may_be_whole(entry),
            })
        };
        self.entries.iter().filter_map(left).collect()
    }

    /// Whether nothing tells that something of it is missing.
    fn may_be_whole(&self, entry: &Entry) -> bool {
        match self.rule {
            // What the program had finished says so.
            Complete::Rename | Complete::Marker { .. } => false,
            Complete::Recognise { .. } | Complete::Settle { .. } => {
                !entry.partial && !entry.was_open
            }
        }
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
            Complete::Recognise { settle } | Complete::Settle { settle } => {
                let writing = || {
                    if entry.was_open {
                        return "the program was still writing it when it ended".to_owned();
                    }
                    "the program was ended, or failed, within moments of writing it, and nothing tells \
                     that it is whole"
                        .to_owned()
                };
                let (Some(shape), Writers::Gone { at, .. }) = (&entry.closed, self.writers) else {
                    return writing();
                };
                let Some((named, before)) = self.finished.get(&series(name)) else {
                    return format!(
                        "it was unchanged for {} of the {} s after which it counts as complete, and there is \
                         no earlier one to compare it with",
                        at.since(entry.since) / 1000,
                        settle.0
                    );
                };
                let inside = shape.checkpoint_inside();
                if let Some(inside) = inside.filter(|_| Position::of(name).is_none()) {
                    return format!(
                        "it holds checkpoints of its own, such as {inside}, and was not unchanged for {} s; have \
                         the program write them directly into {{checkpoints}}, where each is saved by itself",
                        settle.0
                    );
                }
                shape.lacks(before, named).unwrap_or_else(writing)
            }
            Complete::Rename => "the program was still writing it when it ended".to_owned(),
        }
    }

    /// Forgets that the entry was reported, so that it is looked at again: its copy failed because it
    /// changed meanwhile.
    pub fn look_again(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.is_again |= entry.reported;
            entry.reported = false;
            entry.looks = 0;
        }
    }
}

#[cfg(test)]
mod tests;
