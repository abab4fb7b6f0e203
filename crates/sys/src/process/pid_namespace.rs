//! A PID namespace that a process of its own keeps: the first in it, which inherits what others leave behind
//! and with whose end all that runs there ends.

use super::this::{close_all_but, leave_stdio, new_session, set_name};
use super::user_namespace::write_maps;
use super::{PidFd, exit_now, fork};
use rustix::process::{getegid, geteuid};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// The least number that a namespace's second process has: what the kernel itself does not give again.
const FIRST_PID: u32 = 300;
/// How many numbers a system has at least.
const PIDS: u32 = 32_768;

/// Makes a namespace with a process, this one's sibling, that keeps it as long as a process holds a shared
/// `flock` on the file `lock`. In it runs `enter` first, with its number as this process sees it; what that
/// returns is kept with it.
///
/// Unless root makes it, it is in a user namespace in which this user alone is: that of the process `user`, or a
/// new one.
///
/// # Errors
/// This process has several threads; the system refuses.
pub fn keep_pid_namespace<T>(
    lock: &Path,
    name: &str,
    user: Option<u32>,
    enter: impl FnOnce(u32) -> T,
) -> io::Result<PidFd> {
    if fork::threads() != 1 {
        return Err(io::Error::other("a process with threads can't be forked"));
    }
    let ids = (geteuid().as_raw(), getegid().as_raw());
    let new_ids = (ids.0 != 0 && user.is_none()).then_some(ids);
    let new_user = new_ids.map_or(0, |_| libc::CLONE_NEWUSER);
    let (mut reader, mut writer) = io::pipe()?;
    let first = match user {
        // A process of its own enters the user namespace and forks the keeper, since none leaves one again.
        Some(_) => fork_sibling(0)?,
        None => fork_sibling(libc::CLONE_NEWPID | new_user)?,
    };
    if first.is_none() {
        drop(reader);
        let entered = user.map_or(Ok(None), |user| {
            enter_user(user)?;
            fork_sibling(libc::CLONE_NEWPID)
        });
        let ready = match entered {
            Ok(Some(_keeper)) => exit_now(0),
            Ok(None) => prepare(lock, name, new_ids, writer.as_fd(), enter),
            Err(error) => Err(error),
        };
        let (code, number) = match &ready {
            Ok((number, ..)) => (0, *number),
            Err(error) => (error.raw_os_error().unwrap_or(libc::EIO), 0),
        };
        let words = [code.to_ne_bytes(), number.to_ne_bytes()].concat();
        let _gone = writer.write_all(&words);
        drop(writer);
        if let Ok((_, lock, _entered)) = ready {
            while lock
                .lock()
                .is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
            {}
        }
        exit_now(0);
    }
    drop(writer);
    let (mut code, mut number) = ([0; 4], [0; 4]);
    reader.read_exact(&mut code)?;
    reader.read_exact(&mut number)?;
    match i32::from_ne_bytes(code) {
        0 => PidFd::open(u32::from_ne_bytes(number)),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Forks a sibling of this process, which has one thread, into namespaces of these kinds; the child gets none.
fn fork_sibling(kinds: libc::c_int) -> io::Result<Option<u32>> {
    let flags = kinds | libc::CLONE_PARENT | libc::SIGCHLD;
    let none = 0_usize;
    // SAFETY: a fork: without a stack of its own the child goes on with a copy of this one. This is the only
    // thread, so the child's memory is as whole as the parent's.
    match unsafe { libc::syscall(libc::SYS_clone, flags as usize, none, none, none, none) } {
        0 => Ok(None),
        pid => u32::try_from(pid)
            .map(Some)
            .map_err(|_| io::Error::last_os_error()),
    }
}

/// Puts this process into another's user namespace.
fn enter_user(other: u32) -> io::Result<()> {
    let namespace = File::open(format!("/proc/{other}/ns/user"))?;
    let kind = rustix::thread::LinkNameSpaceType::User;
    rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(kind))?;
    Ok(())
}

/// The namespace's first process makes itself ready.
fn prepare<T>(
    lock: &Path,
    name: &str,
    ids: Option<(u32, u32)>,
    writer: BorrowedFd<'_>,
    enter: impl FnOnce(u32) -> T,
) -> io::Result<(u32, File, T)> {
    // Locks that are the parent's, too.
    close_all_but(&[writer]);
    // It is the parent's: there this process has another number.
    let number = fs::read_link("/proc/self")?;
    let number = number.to_str().and_then(|number| number.parse().ok());
    let number: u32 = number.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    if let Some((user, group)) = ids {
        write_maps(user, group)?;
    }
    // SAFETY: what it inherits is then gone as soon as it ended.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    new_session()?;
    set_name(name);
    let entered = enter(number);
    let lock = File::options().read(true).write(true).open(lock)?;
    std::env::set_current_dir("/")?;
    leave_stdio()?;
    // So that names made of a number of another such namespace, in a folder that outlives it, rarely come
    // again.
    let random = crate::random().map_or(0, u32::from_ne_bytes);
    let first = FIRST_PID + random % (PIDS / 2);
    let _low = fs::write("/proc/sys/kernel/ns_last_pid", first.to_string());
    Ok((number, lock, entered))
}

/// What tells this process's PID namespace from others of this boot; 0 where the system has none.
#[must_use]
pub fn pid_namespace() -> u64 {
    namespace_of(std::process::id(), "pid").unwrap_or(0)
}

/// What tells a process's namespace of a kind (`uts`) from others of this boot; none where this user may
/// not look at it, or it ended.
#[must_use]
pub fn namespace_of(pid: u32, kind: &str) -> Option<u64> {
    let facts = fs::metadata(format!("/proc/{pid}/ns/{kind}")).ok()?;
    Some(std::os::unix::fs::MetadataExt::ino(&facts))
}
