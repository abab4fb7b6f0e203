//! Files in a folder where every user can write, such as `/var/tmp`: any of them may be another
//! user's work, made to be waited on or followed elsewhere.

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Read by all, written by none: enough for a lock.
const MODE: u32 = 0o444;

/// Names of a file: where something else stands at the first, all users take the next.
const NAMES: u32 = 8;

/// Why a shared file is not used.
#[derive(Debug, thiserror::Error)]
pub enum SharedFileError {
    /// Something else stands there.
    #[error(
        "{} is {found} of user {owner}, not a lock that every user can open: it is passed over; \
         that user or root can remove it",
        path.display()
    )]
    Foreign {
        /// Where.
        path: PathBuf,
        /// What it is: `a pipe`.
        found: &'static str,
        /// Whose it is.
        owner: u32,
    },
    /// What the system says.
    #[error("{}: {source}", path.display())]
    System {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Opens for reading, which is enough for `flock`, a file that every user can open; makes it where
/// it is missing. Follows no link and waits for nothing.
///
/// # Errors
/// It is no regular file or not everybody's to read; what the system says.
pub fn open(path: &Path) -> Result<File, SharedFileError> {
    let system = |source: io::Error| SharedFileError::System {
        path: path.to_owned(),
        source,
    };
    loop {
        // Without O_CREAT: with it, `fs.protected_regular` would refuse another user's file.
        match rustix::fs::open(path, FLAGS, Mode::empty()) {
            Ok(file) => return check(path, file.into()),
            Err(Errno::NOENT) => {}
            Err(Errno::LOOP | Errno::ACCESS | Errno::NXIO | Errno::NODEV) => {
                return Err(foreign_of(path).unwrap_or_else(system));
            }
            Err(error) => return Err(system(error.into())),
        }
        make(path).map_err(system)?;
    }
}

/// Opens the first of a file's names at which a file that every user can open stands or can be made,
/// and what was passed over: all users pass over the same.
///
/// # Errors
/// None of them is one; what the system says.
pub fn open_first(path: &Path) -> io::Result<(File, Vec<SharedFileError>)> {
    let mut passed_over = Vec::new();
    for number in 0..NAMES {
        let mut name = path.as_os_str().to_owned();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        match open(Path::new(&name)) {
            Ok(file) => return Ok((file, passed_over)),
            Err(error @ SharedFileError::Foreign { .. }) => passed_over.push(error),
            Err(SharedFileError::System { source, .. }) => return Err(source),
        }
    }
    let problems: Vec<String> = passed_over.iter().map(ToString::to_string).collect();
    Err(io::Error::other(problems.join("; ")))
}

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Makes the file with its whole mode at once, whatever the umask; leaves one that is there.
fn make(path: &Path) -> io::Result<()> {
    let number = u64::from_ne_bytes(crate::random()?);
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{number:016x}"));
    let beside = PathBuf::from(beside);
    let made = File::options()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(&beside)
        .and_then(|file| file.set_permissions(PermissionsExt::from_mode(MODE)))
        .and_then(|()| std::fs::hard_link(&beside, path));
    let _left = std::fs::remove_file(&beside);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn check(path: &Path, file: File) -> Result<File, SharedFileError> {
    let facts = file.metadata().map_err(|source| SharedFileError::System {
        path: path.to_owned(),
        source,
    })?;
    match problem(&facts) {
        None => Ok(file),
        Some(found) => Err(SharedFileError::Foreign {
            path: path.to_owned(),
            found,
            owner: facts.uid(),
        }),
    }
}

/// What stands where nothing could be opened.
fn foreign_of(path: &Path) -> io::Result<SharedFileError> {
    let facts = std::fs::symlink_metadata(path)?;
    Ok(SharedFileError::Foreign {
        path: path.to_owned(),
        found: problem(&facts).unwrap_or("a file"),
        owner: facts.uid(),
    })
}

/// What is wrong with it. The same for every user, so that all of them pass over the same files.
fn problem(facts: &std::fs::Metadata) -> Option<&'static str> {
    match FileType::from_raw_mode(facts.mode()) {
        FileType::RegularFile if facts.mode() & MODE == MODE => None,
        FileType::RegularFile => Some("a private file"),
        FileType::Directory => Some("a folder"),
        FileType::Symlink => Some("a link"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        _ => Some("a device"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
    use std::os::unix::fs::symlink;

    #[track_caller]
    fn check_foreign(make: impl FnOnce(&Path), want: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        make(&path);
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains(&format!(" is {want} of user ")), "{error}");
    }

    #[test]
    fn what_is_no_lock_is_passed_over_and_not_waited_on() {
        let pipe = |path: &Path| {
            rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
        };
        check_foreign(pipe, "a pipe");
        check_foreign(|path| std::fs::create_dir(path).unwrap(), "a folder");
        check_foreign(|path| symlink("/etc/passwd", path).unwrap(), "a link");
        let socket = |path: &Path| drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        check_foreign(socket, "a socket");
        let private = |path: &Path| {
            std::fs::write(path, "").unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
        };
        check_foreign(private, "a private file");
    }

    #[test]
    fn made_for_all_users_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let inode = open(&path).unwrap().metadata().unwrap().ino();
        let facts = open(&path).unwrap().metadata().unwrap();
        assert_eq!((facts.ino(), facts.mode() & 0o777), (inode, MODE));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
