//! What the agent does with entries: finds, holds, copies and keeps them until they are saved.

use super::copy_out::CopyOutError;
use super::keeper::{Draining, Keeper};
use super::kept::{self, Kept, Record};
use super::rescue::{is_out, last_held, remove_but_doubtful};
use super::scan::{FolderInside, scan};
use super::tree::{Tree, tree};
use super::watcher::{Fingerprint, Found, looks_temporary};
use super::work::{Work, Worked};
use super::{AgentError, hold, restore, unseen};
use crate::local_folder::LocalFolder;
use crate::protocol::Report;
use folder::{Attempt, IncomingPart, is_of_data};
use model::Timestamp;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use train::Complete;

/// A complete entry that this agent keeps.
pub(super) struct Held {
    path: PathBuf,
    /// Whether `path` is ours to remove.
    linked: bool,
    /// Whether its completeness was seen, and all of it can be kept.
    proven: bool,
    /// Which start wrote it.
    start: Option<Attempt>,
}

impl Held {
    /// What another agent had held, and stands at `path` now.
    fn taken_over(path: PathBuf, record: &Record) -> Held {
        Held {
            path,
            linked: true,
            proven: record.proven,
            start: record.start,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn proven(&self) -> bool {
        self.proven
    }

    pub(super) fn start(&self) -> Option<Attempt> {
        self.start
    }

    pub(super) fn is_linked(&self) -> bool {
        self.linked
    }

    fn release(&self) {
        if self.linked {
            // First: a record without its bytes would be of no use.
            kept::remove_record(&self.path);
            hold::release(&self.path);
        }
    }
}

impl Keeper {
    /// Takes over what earlier starts of this run left on this disk, the newest version of each
    /// name, and removes their folders once nothing is left in them.
    pub(super) fn adopt(&mut self) {
        // What a lost agent of this start held is newer, and stands where it was.
        self.count = self.count.max(last_held(&self.local));
        let own = kept::held_in(&self.local);
        for earlier in self.local.earlier() {
            let Some(_lock) = earlier.take() else {
                continue;
            };
            let mut all = self.collect_earlier(&earlier);
            for kept in self.kept_in(&earlier) {
                let name = &kept.record.name;
                if !self.held.contains_key(name) && !own.contains_key(name) {
                    all &= self.adopt_one(kept).is_ok();
                }
            }
            if all {
                remove_but_doubtful(&self.at.run, &earlier);
            }
        }
        self.local.remove_earlier_locks();
    }

    /// Removes what earlier starts left that may have been complete, where what was saved since is newer.
    pub(super) fn remove_earlier(&self) {
        for earlier in self.local.earlier() {
            if let Some(_lock) = earlier.take()
                && !earlier.has_uncollected()
                && self.kept_in(&earlier).is_empty()
            {
                remove_but_doubtful(&self.at.run, &earlier);
            }
        }
    }

    /// What an earlier start left here that is complete. Its agent may have been killed before it
    /// looked: what is complete by the run's rule counts, and where all ranks ended well, whatever
    /// stands there is what they wanted.
    pub(super) fn kept_in(&self, earlier: &LocalFolder) -> Vec<Kept> {
        let rule = &self.at.plan.checkpoints.complete.value;
        let mut kept = kept::in_folder(earlier);
        let done = kept::of_done(&self.at.run, earlier, rule);
        kept::add_standing(&mut kept, done, true);
        // A mark, or a folder's format, may be that of the version before the one that was just being written.
        let is_newer = matches!(rule, Complete::Rename);
        kept::add_standing(&mut kept, unseen::complete(earlier), is_newer);
        kept
    }

    fn adopt_one(&mut self, Kept { path, record }: Kept) -> io::Result<()> {
        self.count += 1;
        let here = self.local.held().join(self.count.to_string());
        // Its record first: a start that is killed in between must not lose sight of it.
        record.write(&here)?;
        if let Err(error) = fs::rename(&path, &here) {
            kept::remove_record(&here);
            return Err(error);
        }
        kept::remove_record(&path);
        let held = Held::taken_over(here, &record);
        self.held.insert(record.name, held);
        Ok(())
    }

    /// Keeps what a lost agent of this start had held, where it stands.
    pub(super) fn take_over(&mut self, Kept { path, record }: Kept) {
        let Ok(tree) = tree(&path) else {
            return;
        };
        let held = Held::taken_over(path, &record);
        self.held.insert(record.name.clone(), held);
        self.say_complete(record.name, &tree);
    }

    /// Looks at `{checkpoints}` once.
    pub(super) fn look(&mut self) -> Result<(), AgentError> {
        if !self.watching {
            self.drained();
            return Ok(());
        }
        if !self.noted_unseen {
            self.note_unseen();
        }
        let folder = self.local.checkpoints();
        let there = scan(&folder).map_err(|source| AgentError::System {
            what: "looking at {checkpoints}",
            source,
        })?;
        for pointer in there.pointers {
            if self.pointers.insert(pointer.clone()) {
                for pointer in pointer.by_series() {
                    self.outbox.say(Report::Pointer { pointer });
                }
            }
        }
        for name in there.unspeakable {
            if self.said.insert(name.clone()) {
                let why = "its name is not plain UTF-8 text".to_owned();
                self.outbox.say(Report::Left { name, why });
            }
        }
        for (name, error) in there.unreadable {
            if self.said.insert(name.clone()) {
                let why = format!("it can't be read: {error}");
                self.outbox.say(Report::Left { name, why });
            }
        }
        let is_written = |(name, print): &(String, Fingerprint)| {
            !is_of_data(name) && !looks_temporary(name) && print.bytes > 0
        };
        if !self.writes && there.entries.iter().any(is_written) {
            self.writes = true;
            self.outbox.say(Report::Writes);
        }
        if self.terminated.load(Ordering::Relaxed) {
            // The ranks have it too.
            self.watcher.ending(None);
        }
        let now = Timestamp(sys::now());
        let mut inside = FolderInside::new(&folder);
        let found = self.watcher.look(&there.entries, now, &mut inside);
        for one in found {
            self.found(one);
        }
        self.drained();
        Ok(())
    }

    /// The ranks are about to be signalled to end: what they had closed until now they closed themselves.
    pub(super) fn ending(&mut self) -> Result<(), AgentError> {
        self.look()?;
        let folder = self.local.checkpoints();
        self.watcher.ending(Some(&mut FolderInside::new(&folder)));
        Ok(())
    }

    fn found(&mut self, Found { name, proven }: Found) {
        self.count += 1;
        let entry = self.local.checkpoints().join(&name);
        let path = self.local.held().join(self.count.to_string());
        let (tree, path, linked) = match hold::hold(&entry, &path) {
            Ok(tree) => (Ok(tree), path, true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Err(error), path, true),
            // A disk without hard links: copied from where it stands.
            Err(_) => (tree(&entry), entry, false),
        };
        let Ok(tree) = tree else {
            // Gone or replaced between the look and now.
            self.watcher.look_again(&name);
            return;
        };
        if self.rescuing && is_out(&self.at.run, &name, &path, &tree) {
            kept::note_out(&self.local, &name, &path);
            if linked {
                hold::release(&path);
            }
            return;
        }
        self.say_what_is_odd(&name, &tree);
        let held = Held {
            path,
            linked,
            proven: proven && tree.left_out.is_empty(),
            start: Some(self.at.attempt),
        };
        if linked {
            // Without a record it is kept for this start only: a full disk must not end the job.
            let _ = Record::of(&name, held.proven, held.start, &held.path)
                .and_then(|record| record.write(&held.path));
        }
        if let Some(older) = self.held.insert(name.clone(), held) {
            older.release();
        }
        if self.owed.remove(&name) {
            return self.copy(name);
        }
        self.say_complete(name, &tree);
    }

    fn say_complete(&self, name: String, tree: &Tree) {
        let bytes = tree.files.iter().map(|(_, facts)| facts.len()).sum();
        self.outbox.say(Report::Complete {
            name,
            bytes,
            written: tree.written(),
        });
    }

    /// What was written again while it was copied may have been taken for what was just given.
    fn say_newer(&self, name: String) {
        if let Some(held) = self.held.get(&name)
            && let Ok(tree) = tree(&held.path)
        {
            self.say_complete(name, &tree);
        }
    }

    /// Copies an entry, or promises to, or reports that it is missing.
    pub(super) fn copy(&mut self, name: String) {
        let newest = self.held.remove(&name);
        if let Some(held) = newest.or_else(|| self.given.remove(&name)) {
            self.count += 1;
            let incoming = self.incoming();
            let from = held.path.clone();
            self.copying.insert(name.clone(), held);
            self.give(Work::CopyOut {
                name,
                from,
                incoming,
            });
        } else if self.watcher.is_unfinished(&name) && self.all_seen {
            // No process will finish it.
            self.not_finished(name);
        } else if self.watcher.is_unfinished(&name) {
            self.owed.insert(name);
        } else {
            self.outbox.say(Report::NoPart { name });
        }
    }

    /// A name that no other agent of this start has used: a lost one leaves its parts behind.
    pub(super) fn incoming(&self) -> String {
        let (attempt, id) = (self.at.attempt, self.at.id);
        format!("{attempt}.{id}.{}.{}", sys::unique(), self.count)
    }

    /// What was given of it needs no keeping.
    pub(super) fn is_out(&mut self, name: &str) {
        if let Some(given) = self.given.remove(name) {
            kept::note_out(&self.local, name, &given.path);
            given.release();
        }
    }

    /// It is no longer wanted.
    pub(super) fn forget(&mut self, name: &str) {
        self.is_out(name);
        if let Some(held) = self.held.remove(name) {
            held.release();
        }
    }

    pub(super) fn worked(&mut self, worked: Worked) {
        match worked {
            Worked::CopiedOut {
                name,
                incoming,
                result,
            } => self.copied(name, incoming, result),
            Worked::Collected { local, result } => {
                self.collected(&local, result);
                self.drained();
            }
            Worked::Restored { name, result } => match result {
                Ok(()) => self.outbox.say(Report::Restored { name }),
                Err(restore::RestoreError::Unusable {
                    name,
                    what,
                    is_damaged,
                }) => self.outbox.say(Report::NotRestored {
                    name,
                    why: what,
                    is_damaged,
                }),
                Err(error @ restore::RestoreError::Disk { .. }) => {
                    self.outbox.say(Report::Broken {
                        why: error.to_string(),
                        disk: sys::disk_errors::may_pass(&error),
                    })
                }
            },
        }
    }

    fn copied(&mut self, name: String, incoming: String, result: Result<(u64, u64), CopyOutError>) {
        self.to_copier.break_off.set(None);
        let held = self.copying.remove(&name);
        let proven = held.as_ref().is_some_and(|held| held.proven);
        let start = held.as_ref().and_then(|held| held.start);
        let written = held
            .as_ref()
            .and_then(|held| tree(&held.path).ok()?.written());
        match result {
            Ok((bytes, took_ms)) => {
                // Until it is out: another node's part may fail, and all are asked again.
                let older = held.and_then(|held| self.given.insert(name.clone(), held));
                if let Some(older) = older {
                    older.release();
                }
                self.outbox.say(Report::Part {
                    name: name.clone(),
                    incoming,
                    bytes,
                    took_ms,
                    proven,
                    start,
                    written,
                });
                self.say_newer(name);
            }
            Err(error) => {
                IncomingPart::new(&self.at.run, &incoming).remove();
                let again = held.is_some_and(|held| self.keep_for_later(&name, held, &error));
                let why = error.to_string();
                let disk = again && error.may_pass();
                self.outbox.say(Report::NotCopied {
                    name,
                    why,
                    again,
                    disk,
                })
            }
        }
    }

    /// Whether another try may save it.
    fn keep_for_later(&mut self, name: &str, held: Held, error: &CopyOutError) -> bool {
        let is_gone = !held.linked && !held.path.exists();
        if matches!(error, CopyOutError::Changed) {
            // It is told again when it stands still.
            self.watcher.look_again(name);
        } else if !is_gone && !self.held.contains_key(name) {
            self.held.insert(name.to_owned(), held);
            return true;
        }
        held.release();
        // A newer one that is held is told already.
        false
    }

    /// Answers a drain once nothing is left to wait for.
    fn drained(&mut self) {
        let Some(Draining {
            round,
            until,
            ranks_gone,
        }) = self.draining
        else {
            return;
        };
        if self.watcher.waits() && Timestamp(sys::now()) < until {
            return;
        }
        // After the checkpoints, which count more.
        if ranks_gone && self.must_collect() {
            return;
        }
        self.draining = None;
        for name in std::mem::take(&mut self.owed) {
            self.not_finished(name);
        }
        if ranks_gone {
            self.all_seen = true;
            for left in self.watcher.left() {
                self.outbox.say(Report::Unfinished {
                    name: left.name,
                    why: left.why,
                    may_be_whole: left.may_be_whole,
                });
            }
        }
        self.outbox.say(Report::Drained { round });
    }

    /// Asked for a part that is not complete, and may never be.
    fn not_finished(&self, name: String) {
        let left = self
            .watcher
            .left()
            .into_iter()
            .find(|left| left.name == name);
        let cause = left.map_or_else(String::new, |left| format!(": {}", left.why));
        let why = format!("{} had not finished writing its part{cause}", self.at.node);
        self.outbox.say(Report::NotCopied {
            name,
            why,
            again: false,
            disk: false,
        });
    }

    /// What can't be kept of an entry, and what is kept otherwise than it stands.
    fn say_what_is_odd(&self, name: &str, tree: &Tree) {
        if !tree.left_out.is_empty() {
            self.outbox.note(format!(
                "what can't be kept of checkpoint {name}: {}",
                tree.left_out.join(", ")
            ));
        }
        if !tree.said.is_empty() {
            let said = tree.said.join(", ");
            self.outbox.note(format!("of checkpoint {name} {said}"));
        }
    }
}
