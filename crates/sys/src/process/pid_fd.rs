//! A hand on a process that stays with it.

use super::stat::look;
use super::{is_same, lives, signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// One process and no other, even when its number is used again: a pidfd, or on a
/// kernel before 5.3 (or in a container that forbids the call) its number and start time.
#[derive(Debug)]
pub struct PidFd {
    pid: u32,
    start_time: u64,
    fd: Option<OwnedFd>,
}

/// How often a process is looked at where there are no pidfds.
const LOOK: Duration = Duration::from_millis(20);

impl PidFd {
    /// Opens the process; `NotFound` where it has ended.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(pid: u32) -> io::Result<PidFd> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let raw = i32::try_from(pid).map_err(|_| gone())?;
        let number = Pid::from_raw(raw).ok_or_else(gone)?;
        let fd = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(fd) => Some(fd),
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => return Err(error.into()),
            // There are none here; that there is no such process shows below.
            Err(_) => None,
        };
        // Read after opening: the same process, or none.
        let stat = look(pid)?.filter(|stat| !stat.dead).ok_or_else(gone)?;
        Ok(PidFd {
            pid,
            start_time: stat.start_time,
            fd,
        })
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its start time, as [`start_time`] tells it.
    #[must_use]
    pub fn start_time(&self) -> u64 {
        self.start_time
    }

    /// Waits until it has ended, at most `timeout` (`None`: for ever). Whether it has.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait_exit(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            match &self.fd {
                Some(fd) => {
                    let mut fds = [PollFd::new(fd, PollFlags::IN)];
                    let spec = left.and_then(|left| Timespec::try_from(left).ok());
                    match poll(&mut fds, spec.as_ref()) {
                        Ok(0) => return Ok(false),
                        Ok(_) => return Ok(true),
                        Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                None => {
                    if !lives(self.pid, self.start_time)? {
                        return Ok(true);
                    }
                    match left {
                        Some(Duration::ZERO) => return Ok(false),
                        left => std::thread::sleep(left.map_or(LOOK, |left| left.min(LOOK))),
                    }
                }
            }
        }
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// `NotFound` where it has ended; `PermissionDenied`.
    pub fn signal(&self, number: i32) -> io::Result<()> {
        // The number can't have been given to another while it is the one that we know; between
        // the look and the signal lies less than a full round of process numbers.
        if !is_same(self.pid, self.start_time) {
            return Err(io::ErrorKind::NotFound.into());
        }
        signal(self.pid, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[track_caller]
    fn check(with_fd: bool) {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut hand = PidFd::open(child.id()).unwrap();
        if !with_fd {
            hand.fd = None;
        }
        assert!(!hand.wait_exit(Some(Duration::ZERO)).unwrap());
        hand.signal(libc::SIGTERM).unwrap();
        assert!(hand.wait_exit(None).unwrap());
        child.wait().unwrap();
        assert!(hand.signal(libc::SIGTERM).is_err());
        assert!(hand.wait_exit(Some(Duration::ZERO)).unwrap());
    }

    #[test]
    fn with_and_without_pidfds() {
        check(true);
        check(false);
    }
}
