//! A user namespace in which the user of this process alone is.

use super::fork;
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs;
use std::io;

/// Puts this process into a new one, and into new namespaces of the kinds `more`.
///
/// # Errors
/// This process has several threads; the system refuses.
pub(crate) fn enter_new(more: UnshareFlags) -> io::Result<()> {
    if fork::threads() != 1 {
        return Err(io::Error::other(
            "a process with threads can't enter a user namespace",
        ));
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // SAFETY: namespaces take no descriptors away that another thread uses, and there is none.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | more) }?;
    write_maps(user, group)
}

/// Has the new user namespace of this process know its user and group.
///
/// # Errors
/// What the system says.
pub(super) fn write_maps(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))
}
