//! Copies of this process.

use std::io;

/// Which side of a fork this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fork {
    /// The new process.
    Child,
    /// The old one; the number is the child's.
    Parent(u32),
}

/// Forks this process, which must have one thread: the child would have only the calling one, with
/// whatever locks the others held.
///
/// # Errors
/// The process has several threads, or the system refused.
pub fn fork() -> io::Result<Fork> {
    if threads() != 1 {
        return Err(io::Error::other("a process with threads can't be forked"));
    }
    // SAFETY: this is the only thread, so the child's memory is as whole as the parent's.
    match unsafe { libc::fork() } {
        0 => Ok(Fork::Child),
        pid => match u32::try_from(pid) {
            Ok(pid) => Ok(Fork::Parent(pid)),
            Err(_) => Err(io::Error::last_os_error()),
        },
    }
}

/// Ends this process at once, without running destructors or flushing: for the child of a fork,
/// which shares its parent's.
pub fn exit_now(code: u8) -> ! {
    // SAFETY: _exit only ends the process.
    unsafe { libc::_exit(i32::from(code)) }
}

/// How many threads this process has: the links of its task folder are `.`, `..` and one each.
pub(super) fn threads() -> u64 {
    match rustix::fs::stat("/proc/self/task") {
        #[expect(
            clippy::useless_conversion,
            reason = "the field's type differs between architectures"
        )]
        Ok(facts) => u64::from(facts.st_nlink).saturating_sub(2),
        // Without /proc nothing can be said.
        Err(_) => 1,
    }
}
