//! Terminals: pairs of them, their size, and raw mode.

use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, Termios, Winsize, isatty, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr, tcsetpgrp, tcsetwinsize,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A pseudo terminal.
#[derive(Debug)]
pub struct Pair {
    /// Our side.
    pub ours: OwnedFd,
    /// The side that a program gets as its terminal.
    pub theirs: OwnedFd,
}

/// Rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Rows.
    pub rows: u16,
    /// Columns.
    pub columns: u16,
}

/// Opens a pseudo terminal; both sides are close-on-exec.
///
/// # Errors
/// What the system says: no `/dev/pts`, say.
pub fn open() -> io::Result<Pair> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::openat(CWD, &name, flags, Mode::empty())?;
    Ok(Pair { ours, theirs })
}

/// A terminal's size; `None` where it is no terminal, or its size is unknown.
#[must_use]
pub fn size(terminal: &impl AsFd) -> Option<Size> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some(Size {
        rows: size.ws_row,
        columns: size.ws_col,
    })
}

/// A terminal's columns; `None` where it is no terminal, or its size is unknown. Its rows may be unknown.
#[must_use]
pub fn columns(terminal: &impl AsFd) -> Option<u16> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// Whether a program reads the terminal letter by letter, as a shell does that edits its lines. False
/// where it is no terminal.
#[must_use]
pub fn is_raw(terminal: &impl AsFd) -> bool {
    tcgetattr(terminal).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON))
}

/// Sets a terminal's size; its program gets SIGWINCH.
///
/// # Errors
/// It is no terminal.
pub fn set_size(terminal: &impl AsFd, size: Size) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(terminal, size)?)
}

/// Whether it is a terminal.
#[must_use]
pub fn is_terminal(fd: &impl AsFd) -> bool {
    isatty(fd)
}

/// The process group that a terminal's keys reach; `None` where it is not this session's.
#[must_use]
pub fn foreground(terminal: &impl AsFd) -> Option<u32> {
    let group = tcgetpgrp(terminal).ok()?;
    u32::try_from(group.as_raw_nonzero().get()).ok()
}

/// Hands a terminal to a process group of this session: its keys reach that one. The caller has SIGTTOU
/// blocked, or stops where it is in the background itself.
///
/// # Errors
/// It is not this session's terminal, or there is no such group.
pub fn set_foreground(terminal: &impl AsFd, group: u32) -> io::Result<()> {
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    let group = group.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(tcsetpgrp(terminal, group)?)
}

/// Raw mode, until this is dropped: every key goes to the reader as it is.
#[derive(Debug)]
pub struct Raw<T: AsFd> {
    terminal: T,
    before: Termios,
}

impl<T: AsFd> Raw<T> {
    /// Switches the terminal to raw mode.
    ///
    /// # Errors
    /// It is no terminal.
    pub fn enter(terminal: T) -> io::Result<Raw<T>> {
        let before = tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw)?;
        Ok(Raw { terminal, before })
    }
}

impl<T: AsFd> Drop for Raw<T> {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_a_size_and_raw_mode_ends() {
        let pair = open().unwrap();
        let want = Size {
            rows: 30,
            columns: 100,
        };
        set_size(&pair.ours, want).unwrap();
        assert_eq!(size(&pair.theirs), Some(want));
        let no_rows = Size { rows: 0, ..want };
        set_size(&pair.ours, no_rows).unwrap();
        assert_eq!(size(&pair.theirs), None);
        assert_eq!(columns(&pair.theirs), Some(100));
        let canonical = || {
            tcgetattr(&pair.theirs)
                .unwrap()
                .local_modes
                .contains(LocalModes::ICANON)
        };
        assert!(canonical());
        let raw = Raw::enter(pair.theirs.as_fd()).unwrap();
        assert!(!canonical());
        drop(raw);
        assert!(canonical());
    }
}
