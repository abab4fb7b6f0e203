//! Which processes are ours, whatever they are called: each holds a lock on one byte of a file, at
//! the place of its own number. The kernel tells who holds a lock and takes it away with its
//! holder, so what the file says is never out of date, and a number that is used again is not in it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file, opened. A process must open it once only: closing any descriptor of it gives up the
/// process's lock. Neither a forked child nor an executed program has the lock of its parent.
#[derive(Debug)]
pub struct OwnProcesses {
    file: File,
}

impl OwnProcesses {
    /// Opens the file, making it where it is missing.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<OwnProcesses> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        Ok(OwnProcesses { file })
    }

    /// Enters this process, until it ends or executes another program.
    ///
    /// # Errors
    /// The file system knows no locks.
    pub fn join(&self) -> io::Result<()> {
        self.join_as(std::process::id())
    }

    /// The same for a process that others know by another number: its own is that of a PID namespace.
    ///
    /// # Errors
    /// As [`OwnProcesses::join`].
    pub fn join_as(&self, pid: u32) -> io::Result<()> {
        self.control(libc::F_SETLK, &mut place(pid))
    }

    /// Stays entered over the execution of another program by this process, which has to enter
    /// again if it opens the file.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&self) -> io::Result<()> {
        Ok(rustix::io::fcntl_setfd(
            &self.file,
            rustix::io::FdFlags::empty(),
        )?)
    }

    /// Whether another process has entered.
    #[must_use]
    pub fn has(&self, pid: u32) -> bool {
        let mut found = place(pid);
        self.control(libc::F_GETLK, &mut found).is_ok()
            && i32::from(found.l_type) != libc::F_UNLCK
            && u32::try_from(found.l_pid) == Ok(pid)
    }

    fn control(&self, command: i32, lock: &mut libc::flock) -> io::Result<()> {
        // SAFETY: the descriptor is open, and the pointer is to a lock that lives through the call.
        match unsafe { libc::fcntl(self.file.as_raw_fd(), command, std::ptr::from_mut(lock)) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn place(pid: u32) -> libc::flock {
    // SAFETY: it holds integers only, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = pid.into();
    lock.l_len = 1;
    lock
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Command, Stdio};

    /// Names the file, in the process that [`those_that_entered_are_ours`] starts.
    const FILE: &str = "YARD_TEST_OWN_PROCESSES";

    #[test]
    fn those_that_entered_are_ours() {
        if let Some(path) = std::env::var_os(FILE) {
            let own = OwnProcesses::open(path.as_ref()).unwrap();
            own.join().unwrap();
            writeln!(std::io::stderr(), "entered").unwrap();
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("processes");
        let own = OwnProcesses::open(&path).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["those_that_entered_are_ours", "--nocapture"])
            .env(FILE, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "entered"));
        assert!(own.has(child.id()));
        own.join().unwrap();
        assert!(!own.has(1), "init is not ours");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(!own.has(child.id()), "it has ended");
    }
}
