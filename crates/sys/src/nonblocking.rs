use std::io;
use std::os::fd::AsFd;

/// Lets reads and writes on the open file answer `WouldBlock` instead of waiting. Everyone who
/// shares the open file shares this: not for a terminal or pipe that came from elsewhere.
///
/// # Errors
/// What the system says.
pub fn set_nonblocking(fd: &impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}
