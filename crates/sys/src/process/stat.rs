//! `/proc/<pid>/stat`.

use std::io;

/// The kernel's flag of a process that has begun to end.
const PF_EXITING: u32 = 4;

/// When a process started, in clock ticks since boot; `None` where there is none, or only its
/// zombie.
#[must_use]
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = read(pid)?;
    (!stat.dead).then_some(stat.start_time)
}

/// Whether process `pid` lives and is the one that started at `start_time`.
#[must_use]
pub fn is_same(pid: u32, start_time: u64) -> bool {
    self::start_time(pid) == Some(start_time)
}

/// The same, told apart from what can't be known.
///
/// # Errors
/// It can't be told now, as where this process may open no further file.
pub fn lives(pid: u32, start_time: u64) -> io::Result<bool> {
    let stat = look(pid)?.filter(|stat| !stat.dead);
    Ok(stat.is_some_and(|stat| stat.start_time == start_time))
}

/// A process's parent.
#[must_use]
pub fn parent(pid: u32) -> Option<u32> {
    read(pid).map(|stat| stat.parent)
}

/// The session that a process belongs to: the number of the process that began it. Not given to
/// another process while the session has any.
#[must_use]
pub fn session(pid: u32) -> Option<u32> {
    let stat = read(pid)?;
    (!stat.dead).then_some(stat.session)
}

/// Whether a process was stopped, by a signal or a debugger.
#[must_use]
pub fn is_stopped(pid: u32) -> bool {
    read(pid).is_some_and(|stat| stat.stopped)
}

/// Whether a process has begun to end, or has ended: it no longer holds its files and locks, and may still wait
/// for others.
#[must_use]
pub fn is_ending(pid: u32) -> bool {
    read(pid).is_none_or(|stat| stat.dead || stat.ending)
}

/// Whether a process is there and has begun to end.
#[must_use]
pub fn has_begun_to_end(pid: u32) -> bool {
    read(pid).is_some_and(|stat| stat.dead || stat.ending)
}

/// What is read of `/proc/<pid>/stat`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Zombie, or about to vanish.
    pub dead: bool,
    pub stopped: bool,
    /// Has begun to end.
    pub ending: bool,
    pub parent: u32,
    pub session: u32,
    pub start_time: u64,
    /// CPU time of itself and of its children that have ended, in ticks.
    pub cpu_ticks: u64,
    /// Pages brought from a disk.
    pub major_faults: u64,
}

pub(super) fn read(pid: u32) -> Option<Stat> {
    look(pid).ok().flatten()
}

/// `None`: there is no such process.
pub(super) fn look(pid: u32) -> io::Result<Option<Stat>> {
    match std::fs::read(format!("/proc/{pid}/stat")) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // It ended between the opening and the reading.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        // Another user's, of which nothing is told (`hidepid`): none of ours.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(text: &[u8]) -> Option<Stat> {
    // The command's name stands in parentheses and may hold anything, parentheses too.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // Field 6 of the line, and 22; state is field 3, the parent's is field 4.
    let session = fields.nth(1)?.parse().ok()?;
    // Field 9, field 12, then fields 14 to 17.
    let flags: u32 = fields.nth(2)?.parse().ok()?;
    let major_faults = fields.nth(2)?.parse().ok()?;
    let mut cpu_ticks = 0;
    let times = fields.by_ref().skip(1).take(4);
    for time in times {
        cpu_ticks += time.parse::<i64>().ok()?.max(0).cast_unsigned();
    }
    let start_time = fields.nth(4)?.parse().ok()?;
    Some(Stat {
        dead: matches!(state, "Z" | "X" | "x"),
        stopped: matches!(state, "T" | "t"),
        ending: flags & PF_EXITING != 0,
        parent,
        session,
        start_time,
        cpu_ticks,
        major_faults,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses() {
        let line = b"7 (a) b (c) S 3 7 8 0 -1 4194560 1 0 2 0 11 5 3 1 20 0 1 0 12345 1 1\n";
        let want = Stat {
            dead: false,
            stopped: false,
            ending: false,
            parent: 3,
            session: 8,
            start_time: 12345,
            cpu_ticks: 20,
            major_faults: 2,
        };
        assert_eq!(parse(line), Some(want));
        let ending = b"7 (a) S 3 7 8 0 -1 4194564 1 0 2 0 11 5 3 1 20 0 1 0 12345 1 1\n";
        assert!(parse(ending).unwrap().ending);
    }

    #[test]
    fn this_process_is_itself() {
        let pid = std::process::id();
        let started = start_time(pid).unwrap();
        assert!(is_same(pid, started));
        assert!(!is_same(pid, started + 1));
        assert!(parent(pid).is_some());
    }
}
