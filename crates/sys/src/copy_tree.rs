//! Copies folders with many files: several threads, each file by as few system calls as it takes.
//!
//! One thread walks and makes folders; the others take files by the batch, opened against the
//! folders' descriptors, so that no path is walked twice.

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Files that a thread takes at once.
const BATCH: usize = 64;
/// Batches that wait: each holds two descriptors, of which a process often has 1,024.
const WAITING: usize = 64;
/// Such files are copied in one step; longer ones by [`crate::copy::file`], which shares blocks where
/// it can.
const SMALL: u64 = 1 << 20;
/// How often the caller learns how far it is.
const PAUSE: Duration = Duration::from_millis(100);

/// What could not be copied.
#[derive(Debug, thiserror::Error)]
#[error("{path:?}: {source}")]
pub struct CopyError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// How many threads copy: files wait for the disk more than for a CPU.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(4, |cpus| cpus.get().clamp(4, 16))
}

/// Copies the folder `from` to `to`, which need not be there; what is there under a name of `from` is
/// replaced. Links are followed: what arrives does not lead back to where it came from. One that leads nowhere
/// is copied as the link that it is. `came` gets the bytes that arrived since it was last called.
///
/// # Errors
/// The first file or folder that can't be read or written; others may have arrived by then.
pub fn folder(from: &Path, to: &Path, came: &mut dyn FnMut(u64)) -> Result<Copied, CopyError> {
    copy(from, to, Links::Follow, came)
}

/// Copies the folder `from` to `to`, which is not there or empty. Links stay links, wherever they lead; devices,
/// pipes and sockets are left out.
///
/// # Errors
/// As [`folder`].
pub fn folder_with_links(from: &Path, to: &Path) -> Result<(), CopyError> {
    copy(from, to, Links::Keep, &mut |_| {}).map(|_| ())
}

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Links that lead nowhere.
    pub dangling: Vec<PathBuf>,
}

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Links {
    /// What they lead to is copied.
    #[default]
    Follow,
    /// They are made anew.
    Keep,
}

fn copy(
    from: &Path,
    to: &Path,
    links: Links,
    came: &mut dyn FnMut(u64),
) -> Result<Copied, CopyError> {
    let shared = Shared {
        links,
        umask: crate::process::umask(),
        ..Shared::default()
    };
    let (send, receive) = sync_channel::<Batch>(WAITING);
    let receive = Mutex::new(receive);
    let (tell, told) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        for _ in 0..threads() {
            let (receive, shared, tell) = (&receive, &shared, tell.clone());
            scope.spawn(move || {
                // Dropped at the end: the caller waits for the last one.
                let _tell = tell;
                loop {
                    let next = receive.lock().ok().and_then(|next| next.recv().ok());
                    let Some(batch) = next else { return };
                    batch.copy(shared);
                }
            });
        }
        drop(tell);
        let shared = &shared;
        let walk = scope.spawn(move || {
            let copy = Identity::default();
            let mut walk = Walk { shared, send, copy };
            if let Err(error) = walk.begin(from, to) {
                shared.fail(error);
            }
        });
        let mut told_bytes = 0;
        let mut tell_more = || {
            let bytes = shared.bytes.load(Ordering::Relaxed);
            came(bytes - told_bytes);
            told_bytes = bytes;
        };
        while told.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            tell_more();
        }
        let _ = walk.join();
        tell_more();
    });
    let failure = shared.failure.into_inner().unwrap_or_default();
    match failure {
        Some(error) => Err(error),
        None => Ok(Copied {
            files: shared.files.into_inner(),
            bytes: shared.bytes.into_inner(),
            dangling: shared.dangling.into_inner().unwrap_or_default(),
        }),
    }
}

#[derive(Default)]
struct Shared {
    links: Links,
    umask: u32,
    files: AtomicU64,
    bytes: AtomicU64,
    has_failed: AtomicBool,
    failure: Mutex<Option<CopyError>>,
    dangling: Mutex<Vec<PathBuf>>,
}

impl Shared {
    fn fail(&self, error: CopyError) {
        self.has_failed.store(true, Ordering::Relaxed);
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    fn leads_nowhere(&self, path: PathBuf) {
        if let Ok(mut dangling) = self.dangling.lock() {
            dangling.push(path);
        }
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

/// A folder and its copy.
struct Folders {
    from: OwnedFd,
    to: OwnedFd,
    /// For what is said where something fails.
    path: PathBuf,
    /// For files that are copied by their paths.
    target: PathBuf,
}

impl Folders {
    fn path_of(&self, name: &CString) -> PathBuf {
        self.path.join(std::ffi::OsStr::from_bytes(name.as_bytes()))
    }

    fn error(&self, name: &CString, source: impl Into<io::Error>) -> CopyError {
        CopyError {
            path: self.path_of(name),
            source: source.into(),
        }
    }
}

/// Files of one folder.
struct Batch {
    folders: Arc<Folders>,
    names: Vec<CString>,
}

impl Batch {
    fn copy(self, shared: &Shared) {
        let mut buffer = Vec::new();
        for name in &self.names {
            if shared.has_failed() {
                return;
            }
            match copy_file(&self.folders, name, shared.umask, &mut buffer) {
                Ok(bytes) => {
                    shared.bytes.fetch_add(bytes, Ordering::Relaxed);
                    shared.files.fetch_add(1, Ordering::Relaxed);
                }
                Err(source) => return shared.fail(self.folders.error(name, source)),
            }
        }
    }
}

struct Walk<'a> {
    shared: &'a Shared,
    send: SyncSender<Batch>,
    /// The copy of the whole.
    copy: Identity,
}

/// Which folder it is, whatever its path.
type Identity = (u64, u64);

impl Walk<'_> {
    fn begin(&mut self, from: &Path, to: &Path) -> Result<(), CopyError> {
        let error = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| CopyError { path, source }
        };
        std::fs::create_dir_all(to).map_err(error(to))?;
        let open = |path: &Path| rustix::fs::openat(CWD, path, FOLDER, Mode::empty());
        let folders = Folders {
            from: open(from).map_err(|errno| error(from)(errno.into()))?,
            to: open(to).map_err(|errno| error(to)(errno.into()))?,
            path: from.to_owned(),
            target: to.to_owned(),
        };
        self.copy = identity(&folders.to).map_err(error(to))?;
        self.walk(folders, &mut Vec::new())
    }

    /// `above`: the folders in which this one is.
    fn walk(&mut self, folders: Folders, above: &mut Vec<Identity>) -> Result<(), CopyError> {
        let here = |source: io::Error| CopyError {
            path: folders.path.clone(),
            source,
        };
        let own = identity(&folders.from).map_err(here)?;
        if own == self.copy {
            return Err(here(io::Error::other("it is the folder that is copied to")));
        }
        if above.contains(&own) {
            return Err(here(io::Error::other(
                "the folder is inside itself, by a link",
            )));
        }
        above.push(own);
        let folders = Arc::new(folders);
        let mut inner = Vec::new();
        let mut names = Vec::new();
        let entries = Dir::read_from(&folders.from).map_err(|errno| here_of(&folders, errno))?;
        for entry in entries {
            let entry = entry.map_err(|errno| here_of(&folders, errno))?;
            let name = entry.file_name();
            if [&b"."[..], b".."].contains(&name.to_bytes()) {
                continue;
            }
            let name = name.to_owned();
            let keeps = self.shared.links == Links::Keep;
            let flags = if keeps {
                AtFlags::SYMLINK_NOFOLLOW
            } else {
                AtFlags::empty()
            };
            let kind = match entry.file_type() {
                FileType::Symlink if keeps => FileType::Symlink,
                FileType::Symlink | FileType::Unknown => {
                    match rustix::fs::statat(&folders.from, &name, flags) {
                        Ok(facts) => FileType::from_raw_mode(facts.st_mode),
                        Err(Errno::NOENT) if entry.file_type() == FileType::Symlink => {
                            self.shared.leads_nowhere(folders.path_of(&name));
                            // One of an earlier copy.
                            let _ = rustix::fs::unlinkat(&folders.to, &name, AtFlags::empty());
                            FileType::Symlink
                        }
                        Err(errno) => return Err(folders.error(&name, errno)),
                    }
                }
                kind => kind,
            };
            match kind {
                FileType::Directory => inner.push(name),
                FileType::RegularFile => names.push(name),
                FileType::Symlink => {
                    let made = rustix::fs::readlinkat(&folders.from, &name, Vec::new())
                        .and_then(|target| rustix::fs::symlinkat(target, &folders.to, &name));
                    made.map_err(|errno| folders.error(&name, errno))?;
                }
                _ if keeps => {}
                // A pipe or a socket holds nothing that could be copied.
                _ => {
                    let odd = "neither a file nor a folder";
                    let odd = io::Error::new(io::ErrorKind::InvalidInput, odd);
                    return Err(folders.error(&name, odd));
                }
            }
            if names.len() == BATCH && !self.hand_over(&folders, &mut names) {
                return Ok(());
            }
        }
        if !names.is_empty() && !self.hand_over(&folders, &mut names) {
            return Ok(());
        }
        for name in inner {
            if self.shared.has_failed() {
                return Ok(());
            }
            let below = below(&folders, &name).map_err(|errno| folders.error(&name, errno))?;
            self.walk(below, above)?;
        }
        above.pop();
        Ok(())
    }

    /// False where no thread copies any more.
    fn hand_over(&self, folders: &Arc<Folders>, names: &mut Vec<CString>) -> bool {
        let batch = Batch {
            folders: Arc::clone(folders),
            names: std::mem::take(names),
        };
        !self.shared.has_failed() && self.send.send(batch).is_ok()
    }
}

fn identity(folder: &OwnedFd) -> io::Result<Identity> {
    let facts = rustix::fs::fstat(folder)?;
    Ok((facts.st_dev, facts.st_ino))
}

fn here_of(folders: &Folders, errno: Errno) -> CopyError {
    CopyError {
        path: folders.path.clone(),
        source: errno.into(),
    }
}

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::RDONLY)
    .union(OFlags::CLOEXEC);

/// A folder in a folder, with its copy made.
fn below(folders: &Folders, name: &CString) -> Result<Folders, Errno> {
    match rustix::fs::mkdirat(&folders.to, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let open = |at: &OwnedFd| rustix::fs::openat(at, name, FOLDER, Mode::empty());
    let last = std::ffi::OsStr::from_bytes(name.as_bytes());
    Ok(Folders {
        from: open(&folders.from)?,
        to: open(&folders.to)?,
        path: folders.path.join(last),
        target: folders.target.join(last),
    })
}

/// Copies bytes and permissions; returns the bytes.
fn copy_file(
    folders: &Folders,
    name: &CString,
    umask: u32,
    buffer: &mut Vec<u8>,
) -> io::Result<u64> {
    let read = OFlags::RDONLY | OFlags::CLOEXEC;
    let from = rustix::fs::openat(&folders.from, name, read, Mode::empty())?;
    let facts = rustix::fs::fstat(&from)?;
    let size = u64::try_from(facts.st_size).unwrap_or(0);
    if size > SMALL {
        let last = std::ffi::OsStr::from_bytes(name.as_bytes());
        return crate::copy::file(&folders.path.join(last), &folders.target.join(last));
    }
    let mode = Mode::from_raw_mode(facts.st_mode & 0o777);
    let write = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    // Who may not read the file may not read its copy from the first moment on.
    let to = rustix::fs::openat(&folders.to, name, write, mode | Mode::WUSR)?;
    let bytes = copy_small(&from, &to, size, buffer)?;
    if mode.as_raw_mode() & umask != 0 || !mode.contains(Mode::WUSR) {
        rustix::fs::fchmod(&to, mode)?;
    }
    Ok(bytes)
}

/// As many bytes as there were. For some kilobytes one read and one write beat what asks the kernel
/// to copy.
fn copy_small(from: impl AsFd, to: &OwnedFd, size: u64, buffer: &mut Vec<u8>) -> io::Result<u64> {
    let length = usize::try_from(size).unwrap_or(usize::MAX);
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    let mut have = 0;
    while have < length {
        match rustix::io::read(&from, &mut buffer[have..length]) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let mut written = 0;
    while written < have {
        match rustix::io::write(to, &buffer[written..have]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(have as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn files_folders_links_and_modes() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        for number in 0..200 {
            fs::write(from.join(format!("a/{number}")), format!("file {number}")).unwrap();
        }
        let large = vec![7; 3 << 20];
        fs::write(from.join("a/b/large"), &large).unwrap();
        fs::write(from.join("run.sh"), "#!/bin/sh").unwrap();
        fs::set_permissions(from.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        fs::write(from.join("empty"), "").unwrap();
        symlink("a/7", from.join("link")).unwrap();
        symlink("a", from.join("folder")).unwrap();
        let mut came = 0;
        let copied = folder(&from, &to, &mut |more| came += more).unwrap();
        assert_eq!((copied.files, copied.bytes), (200 + 1 + 2 + 1 + 201, came));
        assert_eq!(fs::read(to.join("a/b/large")).unwrap(), large);
        assert_eq!(
            fs::read_to_string(to.join("folder/199")).unwrap(),
            "file 199"
        );
        let link = to.join("link");
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(link).unwrap(), "file 7");
        let mode = fs::metadata(to.join("run.sh"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(fs::read(to.join("empty")).unwrap(), b"");
        // Again, over what is there.
        assert_eq!(folder(&from, &to, &mut |_| {}).unwrap(), copied);
    }

    #[test]
    fn links_stay_links_wherever_they_lead() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir_all(from.join("usr/bin")).unwrap();
        fs::write(from.join("usr/bin/sh"), "shell").unwrap();
        let links = [
            ("bin", "usr/bin"),
            ("usr/up", ".."),
            ("gone", "nowhere"),
            ("absolute", "/etc/hostname"),
        ];
        for (link, target) in links {
            symlink(target, from.join(link)).unwrap();
        }
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
        folder_with_links(&from, &to).unwrap();
        for (link, target) in links {
            assert_eq!(fs::read_link(to.join(link)).unwrap(), Path::new(target));
        }
        assert_eq!(fs::read_to_string(to.join("bin/sh")).unwrap(), "shell");
        assert!(!to.join("socket").exists());
    }

    /// A data set with one such link could not be staged at all.
    #[test]
    fn a_link_that_leads_nowhere_is_copied_as_it_is_and_named() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir_all(from.join("a")).unwrap();
        fs::write(from.join("a/x"), "x").unwrap();
        symlink("nowhere", from.join("a/broken")).unwrap();
        for _ in 0..2 {
            let copied = folder(&from, &to, &mut |_| {}).unwrap();
            assert_eq!(copied.dangling, [from.join("a/broken")]);
            let link = fs::read_link(to.join("a/broken")).unwrap();
            assert_eq!(link, Path::new("nowhere"));
            assert_eq!(fs::read_to_string(to.join("a/x")).unwrap(), "x");
        }
    }

    #[test]
    fn what_can_not_be_copied_is_named() {
        let root = tempfile::tempdir().unwrap();
        let from = root.path().join("from");
        fs::create_dir_all(from.join("a")).unwrap();
        symlink("loop", from.join("a/loop")).unwrap();
        let error = folder(&from, &root.path().join("to"), &mut |_| {}).unwrap_err();
        assert!(error.path.ends_with("a/loop"), "{error}");
        fs::remove_file(from.join("a/loop")).unwrap();
        symlink("..", from.join("a/up")).unwrap();
        let error = folder(&from, &root.path().join("to"), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("inside itself"), "{error}");
        let error = folder(&from.join("none"), &root.path().join("to"), &mut |_| {});
        assert_eq!(error.unwrap_err().source.kind(), io::ErrorKind::NotFound);
        fs::remove_file(from.join("a/up")).unwrap();
        let error = folder(&from, &from.join("a/copy"), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("copied to"), "{error}");
    }
}
