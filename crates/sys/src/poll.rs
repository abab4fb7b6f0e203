//! Waiting for descriptors.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, major, minor};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// What to wait for on one descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, or its end.
    Read,
    /// Room to write.
    Write,
    /// Both.
    Both,
    /// Only that the other end is gone.
    Hangup,
}

/// Writes a line to a file, a pipe or a terminal, where this does not wait: a full pipe takes none. Whether it was written.
///
/// # Errors
/// What the system says.
pub fn write_at_once(mut file: &File, line: &[u8]) -> io::Result<bool> {
    let mut poll = Poll::new();
    let index = poll.add(&file, Interest::Write);
    poll.wait(Some(Duration::ZERO))?;
    // One that says there is room takes that much whole.
    let fits = file.metadata()?.is_file() || line.len() <= rustix::pipe::PIPE_BUF;
    if !poll.writable(index) || !fits {
        return Ok(false);
    }
    file.write_all(line)?;
    Ok(true)
}

/// Whether reading from it never waits: a file, or `/dev/null`.
#[must_use]
pub fn is_read_at_once(fd: &impl AsFd) -> bool {
    let Ok(facts) = rustix::fs::fstat(fd) else {
        return false;
    };
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::RegularFile => true,
        FileType::CharacterDevice => (major(facts.st_rdev), minor(facts.st_rdev)) == NULL,
        _ => false,
    }
}

/// The number of `/dev/null`.
const NULL: (u32, u32) = (1, 3);

/// One round of waiting: add descriptors, wait, ask which are ready.
#[derive(Debug, Default)]
pub struct Poll<'fd> {
    fds: Vec<PollFd<'fd>>,
}

impl<'fd> Poll<'fd> {
    /// Nothing to wait for yet.
    #[must_use]
    pub fn new() -> Poll<'fd> {
        Poll { fds: Vec::new() }
    }

    /// Adds a descriptor; the number asks for it later.
    pub fn add(&mut self, fd: &'fd impl AsFd, interest: Interest) -> usize {
        self.add_fd(fd.as_fd(), interest)
    }

    /// As [`Poll::add`].
    pub fn add_fd(&mut self, fd: BorrowedFd<'fd>, interest: Interest) -> usize {
        let flags = match interest {
            Interest::Read => PollFlags::IN,
            Interest::Write => PollFlags::OUT,
            Interest::Both => PollFlags::IN | PollFlags::OUT,
            Interest::Hangup => PollFlags::empty(),
        };
        self.fds.push(PollFd::from_borrowed_fd(fd, flags));
        self.fds.len() - 1
    }

    /// Waits until one is ready, a signal came, or the time is over (`None`: for ever).
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut self.fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether reading from it, accepting, or seeing its end would not block.
    #[must_use]
    pub fn readable(&self, index: usize) -> bool {
        self.has(index, PollFlags::IN | PollFlags::HUP | PollFlags::ERR)
    }

    /// Whether writing to it would not block.
    #[must_use]
    pub fn writable(&self, index: usize) -> bool {
        self.has(index, PollFlags::OUT | PollFlags::ERR | PollFlags::HUP)
    }

    /// Whether the other end is gone.
    #[must_use]
    pub fn hung_up(&self, index: usize) -> bool {
        self.has(index, PollFlags::HUP | PollFlags::ERR)
    }

    fn has(&self, index: usize, flags: PollFlags) -> bool {
        self.fds
            .get(index)
            .is_some_and(|fd| fd.revents().intersects(flags))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_full_pipe_is_not_waited_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        let writer = File::from(std::os::fd::OwnedFd::from(writer));
        let line = [b'x'; 1000];
        let mut written = 0;
        while write_at_once(&writer, &line).unwrap() {
            written += line.len();
        }
        assert!(written > 0);
        let mut read = vec![0; written];
        reader.read_exact(&mut read).unwrap();
        assert!(write_at_once(&writer, &line).unwrap());
    }

    #[test]
    fn what_may_be_waited_for_is_not_read_at_once() {
        let (pipe, _writer) = io::pipe().unwrap();
        assert!(!is_read_at_once(&pipe));
        assert!(is_read_at_once(&File::open("/dev/null").unwrap()));
        assert!(is_read_at_once(&tempfile::tempfile().unwrap()));
        assert!(!is_read_at_once(&File::open("/dev/zero").unwrap()));
    }
}
