//! The actor that copies: what takes long and must not keep the keeper from hearing orders, one thing
//! after the other.

use super::collect::{CollectError, Collected, collect};
use super::copy_out::{BrokenOff, CopyOutError, copy_out};
use super::keeper::KeeperMessage;
use super::outbox::{Message, Outbox};
use super::restore::{RestoreError, point_to, restore};
use crate::local_folder::LocalFolder;
use crate::protocol::{Copying, Progress};
use folder::{IncomingPart, RunFolder};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sys::disk_errors::{may_pass, patiently};

/// How often it is said how far a copy is.
const METERED: Duration = Duration::from_secs(1);

/// Something to do.
#[derive(Debug)]
pub enum Work {
    /// Copy a held entry into the run folder.
    CopyOut {
        /// The entry's name.
        name: String,
        /// Where it is held.
        from: PathBuf,
        /// The part's folder below the incoming place.
        incoming: String,
    },
    /// Bring a checkpoint to `{resume}`.
    Restore {
        /// What it consists of: each name, and where this node keeps it, where it is not taken from the run folder.
        /// The first is what it is known by.
        members: Vec<(String, Option<PathBuf>)>,
    },
    /// Copy files of the data folder into the run folder.
    Collect {
        /// The node-local folder.
        local: LocalFolder,
        /// Of which files.
        patterns: Vec<String>,
        /// Where they go.
        to: PathBuf,
    },
}

/// What came of it.
#[derive(Debug)]
pub enum Worked {
    /// Of [`Work::CopyOut`].
    CopiedOut {
        /// The entry's name.
        name: String,
        /// The part's folder below the incoming place.
        incoming: String,
        /// Bytes and milliseconds.
        result: Result<(u64, u64), CopyOutError>,
    },
    /// Of [`Work::Restore`].
    Restored {
        /// The checkpoint's name.
        name: String,
        /// Whether it is there.
        result: Result<(), RestoreError>,
    },
    /// Of [`Work::Collect`].
    Collected {
        /// The node-local folder.
        local: LocalFolder,
        /// What was copied.
        result: Result<Collected, CollectError>,
    },
}

/// Which copy is to be broken off: its entry's name.
#[derive(Clone, Debug, Default)]
pub struct BreakOff(Arc<Mutex<Option<String>>>);

impl BreakOff {
    /// Asks for it, or takes it back.
    pub fn set(&self, name: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = name;
    }

    fn check(&self, name: &str) -> Result<(), BrokenOff> {
        let asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match asked.as_deref() {
            Some(asked) if asked == name => Err(BrokenOff),
            _ => Ok(()),
        }
    }
}

/// What the keeper has of the copier.
#[derive(Debug)]
pub struct Copier {
    /// What it is to do, one after the other.
    pub work: Sender<Work>,
    /// What it is to break off.
    pub break_off: BreakOff,
}

/// Where a worker works, and for how long it waits there.
#[derive(Debug)]
pub struct Workplace {
    /// The run folder.
    pub run: RunFolder,
    /// The folder `{resume}` of this node.
    pub resume: PathBuf,
    /// How long a disk of the node that takes nothing is waited for before the ranks start.
    pub patience: Duration,
    /// Whether SIGTERM came: then nothing is waited for.
    pub terminated: Arc<AtomicBool>,
    /// What is to be broken off.
    pub break_off: BreakOff,
}

impl Workplace {
    /// Tries again while the node's disk takes nothing, and says so once through `note`.
    fn wait_for_disk(
        &self,
        note: impl Fn(String),
        mut attempt: impl FnMut() -> Result<(), RestoreError>,
    ) -> Result<(), RestoreError> {
        let mut waits = false;
        let stop = || self.terminated.load(Ordering::Relaxed);
        patiently(self.patience, stop, || {
            let result = attempt();
            if let Err(error) = &result
                && may_pass(error)
                && !std::mem::replace(&mut waits, true)
            {
                note(format!("waiting for the node's disk: {error}"));
            }
            result
        })
    }
}

/// Works until no work can come any more.
pub(super) fn run(
    at: &Workplace,
    inbox: &Receiver<Work>,
    keeper: &Sender<KeeperMessage>,
    outbox: &Outbox,
) {
    for work in inbox {
        let worked = perform(work, at, outbox);
        outbox.send(Message::Copying(None));
        if keeper.send(KeeperMessage::Worked(worked)).is_err() {
            return;
        }
    }
}

fn perform(work: Work, at: &Workplace, outbox: &Outbox) -> Worked {
    let (run, resume) = (&at.run, at.resume.as_path());
    match work {
        Work::CopyOut {
            name,
            from,
            incoming,
        } => {
            let begun = Instant::now();
            let mut meter = meter(Copying::Save, &name, outbox);
            let part = IncomingPart::new(run, &incoming);
            let result = copy_out(&from, &part, &mut |bytes, of| {
                meter(bytes, of);
                at.break_off.check(&name)
            });
            let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            Worked::CopiedOut {
                incoming,
                result: result.map(|bytes| (bytes, took)),
                name,
            }
        }
        Work::Restore { members } => {
            let name = members.first().map(|(name, _)| name.clone());
            let name = name.unwrap_or_default();
            let mut meter = meter(Copying::Restore, &name, outbox);
            let result = at.wait_for_disk(
                |text| outbox.note(text),
                || {
                    restore(run, &members, resume, &mut meter)?;
                    let pointers = run.pointers().unwrap_or_else(|error| {
                        outbox.note(format!("what leads to {name} is not beside it: {error}"));
                        Vec::new()
                    });
                    for (name, _) in &members {
                        for missing in point_to(&pointers, name, resume)? {
                            outbox.note(missing);
                        }
                    }
                    Ok(())
                },
            );
            Worked::Restored { name, result }
        }
        Work::Collect {
            local,
            patterns,
            to,
        } => {
            let result = collect(&local.data(), &patterns, &to);
            Worked::Collected { local, result }
        }
    }
}

/// Says how far a copy is, once in a while.
fn meter<'a>(kind: Copying, name: &str, outbox: &'a Outbox) -> impl FnMut(u64, u64) + use<'a> {
    let name = name.to_owned();
    let mut last = Instant::now();
    move |bytes, of| {
        if last.elapsed() >= METERED {
            last = Instant::now();
            outbox.send(Message::Copying(Some(Progress {
                kind,
                name: name.clone(),
                bytes,
                of,
            })));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::io;

    fn full() -> RestoreError {
        RestoreError::Disk {
            name: "ckpt-200".to_owned(),
            asked: 4096,
            there: 0,
            folder: PathBuf::from("/node/resume"),
            source: io::Error::from_raw_os_error(28),
        }
    }

    /// So many tries find a full disk; wanted: tries, notes, whether it came.
    #[track_caller]
    fn check(patience: Duration, terminated: bool, full_tries: u32, want: (u32, usize, bool)) {
        let root = tempfile::tempdir().unwrap();
        let at = Workplace {
            run: RunFolder::at(root.path()),
            resume: root.path().join("resume"),
            patience,
            terminated: Arc::new(AtomicBool::new(terminated)),
            break_off: BreakOff::default(),
        };
        let (tries, notes) = (Cell::new(0), RefCell::new(Vec::new()));
        let result = at.wait_for_disk(
            |text| notes.borrow_mut().push(text),
            || {
                tries.set(tries.get() + 1);
                if tries.get() <= full_tries {
                    Err(full())
                } else {
                    Ok(())
                }
            },
        );
        let notes = notes.into_inner();
        assert_eq!(
            (tries.get(), notes.len(), result.is_ok()),
            want,
            "{notes:?}"
        );
    }

    #[test]
    fn a_node_whose_disk_is_full_for_a_while_gets_its_checkpoint() {
        let long = Duration::from_secs(600);
        check(long, false, 0, (1, 0, true));
        check(long, false, 2, (3, 1, true));
        check(Duration::ZERO, false, 2, (1, 1, false));
        check(long, true, 2, (1, 1, false));
    }
}
