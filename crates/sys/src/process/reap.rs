//! Children that ended.

use std::io;

/// What became of the children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    /// This one ended; the number is its `wait` status.
    Child(u32, i32),
    /// There are some, and all live.
    AllLive,
    /// There are none.
    NoChildren,
}

/// Takes one ended child of this process, whichever; does not wait.
#[must_use]
pub fn reap() -> Reaped {
    let mut status = 0;
    loop {
        // SAFETY: `status` lives here; -1 and WNOHANG ask for any child without waiting.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        match u32::try_from(pid) {
            Ok(0) => return Reaped::AllLive,
            Ok(pid) => return Reaped::Child(pid, status),
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Reaped::NoChildren,
        }
    }
}

/// Waits for one child to end and takes its `wait` status; `None` where it is no child.
#[must_use]
pub fn wait(pid: u32) -> Option<i32> {
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let mut status = 0;
    loop {
        // SAFETY: `status` lives here; a positive number asks for that child alone.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            return Some(status);
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}
