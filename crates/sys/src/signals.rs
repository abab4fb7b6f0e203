//! Signals that are read like a file.

use crate::poll::{Interest, Poll};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Ends a process, which can't catch it.
pub const SIGKILL: i32 = libc::SIGKILL;
/// Stops a process, which can't catch it.
pub const SIGSTOP: i32 = libc::SIGSTOP;
/// Lets a stopped process go on.
pub const SIGCONT: i32 = libc::SIGCONT;

/// Signals that were blocked for this thread (and the threads and programs that it starts, until
/// they unblock them) and arrive here instead.
#[derive(Debug)]
pub struct SignalFd {
    fd: OwnedFd,
}

impl SignalFd {
    /// Blocks `signals` and opens their descriptor, which never blocks a reader.
    ///
    /// # Errors
    /// What the system says.
    pub fn block(signals: &[i32]) -> io::Result<SignalFd> {
        let set = set_of(signals);
        // SAFETY: `set` is initialised; the old mask is not asked for.
        let result =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if result != 0 {
            return Err(io::Error::from_raw_os_error(result));
        }
        // SAFETY: `set` is initialised; -1 makes a new descriptor.
        let fd =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd made it for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(SignalFd { fd })
    }

    /// The next signal that arrived, if any.
    #[must_use]
    pub fn next(&self) -> Option<i32> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has the size that is given, and the kernel writes whole records.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if read != isize::try_from(size).unwrap_or(isize::MAX) {
            return None;
        }
        // SAFETY: a whole record was read.
        let info = unsafe { info.assume_init() };
        i32::try_from(info.ssi_signo).ok()
    }

    /// Calls `each` with every signal, on a thread of its own, until it returns false.
    pub fn watch(self, mut each: impl FnMut(i32) -> bool + Send + 'static) {
        std::thread::spawn(move || {
            loop {
                let mut poll = Poll::new();
                poll.add(&self, Interest::Read);
                if poll.wait(None).is_err() {
                    return;
                }
                drop(poll);
                while let Some(signal) = self.next() {
                    if !each(signal) {
                        return;
                    }
                }
            }
        });
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Lets this thread, and the programs that it starts, get every signal again.
pub fn unblock_all() {
    let set = set_of(&[]);
    // SAFETY: `set` is initialised; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()) };
}

/// Whether this process ignores a signal, as who started it may have had it do.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed, and the buffer has the size of what is asked for.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: zeros are a valid value of it, and the system has written it else.
    asked == 0 && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set; sigaddset refuses numbers that are no signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_known() {
        // Rust's own start has it ignored.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGWINCH));
    }

    #[test]
    fn a_blocked_signal_is_read() {
        // A thread of its own: the mask is a thread's, and tests share their process.
        let thread = std::thread::spawn(|| {
            let signals = SignalFd::block(&[libc::SIGUSR2]).unwrap();
            assert_eq!(signals.next(), None);
            // SAFETY: raises a signal that this thread has blocked.
            unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGUSR2) };
            let mut poll = Poll::new();
            let index = poll.add(&signals, Interest::Read);
            poll.wait(None).unwrap();
            assert!(poll.readable(index));
            assert_eq!(signals.next(), Some(libc::SIGUSR2));
            assert_eq!(signals.next(), None);
        });
        thread.join().unwrap();
    }
}
