//! Files that are there whole or not at all.

use crate::attributes;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Puts `bytes` at `path`, in place of what is there; durable when it returns: written beside it,
/// fsync, rename, fsync of the folder.
///
/// # Errors
/// What the system says; `path` is then as it was.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, true, OPEN, None)?;
    File::open(folder_of(path))?.sync_all()
}

/// Like [`write()`], for a file that other users may not read.
///
/// # Errors
/// What the system says; `path` is then as it was.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, true, PRIVATE, None)?;
    File::open(folder_of(path))?.sync_all()
}

/// Like [`write()`], for a path that a person named: behind a link its target gets
/// another text and keeps who may do what with it; a device or a pipe is written into and stays
/// what it is.
///
/// # Errors
/// What the system says; a file is then as it was.
pub fn write_named(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let meant = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            replace(path, bytes, true, NAMED, None)?;
            return File::open(folder_of(path))?.sync_all();
        }
        meant => meant?,
    };
    let facts = fs::metadata(&meant)?;
    if !facts.is_file() {
        return File::options().write(true).open(&meant)?.write_all(bytes);
    }
    replace(&meant, bytes, true, PRIVATE, Some(facts.permissions()))?;
    File::open(folder_of(&meant))?.sync_all()
}

/// Like [`write()`], for a file that is there and has no other name: the new one has the owner,
/// group and mode that `facts` say and the access list of the old one, also in a folder that gives
/// its own. `still` is asked right
/// before it takes the place of the old one, and stops it with an error.
///
/// # Errors
/// What the system says (`PermissionDenied` where such an owner or group can't be given), or
/// `still`; `path` is then as it was.
pub fn write_in_place_of(
    path: &Path,
    bytes: &[u8],
    facts: &fs::Metadata,
    still: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let beside = beside(path, COUNT.fetch_add(1, Ordering::Relaxed));
    let result = fill(&beside, bytes, true, PRIVATE).and_then(|file| {
        let made = file.metadata()?;
        let owner = (made.uid() != facts.uid()).then_some(facts.uid());
        let group = (made.gid() != facts.gid()).then_some(facts.gid());
        if owner.is_some() || group.is_some() {
            fchown(&file, owner, group)?;
        }
        // Behind the owner: a change of that takes bits of the mode away.
        file.set_permissions(facts.permissions())?;
        // Behind the mode: an access list has one of its own.
        attributes::copy(path, &file)?;
        file.sync_all()?;
        still()?;
        fs::rename(&beside, path)
    });
    if result.is_err() {
        let _ = fs::remove_file(&beside);
    }
    result?;
    // The new text is there, and a folder that can't be read can't be told to hurry.
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Like [`write()`] without the two fsyncs: whole or not at all for readers, but a power cut may
/// take it back.
///
/// # Errors
/// What the system says; `path` is then as it was.
pub fn write_relaxed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, false, OPEN, None)
}

/// Makes a file that holds `bytes` where there is none, and returns it open for writing. Of
/// several that try, one alone succeeds, and no process ever sees it without its bytes.
///
/// # Errors
/// `AlreadyExists` where there is one, which stays as it is; what the system says.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let beside = beside(path, COUNT.fetch_add(1, Ordering::Relaxed));
    let result = fill(&beside, bytes, false, OPEN)
        .and_then(|file| rename_where_none_is(&beside, path).map(|()| file));
    if result.is_err() {
        let _ = fs::remove_file(&beside);
    }
    result
}

fn rename_where_none_is(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that doesn't know how.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        result => Ok(result?),
    }
}

/// Puts `bytes` at `path`; with `permissions` no other process sees them before they hold.
fn replace(
    path: &Path,
    bytes: &[u8],
    durable: bool,
    mode: u32,
    permissions: Option<fs::Permissions>,
) -> io::Result<()> {
    let beside = beside(path, COUNT.fetch_add(1, Ordering::Relaxed));
    let result = fill(&beside, bytes, durable, mode).and_then(|file| {
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
        fs::rename(&beside, path)
    });
    if result.is_err() {
        let _ = fs::remove_file(&beside);
    }
    result
}

/// The mode of a file that others may read, whatever the umask, and not write.
const OPEN: u32 = 0o644;
/// The mode of a file that a person named: the umask alone narrows it.
const NAMED: u32 = 0o666;
/// The mode of a file that may hold what others must not read, before it has its own.
const PRIVATE: u32 = 0o600;

fn fill(path: &Path, bytes: &[u8], durable: bool, mode: u32) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(mode);
    let create = || options.open(path);
    let mut file = match create() {
        // Of a process that was killed, on a system that has no random numbers.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()?
        }
        created => created?,
    };
    file.write_all(bytes)?;
    if durable {
        file.sync_all()?;
    }
    Ok(file)
}

/// How many files this process has put in place.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A name that no other writer uses: also one on another machine that shares the folder.
fn beside(path: &Path, count: u32) -> PathBuf {
    let mut name = OsString::from(".");
    // File systems take names of 255 bytes.
    let meant = path.file_name().unwrap_or_default().as_bytes();
    name.push(OsStr::from_bytes(&meant[..meant.len().min(200)]));
    name.push(format!(".{}.{count}.new", crate::unique()));
    path.with_file_name(name)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType, Mode};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_copy_beside_is_private_until_it_has_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let facts = fs::metadata(&path).unwrap();
        let stopped = write_in_place_of(&path, b"new", &facts, || {
            let beside = fs::read_dir(folder.path()).unwrap();
            let modes = beside.map(|entry| entry.unwrap().metadata().unwrap().mode() & 0o777);
            assert_eq!(modes.max(), Some(0o640));
            Ok(())
        });
        stopped.unwrap();
        let made = fill(&folder.path().join("made"), b"x", false, PRIVATE).unwrap();
        assert_eq!(made.metadata().unwrap().mode() & 0o777, 0o600);
        write_named(&path, b"newer").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        write_private(&path, b"newest").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_longest_name_has_room_for_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n".repeat(255));
        write(&path, b"x").unwrap();
        write(&path, b"y").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"y");
    }

    #[test]
    fn a_link_and_a_pipe_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "one").unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_named(&link, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o750);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());

        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write_named(&pipe, b"three").unwrap();
        assert_eq!(reader.join().unwrap(), b"three");
        assert!(!fs::metadata(&pipe).unwrap().is_file());
    }

    #[test]
    fn what_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let facts = fs::metadata(&path).unwrap();
        let changed = || Err(io::Error::other("changed"));
        assert!(write_in_place_of(&path, b"two", &facts, changed).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write_in_place_of(&path, b"two", &facts, || Ok(())).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn replaces_and_leaves_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exit");
        write(&path, b"one").unwrap();
        write_relaxed(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_processes_with_one_number_write_beside_each_other() {
        let path = Path::new("/folder/file");
        assert_ne!(beside(path, 0), beside(path, 0));
    }

    #[test]
    fn a_leftover_of_a_killed_process_with_the_same_name_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exit");
        let leftover = beside(&path, u32::MAX);
        fs::write(&leftover, b"half of something lon").unwrap();
        fill(&leftover, b"whole", false, OPEN).unwrap();
        assert_eq!(fs::read(&leftover).unwrap(), b"whole");
    }

    #[test]
    fn of_two_that_create_one_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let mut file = create(&path, b"one ").unwrap();
        let error = create(&path, b"other").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        file.write_all(b"more").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one more");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("is-a-folder");
        fs::create_dir_all(path.join("full")).unwrap();
        assert!(write(&path, b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
