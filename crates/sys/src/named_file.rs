//! Files that a user named: they may lie where other users put pipes.

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file that `user` named. A pipe is waited on for its other end, as `open` does, if that
/// user or root made it; another's is refused.
///
/// # Errors
/// What the system says; the pipe of another user.
pub fn open(options: &mut OpenOptions, path: &Path, user: u32) -> io::Result<File> {
    // Neither waits for another process nor is seen by one.
    let place = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    if let Ok(place) = place.map(File::from)
        && refused_or_own_pipe(&place.metadata()?, user)?
    {
        let same = format!("/proc/self/fd/{}", place.as_raw_fd());
        return options.open(same);
    }
    let no_wait = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
    let file = options.clone().custom_flags(no_wait).open(path)?;
    // It took the place of another file meanwhile.
    if refused_or_own_pipe(&file.metadata()?, user)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

fn refused_or_own_pipe(facts: &Metadata, user: u32) -> io::Result<bool> {
    if !facts.file_type().is_fifo() {
        return Ok(false);
    }
    if facts.uid() == user || facts.uid() == 0 {
        return Ok(true);
    }
    let problem = format!("it is a pipe of user {}", facts.uid());
    Err(io::Error::other(problem))
}
