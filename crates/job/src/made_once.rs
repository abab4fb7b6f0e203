//! What is made once for each content and kept in a cache that several machines may share.
//!
//! `<folder>/<key>/` is whole where it holds [`MARKER`], which is written last. `<key>.lock` is held
//! while it is made, by its makers too, and `<key>.log` has what its makers printed. What no marker says to be whole is
//! never used: the next that needs it makes it anew.

use signal_hook::consts::{SIGKILL, SIGTERM};
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use sys::lock::FileLock;
use sys::process::{PidFd, descendants};

/// Says that what lies beside it is whole; its content is for people.
pub const MARKER: &str = folder::MADE_MARKER;

/// What is set for the caller's own Python would lead a new one astray.
const MISLEADING: [&str; 6] = [
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
];

/// One entry of a cache.
#[derive(Debug)]
pub struct Entry {
    folder: PathBuf,
    key: String,
}

/// An entry that is being made: no other process makes it meanwhile.
#[derive(Debug)]
pub struct Making {
    /// Where it is made; whatever stood there is gone.
    pub place: PathBuf,
    /// What its makers print.
    pub log: PathBuf,
    is_done: bool,
    lock: FileLock,
}

/// What was not made whole is no use to anyone; its log stays, for people.
impl Drop for Making {
    fn drop(&mut self) {
        if !self.is_done {
            // What can't be removed is removed by the next that makes it.
            let _left = remove(&self.place);
        }
        // What makers leave behind in the background holds no one up, now that they have ended themselves.
        let _ = self.lock.release();
    }
}

/// What could not be done with which file or folder of a cache.
#[derive(Debug, thiserror::Error)]
#[error("{} can't be used", path.display())]
pub struct CacheError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// Who waits while something is made.
pub trait Waiter {
    /// Hears a line that a maker printed.
    fn say(&mut self, line: &str);

    /// Whether they have left: then makers are ended, and nothing is made.
    fn has_left(&self) -> bool {
        false
    }
}

/// One who never leaves.
impl<F: FnMut(&str)> Waiter for F {
    fn say(&mut self, line: &str) {
        self(line);
    }
}

/// How often it is looked whether who waits has left.
const LOOK: Duration = Duration::from_millis(50);
/// For how long what a maker printed is still read once it has ended, where something that it left behind prints too.
const TO_DRAIN: Duration = Duration::from_secs(1);
/// How long a maker that is ended may take for it.
const TO_END: Duration = Duration::from_secs(3);

/// How a maker ended that did not end well.
#[derive(Debug)]
pub enum Failed {
    /// It could not be started.
    CannotRun(io::Error),
    /// It failed; all that it printed.
    Ended(String),
}

impl Entry {
    /// One of a cache's folder.
    pub fn new(folder: PathBuf, key: String) -> Entry {
        Entry { folder, key }
    }

    /// Where it lies.
    pub fn place(&self) -> PathBuf {
        self.folder.join(&self.key)
    }

    /// What it was made of; `None`: it is not whole.
    pub fn says(&self) -> Option<String> {
        let text = fs::read(self.place().join(MARKER)).ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// Whether it is whole.
    pub fn is_made(&self) -> bool {
        is_whole(&self.place())
    }

    /// Takes the entry to make it, after whoever makes it now; `None` where that one made it whole.
    /// Folders are closed to others: programs in them run with the user's rights.
    pub fn begin(&self, waiter: &mut dyn Waiter) -> Result<Option<Making>, CacheError> {
        let cannot = |path: &Path| {
            let path = path.to_owned();
            move |source| CacheError { path, source }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(cannot(&self.folder))?;
        let lock = self.folder.join(format!("{}.lock", self.key));
        let held = match FileLock::try_acquire(&lock).map_err(cannot(&lock))? {
            Some(held) => held,
            None => {
                waiter.say("waiting for another that makes the same");
                loop {
                    if waiter.has_left() {
                        return Err(cannot(&lock)(io::ErrorKind::Interrupted.into()));
                    }
                    if let Some(held) = FileLock::try_acquire(&lock).map_err(cannot(&lock))? {
                        break held;
                    }
                    std::thread::sleep(LOOK);
                }
            }
        };
        // The other may have made it while this one waited.
        if self.is_made() {
            return Ok(None);
        }
        let place = self.place();
        if place.exists() {
            remove(&place).map_err(cannot(&place))?;
        }
        let log = self.folder.join(format!("{}.log", self.key));
        File::create(&log).map_err(cannot(&log))?;
        Ok(Some(Making {
            place,
            log,
            is_done: false,
            lock: held,
        }))
    }
}

impl Making {
    /// Says that it is whole now.
    pub fn done(mut self, says: &str) -> Result<(), CacheError> {
        let path = self.place.join(MARKER);
        let written = sys::atomic::write(&path, says.as_bytes());
        written.map_err(|source| CacheError { path, source })?;
        self.is_done = true;
        Ok(())
    }

    /// Runs one maker with its output into the log and, line by line, to who waits. Once they have left it is ended, with
    /// all that it started.
    pub fn run(&self, command: &mut Command, waiter: &mut dyn Waiter) -> Result<String, Failed> {
        for name in MISLEADING {
            command.env_remove(name);
        }
        let (reader, writer) = io::pipe().map_err(Failed::CannotRun)?;
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(Failed::CannotRun)?)
            .stderr(writer);
        // Where this process is killed the maker goes on, and no other makes the entry anew until that has ended.
        self.lock.share_with(command).map_err(Failed::CannotRun)?;
        let mut child = command.spawn().map_err(Failed::CannotRun)?;
        // The command keeps its ends of the pipe open, which would never end then.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut log = File::options().append(true).open(&self.log).ok();
        let mut said = String::new();
        let (sender, lines) = mpsc::channel();
        // It ends with the last process that may print, which a maker may leave behind.
        std::thread::spawn(move || {
            let mut lines = BufReader::new(reader).split(b'\n').map_while(Result::ok);
            lines.all(|line| sender.send(line).is_ok())
        });
        let mut over_since = None;
        loop {
            if waiter.has_left() {
                end(child.id());
                child.wait().map_err(Failed::CannotRun)?;
                return Err(Failed::Ended(said));
            }
            // Asked for first: what it printed before it ended is there already, or comes while this waits.
            if over_since.is_none() && child.try_wait().map_err(Failed::CannotRun)?.is_some() {
                over_since = Some(Instant::now());
            }
            if over_since.is_some_and(|since| since.elapsed() > TO_DRAIN) {
                break;
            }
            let line = match lines.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) if over_since.is_some() => break,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let line = String::from_utf8_lossy(&line);
            if let Some(log) = &mut log {
                // The log is for people; what is made does not depend on it.
                let _ = writeln!(log, "{line}");
            }
            waiter.say(&line);
            said.push_str(&line);
            said.push('\n');
        }
        let status = child.wait().map_err(Failed::CannotRun)?;
        if status.success() {
            Ok(said)
        } else {
            Err(Failed::Ended(said))
        }
    }
}

/// Ends a maker and all that it started: nothing writes there any more.
fn end(maker: u32) {
    let all = [maker].into_iter().chain(descendants(maker));
    let all: Vec<PidFd> = all.filter_map(|pid| PidFd::open(pid).ok()).collect();
    let until = Instant::now() + TO_END;
    for signal in [SIGTERM, SIGKILL] {
        // What has ended needs none.
        all.iter().for_each(|one| drop(one.signal(signal)));
        for one in &all {
            let left = until.saturating_duration_since(Instant::now());
            let _ = one.wait_exit(Some(left.max(LOOK)));
        }
    }
}

/// Whether an entry's folder is whole.
pub fn is_whole(place: &Path) -> bool {
    place.join(MARKER).exists()
}

/// All entries of a cache's folder, whole or not.
pub fn entries(folder: &Path) -> Vec<Entry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .map(|key| Entry::new(folder.to_owned(), key))
        .collect()
}

impl Entry {
    /// Removes it: the marker first, so that what is left of it after a crash counts as half made.
    pub fn remove(&self) -> io::Result<()> {
        let place = self.place();
        let marker = fs::remove_file(place.join(MARKER));
        if let Err(error) = marker
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        remove(&place)
    }
}

/// Images hold folders that their owner can't write to, out of which nothing can be removed.
fn remove(folder: &Path) -> io::Result<()> {
    let Err(error) = fs::remove_dir_all(folder) else {
        return Ok(());
    };
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Err(error);
    }
    open_folders(folder)?;
    fs::remove_dir_all(folder)
}

fn open_folders(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_folders(&entry.path())?;
        }
    }
    Ok(())
}

/// Whether programs that could not reach a registry at all said this: pip, and those who fetch images.
pub fn no_network(said: &str) -> bool {
    const WORDS: [&str; 7] = [
        "Network is unreachable",
        "NewConnectionError",
        "ConnectTimeoutError",
        "Cannot connect to proxy",
        "Max retries exceeded",
        "connection refused",
        "i/o timeout",
    ];
    no_such_host(said) || WORDS.iter().any(|words| said.contains(words))
}

/// Whether a program said this of a host name that does not resolve.
pub fn no_such_host(said: &str) -> bool {
    const WORDS: [&str; 4] = [
        "Temporary failure in name resolution",
        "Name or service not known",
        "no such host",
        "Could not resolve host",
    ];
    WORDS.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Its output stays open for as long as that lives, which was waited for.
    #[test]
    fn what_a_maker_leaves_behind_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let entry = Entry::new(folder.path().to_owned(), "9f".to_owned());
        let making = entry.begin(&mut |_: &str| ()).unwrap().unwrap();
        let mut maker = Command::new("sh");
        maker.args(["-c", "sleep 20 & echo $!"]);
        let said = making.run(&mut maker, &mut |_: &str| ()).unwrap();
        let left: u32 = said.trim().parse().unwrap();
        let is_there = sys::process::start_time(left).is_some();
        let _ = sys::process::signal(left, SIGKILL);
        assert!(is_there);
    }

    #[test]
    fn a_maker_holds_the_lock_until_the_making_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let entry = Entry::new(folder.path().to_owned(), "9f".to_owned());
        let making = entry.begin(&mut |_: &str| ()).unwrap().unwrap();
        let (lock, end) = (folder.path().join("9f.lock"), folder.path().join("end"));
        let script = "for fd in /proc/$$/fd/*; do readlink $fd; done; echo all; until [ -e $0 ]; do sleep 0.05; done";
        thread::scope(|scope| {
            let (sender, said) = mpsc::channel();
            let (making, end) = (&making, &end);
            scope.spawn(move || {
                let mut maker = Command::new("sh");
                maker.args(["-c", script]).arg(end);
                making
                    .run(&mut maker, &mut |line: &str| {
                        drop(sender.send(line.to_owned()))
                    })
                    .unwrap();
            });
            let is_held = said
                .iter()
                .take_while(|line| line != "all")
                .any(|line| Path::new(&line) == lock);
            fs::write(end, b"").unwrap();
            assert!(is_held);
        });
        drop(making);
        assert!(FileLock::try_acquire(&lock).unwrap().is_some());
    }
}
