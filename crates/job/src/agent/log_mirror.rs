//! Event files that the ranks write to the node's own disk reach the run folder within seconds.
//!
//! A file only grows, and one process writes it: what is new of it is written to the same place of
//! the copy. So an agent that takes the place of another one writes the same bytes there, and none
//! twice.

use super::actor::{self, ActorName};
use super::outbox::Outbox;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use watch::tensorboard::is_event_file;

/// Between two looks at the files.
const EVERY: Duration = Duration::from_secs(2);
/// How long the last copy may take.
const LAST: Duration = Duration::from_secs(8);
/// How much is read at once.
const CHUNK: usize = 1 << 20;
/// Folders below the first that are looked at.
const DEEPEST: u32 = 8;

/// The actor that copies; it ends with its agent.
#[derive(Debug)]
pub struct LogMirror {
    ask: Sender<Sender<io::Result<()>>>,
}

impl LogMirror {
    /// Copies the event files below `from` to the same places below `to` from now on.
    pub(super) fn start(from: PathBuf, to: PathBuf, outbox: Outbox) -> LogMirror {
        let (ask, asked) = channel();
        actor::start(ActorName::Logs, outbox, asked, move |asked, outbox| {
            follow(&from, &to, asked, outbox);
        });
        LogMirror { ask }
    }

    /// Copies what is there now.
    ///
    /// # Errors
    /// Not all could be copied.
    pub fn copy_now(&self) -> io::Result<()> {
        let (tell, told) = channel();
        let slow = || io::Error::from(io::ErrorKind::TimedOut);
        self.ask.send(tell).map_err(|_| slow())?;
        told.recv_timeout(LAST).map_err(|_| slow())?
    }
}

fn follow(from: &Path, to: &Path, asked: &Receiver<Sender<io::Result<()>>>, outbox: &Outbox) {
    let mut copied = Copied::default();
    let mut fails = false;
    loop {
        let ask = match asked.recv_timeout(EVERY) {
            Ok(ask) => Some(ask),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let result = copied.copy_below(from, to, 0);
        if let Err(error) = &result
            && !fails
        {
            outbox.note(format!(
                "event files can't be copied to {}: {error}",
                to.display()
            ));
        }
        fails = result.is_err();
        if let Some(ask) = ask {
            let _ = ask.send(result);
        }
    }
}

/// How much of each file was copied.
#[derive(Debug, Default)]
struct Copied(BTreeMap<PathBuf, u64>);

impl Copied {
    /// Copies all that is new; the first thing that can't be copied does not keep the rest back.
    fn copy_below(&mut self, from: &Path, to: &Path, depth: u32) -> io::Result<()> {
        let mut result = Ok(());
        for entry in fs::read_dir(from)?.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            let own = if kind.is_dir() && depth < DEEPEST {
                self.copy_below(&entry.path(), &to.join(&name), depth + 1)
            } else if kind.is_file() && is_event_file(&name.to_string_lossy()) {
                self.copy(&entry.path(), to, &to.join(&name))
            } else {
                Ok(())
            };
            result = result.and(own);
        }
        result
    }

    fn copy(&mut self, from: &Path, folder: &Path, to: &Path) -> io::Result<()> {
        let length = fs::metadata(from)?.len();
        let known = self.0.get(from).copied();
        // A program that begins its file anew.
        let mut done = known.filter(|done| *done <= length).unwrap_or(0);
        if known == Some(length) {
            return Ok(());
        }
        fs::create_dir_all(folder)?;
        let target = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(to)?;
        if known.is_some_and(|known| known > length) {
            target.set_len(0)?;
        }
        let mut source = sys::named_file::open_regular(File::options().read(true), from)?;
        source.seek(SeekFrom::Start(done))?;
        let mut bytes = vec![0; CHUNK];
        loop {
            let count = source.read(&mut bytes)?;
            if count == 0 {
                break;
            }
            target.write_all_at(&bytes[..count], done)?;
            done += count as u64;
            self.0.insert(from.to_owned(), done);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_new_of_event_files_is_copied_once_whoever_copies() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("node"), root.path().join("run"));
        fs::create_dir_all(from.join("train")).unwrap();
        let name = "train/events.out.tfevents.1700000000.n1.7.0";
        let copy = |copied: &mut Copied| {
            copied.copy_below(&from, &to, 0).unwrap();
            fs::read_to_string(to.join(name)).unwrap()
        };
        let mut first = Copied::default();
        fs::write(from.join(name), "one ").unwrap();
        fs::write(from.join("train/model.pt"), "no event file").unwrap();
        assert_eq!(copy(&mut first), "one ");
        let mut log = File::options().append(true).open(from.join(name)).unwrap();
        log.write_all(b"two ").unwrap();
        assert_eq!(copy(&mut first), "one two ");
        log.write_all(b"three").unwrap();
        // Another agent in the place of the first, and the first that still lives.
        assert_eq!(copy(&mut Copied::default()), "one two three");
        assert_eq!(copy(&mut first), "one two three");
        fs::write(from.join(name), "anew").unwrap();
        assert_eq!(copy(&mut first), "anew");
        assert!(!to.join("train/model.pt").exists());
    }

    #[test]
    fn what_can_not_be_copied_is_said_once_and_comes_later() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("node"), root.path().join("run"));
        fs::create_dir_all(&from).unwrap();
        fs::write(from.join("a.tfevents.1"), "x").unwrap();
        // A file where the folder is to be.
        fs::write(&to, "").unwrap();
        let (outbox, told) = Outbox::new();
        let mirror = LogMirror::start(from, to.clone(), outbox);
        mirror.copy_now().unwrap_err();
        mirror.copy_now().unwrap_err();
        fs::remove_file(&to).unwrap();
        mirror.copy_now().unwrap();
        assert_eq!(fs::read_to_string(to.join("a.tfevents.1")).unwrap(), "x");
        assert_eq!(told.try_iter().count(), 1);
    }
}
