//! Children that ended.

use std::io;

/// What became of the children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    /// This one ended, with this `wait` status; what it used, with those of its own children that
    /// it waited for.
    Child(u32, i32, Used),
    /// There are some, and all live.
    AllLive,
    /// There are none.
    NoChildren,
}

/// What an ended child used, as `wait4` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// CPU time in its own code, in microseconds.
    pub user: u64,
    /// CPU time in the kernel, in microseconds.
    pub system: u64,
    /// Most bytes of memory at once.
    pub peak_memory: u64,
    /// Pages brought from a disk.
    pub pages: u64,
    /// Bytes that came from a disk.
    pub read: u64,
    /// Bytes that went to a disk.
    pub written: u64,
}

impl Used {
    fn of(usage: &libc::rusage) -> Used {
        let micros = |time: libc::timeval| {
            let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
            let micros = u64::try_from(time.tv_usec).unwrap_or(0);
            seconds.saturating_mul(1_000_000).saturating_add(micros)
        };
        let count = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
        Used {
            user: micros(usage.ru_utime),
            system: micros(usage.ru_stime),
            // KiB on Linux.
            peak_memory: count(usage.ru_maxrss).saturating_mul(1024),
            pages: count(usage.ru_majflt),
            // Blocks of 512 bytes on Linux.
            read: count(usage.ru_inblock).saturating_mul(512),
            written: count(usage.ru_oublock).saturating_mul(512),
        }
    }
}

/// Takes one ended child of this process, whichever; does not wait.
#[must_use]
pub fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: all of its fields are numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: `status` and `usage` live here; -1 and WNOHANG ask for any child without waiting.
        let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) };
        match u32::try_from(pid) {
            Ok(0) => return Reaped::AllLive,
            Ok(pid) => return Reaped::Child(pid, status, Used::of(&usage)),
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Reaped::NoChildren,
        }
    }
}

/// One child that was stopped since this was last asked, whichever; does not wait.
#[must_use]
pub fn stopped_child() -> Option<u32> {
    loop {
        // SAFETY: plain numbers and pointers, for which zeros are values.
        let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let asked = libc::WSTOPPED | libc::WNOHANG;
        // SAFETY: `told` lives here.
        if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut told, asked) } == 0 {
            // SAFETY: the system filled it in, or it is all zeros.
            let pid = unsafe { told.si_pid() };
            return u32::try_from(pid).ok().filter(|pid| *pid > 0);
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
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
