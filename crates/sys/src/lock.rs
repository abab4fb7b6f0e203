//! A lock that dies with its holder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::process::Command;

/// Whether a file system says that it has none, as NFS without its daemon does.
#[must_use]
pub fn knows_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error())
}

/// An `flock` on a file, held until dropped. Not inherited by programs that the holder
/// starts; a forked child without exec shares it.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock, making the file where it is missing; `None` where another holds it.
    ///
    /// # Errors
    /// The file can't be opened, or its file system knows no locks.
    pub fn try_acquire(path: &Path) -> io::Result<Option<FileLock>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(FileLock { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lock, waiting for it.
    ///
    /// # Errors
    /// As [`FileLock::try_acquire`].
    pub fn acquire(path: &Path) -> io::Result<FileLock> {
        let file = open(path)?;
        file.lock()?;
        Ok(FileLock { file })
    }

    /// Takes the lock together with others who share it, waiting for who has it alone.
    ///
    /// # Errors
    /// As [`FileLock::try_acquire`].
    pub fn share(path: &Path) -> io::Result<FileLock> {
        let file = open(path)?;
        file.lock_shared()?;
        Ok(FileLock { file })
    }

    /// Leaves it to this process and the programs that it becomes or starts, until the last of them has ended.
    ///
    /// # Errors
    /// The system refuses.
    pub fn hand_on(self) -> io::Result<()> {
        crate::inherited::keep_open(self.file)
    }

    /// Shares it with a program that is started by this command, and with those that it starts: it is held until the last
    /// of them has ended too, or until [`FileLock::release`].
    ///
    /// # Errors
    /// The system refuses.
    pub fn share_with(&self, command: &mut Command) -> io::Result<()> {
        crate::inherited::hand_to(command, self.file.try_clone()?);
        Ok(())
    }

    /// Gives it back, also for the programs that it was shared with.
    ///
    /// # Errors
    /// The system refuses.
    pub fn release(&self) -> io::Result<()> {
        self.file.unlock()
    }

    /// The locked file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = FileLock::try_acquire(&path).unwrap();
        assert!(held.is_some());
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(held);
        FileLock::acquire(&path).unwrap();
    }

    #[test]
    fn a_program_holds_what_is_shared_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let start = |lock: &FileLock| {
            let mut cat = Command::new("cat");
            lock.share_with(&mut cat).unwrap();
            cat.stdin(Stdio::piped()).spawn().unwrap()
        };
        let is_free = || FileLock::try_acquire(&path).unwrap().is_some();
        let lock = FileLock::acquire(&path).unwrap();
        let mut cat = start(&lock);
        drop(lock);
        assert!(!is_free());
        drop(cat.stdin.take());
        cat.wait().unwrap();
        let lock = FileLock::acquire(&path).unwrap();
        let mut cat = start(&lock);
        lock.release().unwrap();
        assert!(is_free());
        drop(cat.stdin.take());
        cat.wait().unwrap();
    }

    #[test]
    fn several_share_what_no_one_has_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let shared = [(); 2].map(|()| FileLock::share(&path).unwrap());
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(shared);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
    }
}
