//! Waits until a file is no longer at its place.

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns once what stands at `file` now is removed or replaced there, or its folder is removed or
/// renamed. A folder further up that is renamed is not noticed.
///
/// # Errors
/// It is not there, or can't be watched.
pub fn wait_until_gone(file: &Path) -> io::Result<()> {
    let identity = |file: &Path| fs::symlink_metadata(file).map(|facts| (facts.dev(), facts.ino()));
    let folder = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let changes = WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    let watch = inotify::init(CreateFlags::CLOEXEC)?;
    inotify::add_watch(&watch, folder, changes)?;
    let known = identity(file)?;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = Reader::new(watch, &mut buffer);
    while identity(file).is_ok_and(|now| now == known) {
        match events.next() {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    /// `change` gets the file and another in its folder; does it take the file away?
    #[track_caller]
    fn check(change: impl Fn(&Path, &Path), gone: bool) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let paths: [PathBuf; 2] = [folder.join("file"), folder.join("other")];
        for path in &paths {
            fs::write(path, b"x").unwrap();
        }
        let (sender, receiver) = mpsc::channel();
        let watched = paths[0].clone();
        let begun = sender.clone();
        thread::spawn(move || {
            begun.send("begins").unwrap();
            wait_until_gone(&watched).ok();
            let _none_waits = sender.send("gone");
        });
        assert_eq!(receiver.recv(), Ok("begins"));
        change(&paths[0], &paths[1]);
        if !gone {
            assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
            fs::remove_file(&paths[0]).unwrap();
        }
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok("gone"));
    }

    #[test]
    fn a_file_is_gone_when_it_no_longer_stands_there() {
        check(|file, _| fs::remove_file(file).unwrap(), true);
        check(|file, other| fs::rename(other, file).unwrap(), true);
        check(
            |file, _| fs::remove_dir_all(file.parent().unwrap()).unwrap(),
            true,
        );
        check(
            |file, _| {
                let folder = file.parent().unwrap();
                fs::rename(folder, folder.with_file_name("moved")).unwrap();
            },
            true,
        );
        check(|_, other| fs::remove_file(other).unwrap(), false);
        check(|file, _| fs::write(file, b"y").unwrap(), false);
    }
}
