//! Mounts that only a part of the machine sees.

use crate::process::user_namespace;
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

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

/// This process, and what it becomes or starts, sees in `folder` also what `add` makes in the folder that it
/// is called with: an overlay that can't be written, in a mount namespace of this process's own. The folder
/// itself stays as it is. In a user namespace, in which this user alone is, where that is needed for it.
///
/// # Errors
/// This process has several threads; this user may not mount, or the system has no overlays; what `add` says.
pub fn add_to_view(folder: &Path, add: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    if unshare().is_err() {
        user_namespace::enter_new(UnshareFlags::NEWNS)?;
    }
    let others = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", others)?;
    // By descriptors: a path in an overlay's options could end at a comma or a colon of its own.
    let below = open(folder)?;
    let options = c"mode=755,size=16m";
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", folder, "tmpfs", safe, Some(options))?;
    add(folder)?;
    let added = open(folder)?;
    let layer = |folder: &OwnedFd| format!("/proc/self/fd/{}", folder.as_raw_fd());
    // What the folder has stands above.
    let options = format!("lowerdir={}:{}", layer(&below), layer(&added));
    let options = CString::new(options).map_err(io::Error::other)?;
    let flags = safe | MountFlags::RDONLY;
    mount(
        "overlay",
        folder,
        "overlay",
        flags,
        Some(options.as_c_str()),
    )?;
    Ok(())
}

fn open(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::empty())?)
}
