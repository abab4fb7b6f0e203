//! Waits until a file is no longer at its place.

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often it is looked where the system has no watch to give: a user has 128 of them by default.
const PAUSE: Duration = Duration::from_secs(2);

/// Watches whether a file stays where it is.
#[derive(Debug)]
pub struct FileWatch {
    file: PathBuf,
    watch: Option<OwnedFd>,
    /// Device and inode of its folder.
    folder: (u64, u64),
}

impl FileWatch {
    /// From now on.
    ///
    /// # Errors
    /// It is not there, or can't be looked at.
    pub fn new(file: &Path) -> io::Result<FileWatch> {
        let folder = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let watch = watch(folder).ok();
        fs::symlink_metadata(file)?;
        Ok(FileWatch {
            file: file.to_owned(),
            watch,
            folder: identity(folder)?,
        })
    }

    /// Returns once nothing stands at its place any more, or its folder is removed or renamed. What
    /// takes its place at once leaves it there. A folder further up that is renamed is not noticed.
    ///
    /// # Errors
    /// It can't be watched any longer.
    pub fn wait_until_gone(self) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = self
            .watch
            .as_ref()
            .map(|watch| Reader::new(watch, &mut buffer));
        let is_there = || {
            let folder = self.file.parent().unwrap_or(&self.file);
            fs::symlink_metadata(&self.file).is_ok()
                && identity(folder).is_ok_and(|now| now == self.folder)
        };
        while is_there() {
            match events.as_mut().map(Reader::next) {
                None => std::thread::sleep(PAUSE),
                Some(Ok(_) | Err(Errno::INTR)) => {}
                Some(Err(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn watch(folder: &Path) -> io::Result<OwnedFd> {
    let changes = WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    let watch = inotify::init(CreateFlags::CLOEXEC)?;
    inotify::add_watch(&watch, folder, changes)?;
    Ok(watch)
}

fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(folder).map(|facts| (facts.dev(), facts.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let watch = FileWatch::new(&paths[0]).unwrap();
        thread::spawn(move || {
            watch.wait_until_gone().ok();
            let _none_waits = sender.send("gone");
        });
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
        check(
            |file, other| fs::rename(file, other.with_file_name("away")).unwrap(),
            true,
        );
        check(
            |file, _| fs::remove_dir_all(file.parent().unwrap()).unwrap(),
            true,
        );
        check(
            |file, _| {
                let folder = file.parent().unwrap();
                fs::rename(folder, folder.with_file_name("moved")).unwrap();
                fs::create_dir(folder).unwrap();
                fs::write(file, b"x").unwrap();
            },
            true,
        );
        check(|_, other| fs::remove_file(other).unwrap(), false);
        check(|file, _| fs::write(file, b"y").unwrap(), false);
        check(|file, other| fs::rename(other, file).unwrap(), false);
    }
}
