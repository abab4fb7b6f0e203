//! What the kernel says that a process does right now.

use std::fmt;
use std::fs;

/// What a process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing {
    /// Its program's name, at most 15 bytes.
    pub name: String,
    /// The kernel's letter: `R` runs, `S` sleeps, `D` waits for a disk, `T` was stopped, `Z` is dead.
    pub state: char,
    /// The system call that its first thread waits in; `None` where it computes, or where the kernel
    /// does not say.
    pub call: Option<String>,
}

/// The system calls that programs wait in.
const CALLS: &[(libc::c_long, &str)] = &[
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_pread64, "pread"),
    (libc::SYS_pwrite64, "pwrite"),
    (libc::SYS_openat, "openat"),
    (libc::SYS_newfstatat, "fstatat"),
    (libc::SYS_statx, "statx"),
    (libc::SYS_close, "close"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_ppoll, "poll"),
    (libc::SYS_pselect6, "select"),
    (libc::SYS_epoll_pwait, "epoll"),
    (libc::SYS_recvfrom, "recv"),
    (libc::SYS_recvmsg, "recv"),
    (libc::SYS_sendto, "send"),
    (libc::SYS_sendmsg, "send"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_accept4, "accept"),
    (libc::SYS_nanosleep, "sleep"),
    (libc::SYS_clock_nanosleep, "sleep"),
    (libc::SYS_sched_yield, "sched_yield"),
    (libc::SYS_wait4, "wait"),
    (libc::SYS_waitid, "wait"),
    (libc::SYS_rt_sigsuspend, "pause"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_poll, "poll"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_select, "select"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_epoll_wait, "epoll"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_accept, "accept"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_pause, "pause"),
];

/// Looks at a process; `None` where there is none.
#[must_use]
pub fn doing(pid: u32) -> Option<Doing> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    // Readable by its own user, unless it protects itself.
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).ok();
    Some(Doing {
        name: name.to_owned(),
        state: rest.trim_start().chars().next()?,
        call: call.and_then(|line| call_name(&line)),
    })
}

/// The call of a line of `/proc/<pid>/syscall`; `None` of a process that computes.
fn call_name(line: &str) -> Option<String> {
    let number: libc::c_long = line.split_ascii_whitespace().next()?.parse().ok()?;
    let known = CALLS.iter().find(|(known, _)| *known == number);
    match known {
        Some((_, name)) => Some((*name).to_owned()),
        // -1 is a process that waits outside of any call.
        None if number < 0 => None,
        None => Some(format!("system call {number}")),
    }
}

impl fmt::Display for Doing {
    /// `python in read`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.state, &self.call) {
            ('T' | 't', _) => write!(f, "{} is stopped by a signal", self.name),
            ('D', Some(call)) => write!(f, "{} waits for a disk in {call}", self.name),
            ('D', None) => write!(f, "{} waits for a disk", self.name),
            ('R', None) => write!(f, "{} computes", self.name),
            (_, Some(call)) => write!(f, "{} in {call}", self.name),
            (_, None) => write!(f, "{} sleeps", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn the_calls_of_a_line() {
        assert_eq!(call_name("running\n"), None);
        assert_eq!(call_name("-1 0x7ffe 0x7f\n"), None);
        let read = format!("{} 0x3 0x7f\n", libc::SYS_read);
        assert_eq!(call_name(&read).as_deref(), Some("read"));
        assert_eq!(call_name("99999 0x0").as_deref(), Some("system call 99999"));
    }

    #[test]
    fn what_a_process_does() {
        // Its standard input is a pipe that gives nothing.
        let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let reads = |seen: &Doing| seen.name == "cat" && seen.state == 'S';
        while !doing(cat.id()).as_ref().is_some_and(reads) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let seen = doing(cat.id()).unwrap();
        assert!(
            ["cat in read", "cat sleeps"].contains(&seen.to_string().as_str()),
            "{seen:?}"
        );
        crate::process::signal(cat.id(), libc::SIGSTOP).unwrap();
        while doing(cat.id()).unwrap().state != 'T' && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let seen = doing(cat.id()).unwrap().to_string();
        assert_eq!(seen, "cat is stopped by a signal");
        cat.kill().unwrap();
        cat.wait().unwrap();
        assert_eq!(doing(cat.id()), None);
    }
}
