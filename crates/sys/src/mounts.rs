//! Mounts that only a part of the machine sees.

use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;

/// Gives this thread, and what it starts from now on, a mount namespace of its own.
///
/// # Errors
/// This user may not.
pub fn unshare() -> io::Result<()> {
    // SAFETY: with this flag no descriptor table is left, only the mounts and the working folder
    // that this thread shares with others.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    Ok(())
}
