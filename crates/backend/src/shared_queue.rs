//! One question for all processes of a user that follow jobs of one cluster: whoever finds the last
//! answer too old asks for all of the user's jobs, and the others read what it got.
//!
//! ```text
//! snapshot   the last answer, and since when questions fail
//! lock       held by the process that asks
//! ```
//!
//! Both stand in a folder of the user alone. Where that can't be had, each process asks for itself.

use crate::job_view::JobView;
use crate::transport::TransportError;
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::lock::FileLock;

/// How far apart questions are where nothing else is set.
pub const INTERVAL: Duration = Duration::from_secs(10);
/// The longest wait for the next question, where the interval is not longer.
const LONGEST: Duration = Duration::from_secs(60);
/// How often it is looked whether another process has its answer.
const PAUSE: Duration = Duration::from_millis(20);

/// What a cluster said of the user's jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was asked.
    pub at: Timestamp,
    /// The jobs.
    pub jobs: Vec<JobView>,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Shared {
    /// The last answer.
    snapshot: Option<Snapshot>,
    /// The questions since then that failed.
    failing: Option<Failing>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Failing {
    since: Timestamp,
    last: Timestamp,
    /// How the last one failed.
    why: String,
}

/// Where the processes of a user share what one cluster says.
#[derive(Clone, Debug)]
pub struct SharedQueue {
    folder: PathBuf,
    interval: Duration,
}

impl SharedQueue {
    /// In that folder, which need not be there yet, with questions at least so far apart.
    #[must_use]
    pub fn new(folder: &Path, interval: Duration) -> SharedQueue {
        SharedQueue {
            folder: folder.to_owned(),
            interval,
        }
    }

    /// How long to leave between two questions: longer, the longer nothing changed or all failed.
    #[must_use]
    pub fn pause(&self, unchanged_for: Duration) -> Duration {
        (unchanged_for / 4).clamp(self.interval, LONGEST.max(self.interval))
    }

    /// An answer that is at most `oldest` old: the last one, or a new one by `ask`.
    ///
    /// # Errors
    /// The question failed; or the last one of this or another process did, in whose words it is
    /// said, and the next one is not due yet.
    pub fn snapshot(
        &self,
        oldest: Duration,
        stop: &AtomicBool,
        ask: impl FnOnce() -> Result<Vec<JobView>, TransportError>,
    ) -> Result<Snapshot, String> {
        loop {
            if let Ok(Some(known)) = self.known(oldest) {
                return known;
            }
            match self.lock() {
                Ok(Some(_lock)) => {
                    // Another process may have asked since then.
                    let known = self.known(oldest).ok().flatten();
                    return known.unwrap_or_else(|| self.ask(ask));
                }
                Ok(None) if !stop.load(Ordering::Relaxed) => std::thread::sleep(PAUSE),
                Ok(None) => return Err("no answer yet".to_owned()),
                Err(_) => {
                    let at = Timestamp(sys::now());
                    let jobs = ask().map_err(|error| error.to_string())?;
                    return Ok(Snapshot { at, jobs });
                }
            }
        }
    }

    /// What needs no question; `None`: it is time for one.
    fn known(&self, oldest: Duration) -> io::Result<Option<Result<Snapshot, String>>> {
        let shared = self.read()?;
        let now = Timestamp(sys::now());
        if let Some(failing) = shared.failing {
            let pause = self.pause(length(failing.since, now));
            let waits = is_younger(failing.last, pause, now);
            return Ok(waits.then_some(Err(failing.why)));
        }
        let snapshot = shared.snapshot;
        let snapshot = snapshot.filter(|snapshot| is_younger(snapshot.at, oldest, now));
        Ok(snapshot.map(Ok))
    }

    fn ask(
        &self,
        ask: impl FnOnce() -> Result<Vec<JobView>, TransportError>,
    ) -> Result<Snapshot, String> {
        let at = Timestamp(sys::now());
        let before = self.read().unwrap_or_default();
        let answer = ask().map(|jobs| Snapshot { at, jobs });
        let answer = answer.map_err(|error| error.to_string());
        let shared = match &answer {
            Ok(snapshot) => Shared {
                snapshot: Some(snapshot.clone()),
                failing: None,
            },
            Err(why) => Shared {
                snapshot: before.snapshot,
                failing: Some(Failing {
                    since: before.failing.map_or(at, |failing| failing.since),
                    last: Timestamp(sys::now()),
                    why: why.clone(),
                }),
            },
        };
        // Who can't write it answers no one else; the next process asks for itself.
        let _ = serde_json::to_vec(&shared)
            .map_err(io::Error::from)
            .and_then(|bytes| sys::atomic::write_private(&self.file(), &bytes));
        answer
    }

    fn lock(&self) -> io::Result<Option<FileLock>> {
        sys::private_folder::make(&self.folder).map_err(io::Error::other)?;
        FileLock::try_acquire(&self.folder.join("lock"))
    }

    /// A file of another version is as good as none: it is made again with the next answer.
    fn read(&self) -> io::Result<Shared> {
        let bytes = sys::own_file::read(&self.file())?;
        let shared = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(shared.unwrap_or_default())
    }

    fn file(&self) -> PathBuf {
        self.folder.join("snapshot")
    }
}

/// A moment that is still to come is one of a clock that was set: nothing is known of its age.
fn is_younger(at: Timestamp, than: Duration, now: Timestamp) -> bool {
    at <= now && length(at, now) < than
}

fn length(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.since(from)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct World {
        root: tempfile::TempDir,
        asked: Cell<u32>,
    }

    impl World {
        fn new() -> World {
            World {
                root: tempfile::tempdir().unwrap(),
                asked: Cell::new(0),
            }
        }

        /// As one process of several; whether it got an answer.
        fn ask(&self, oldest: Duration, answers: bool) -> bool {
            let queue = SharedQueue::new(&self.root.path().join("rig"), Duration::from_secs(60));
            let ask = || {
                self.asked.set(self.asked.get() + 1);
                if answers {
                    Ok(Vec::new())
                } else {
                    Err(TransportError::Job {
                        message: "down".to_owned(),
                    })
                }
            };
            let stop = AtomicBool::new(false);
            queue.snapshot(oldest, &stop, ask).is_ok()
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_young_answer_is_no_question() {
        let world = World::new();
        assert!(world.ask(MINUTE, true) && world.ask(MINUTE, true));
        assert_eq!(world.asked.get(), 1);
        assert!(world.ask(Duration::ZERO, true));
        assert_eq!(world.asked.get(), 2);
    }

    #[test]
    fn a_question_that_failed_is_not_asked_again_by_all() {
        let world = World::new();
        assert!(!world.ask(MINUTE, false) && !world.ask(MINUTE, true));
        assert_eq!(world.asked.get(), 1);
    }

    #[test]
    fn what_others_can_write_is_not_believed() {
        let world = World::new();
        assert!(world.ask(MINUTE, true));
        let file = world.root.path().join("rig/snapshot");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(&file, open).unwrap();
        assert!(world.ask(MINUTE, true));
        assert_eq!(world.asked.get(), 2);
        assert!(world.ask(MINUTE, true));
        assert_eq!(world.asked.get(), 2);
    }

    #[test]
    fn a_garbled_file_is_made_again() {
        let world = World::new();
        assert!(world.ask(MINUTE, true));
        let file = world.root.path().join("rig/snapshot");
        std::fs::write(&file, "{").unwrap();
        assert!(world.ask(MINUTE, true) && world.ask(MINUTE, true));
        assert_eq!(world.asked.get(), 2);
    }
}
