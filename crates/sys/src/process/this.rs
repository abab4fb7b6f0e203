//! Properties of this process.

use rustix::process::{getpid, getppid, set_child_subreaper, setsid};
use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Becomes the parent of descendants whose own parent ends, so that no descendant is lost.
///
/// # Errors
/// A kernel before 3.4.
pub fn become_subreaper() -> io::Result<()> {
    // Any number other than 0 switches it on.
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Begins a session of its own: no terminal, and signals to the old group pass it by.
///
/// # Errors
/// This process leads a group already.
pub fn new_session() -> io::Result<()> {
    Ok(setsid().map(drop)?)
}

/// Has what a command starts lead a session of its own, without this one's terminal.
pub fn start_in_own_session(command: &mut Command) {
    // SAFETY: between fork and exec nothing but setsid is called.
    unsafe { command.pre_exec(new_session) };
}

/// Whether a process leads a group that it was put into without a session of its own.
#[must_use]
pub fn leads_a_group(pid: u32) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| {
        rustix::process::getpgid(Some(pid)).is_ok_and(|group| group == pid)
            && rustix::process::getsid(Some(pid)).is_ok_and(|session| session != pid)
    })
}

/// Has the kernel kill this process as soon as its parent's thread that forked it ends.
///
/// # Errors
/// What the system says.
pub fn end_with_parent() -> io::Result<()> {
    let kill = rustix::process::Signal::KILL;
    Ok(rustix::process::set_parent_process_death_signal(Some(
        kill,
    ))?)
}

/// Sets the name that `ps -o comm` and `top` show; 15 bytes of it.
pub fn set_name(name: &str) {
    if let Ok(name) = CString::new(name) {
        let _ = rustix::thread::set_name(&name);
    }
}

/// The parent's number; 0 where it lies outside this PID namespace.
#[must_use]
pub fn parent_of_this() -> u32 {
    getppid().map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs())
}

/// The session that this process belongs to; 0 where it was begun outside this PID namespace.
#[must_use]
pub fn session_of_this() -> u32 {
    // SAFETY: a number goes in and one comes out.
    u32::try_from(unsafe { libc::getsid(0) }).unwrap_or(0)
}

/// This process's group.
#[must_use]
pub fn group_of_this() -> u32 {
    rustix::process::getpgrp()
        .as_raw_nonzero()
        .get()
        .unsigned_abs()
}

/// The user that this process is.
#[must_use]
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Sets the mask of permissions that new files don't get; returns the former.
pub fn set_umask(mask: u32) -> u32 {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask)).as_raw_mode()
}

/// The mask of permissions that new files don't get, without changing it for a moment: another
/// thread may be making a file.
#[must_use]
pub fn umask() -> u32 {
    // Room for all of it: a file of /proc says no size, and would be read in small portions.
    let mut status = String::with_capacity(4096);
    let file = std::fs::File::open("/proc/self/status");
    let _unread = file.and_then(|mut file| file.read_to_string(&mut status));
    let text = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    text.and_then(|text| u32::from_str_radix(text.trim(), 8).ok())
        .unwrap_or(0o022)
}

/// As [`umask`], asked in a fraction of the time by a process that has one thread: the mask is another one
/// for a moment, which gives less than any.
#[must_use]
pub fn umask_of_one_thread() -> u32 {
    let mask = set_umask(0o777);
    set_umask(mask);
    mask
}

/// How readily the kernel kills this process for memory: -1000 (never) to 1000.
#[must_use]
pub fn oom_score_adj() -> i32 {
    std::fs::read_to_string("/proc/self/oom_score_adj")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
}

/// From now on standard error is this file.
///
/// # Errors
/// What the system says.
pub fn write_errors_to(file: &std::fs::File) -> io::Result<()> {
    Ok(rustix::stdio::dup2_stderr(file)?)
}

/// How many descriptors this process may have open.
#[must_use]
pub fn descriptor_limit() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.unwrap_or(u64::MAX)
}

/// Closes every descriptor from 3 on but `keep`: what whoever started this process left open.
pub fn close_all_but(keep: &[BorrowedFd<'_>]) {
    let mut kept: Vec<u32> = keep
        .iter()
        .map(|fd| fd.as_raw_fd().unsigned_abs())
        .filter(|fd| *fd > 2)
        .collect();
    kept.sort_unstable();
    let mut first = 3;
    for fd in kept {
        if fd > first {
            close_range(first, fd - 1);
        }
        first = fd + 1;
    }
    close_range(first, u32::MAX);
}

/// Closes descriptors by number, both ends included.
fn close_range(first: u32, last: u32) {
    // SAFETY: called in a freshly forked process before it opens anything of its own, so no owner
    // of these descriptors is left that would use or close them again.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    // A kernel before 5.9: one by one.
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let open: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for fd in open.into_iter().filter(|fd| (first..=last).contains(fd)) {
        // SAFETY: as above. (One of them is the folder just read, closed already: an error that
        // does no harm.)
        unsafe { libc::close(fd.cast_signed()) };
    }
}

/// Makes stdin and stdout `/dev/null`; stderr stays.
///
/// # Errors
/// There is no `/dev/null`.
pub fn leave_stdio() -> io::Result<()> {
    let null = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(rustix::stdio::dup2_stdout(&null)?)
}

/// Makes stdout and stderr a file, at whose end both write; it is made where it is missing.
///
/// # Errors
/// It can't be opened.
pub fn write_output_to(path: &Path) -> io::Result<()> {
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path)?;
    rustix::stdio::dup2_stdout(&file)?;
    Ok(rustix::stdio::dup2_stderr(&file)?)
}
