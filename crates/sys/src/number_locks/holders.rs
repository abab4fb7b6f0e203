//! Whose processes hold locks on CPUs, as `/proc` tells it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An engine, or a supervisor whose engine is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineProcess {
    /// Its number; `None` where it is only known that the user has engines.
    pub pid: Option<u32>,
    /// Its user.
    pub uid: u32,
}

/// How far it is known that a process holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    /// Its locks say so.
    Locks,
    /// It is another user's engine, whose locks this process may not see.
    Engine,
}

/// One process of each user that holds a lock on some of these CPUs on a folder; where none is
/// seen, those whose locks may not be seen.
pub(super) fn of(folder: &Path, cpus: &BTreeSet<u32>) -> Vec<EngineProcess> {
    let locked = file_id(folder);
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // Of a user's processes the engine stands for its supervisors.
    let mut found: BTreeMap<(Known, u32), (bool, u32)> = BTreeMap::new();
    for pid in pids.filter(|pid| *pid != std::process::id()) {
        let is_supervisor = !is_engine(pid);
        let known = match holds(pid, locked, cpus) {
            Some(true) => Known::Locks,
            None if !is_supervisor => Known::Engine,
            Some(false) | None => continue,
        };
        let Ok(facts) = fs::metadata(format!("/proc/{pid}")) else {
            continue;
        };
        let own = (is_supervisor, pid);
        let best = found.entry((known, facts.uid())).or_insert(own);
        *best = own.min(*best);
    }
    let surely = found.keys().any(|(known, _)| *known == Known::Locks);
    let found = found.into_iter();
    let found = found.filter(|((known, _), _)| !surely || *known == Known::Locks);
    let holder = |((known, uid), (_, pid))| EngineProcess {
        pid: (known == Known::Locks).then_some(pid),
        uid,
    };
    found.map(holder).collect()
}

/// Device and inode.
type FileId = (u64, u64);

fn file_id(path: &Path) -> Option<FileId> {
    let facts = fs::metadata(path).ok()?;
    Some((facts.dev(), facts.ino()))
}

/// Whether a process has a lock on any of the CPUs; `None` where it may not be looked at.
fn holds(pid: u32, locked: Option<FileId>, cpus: &BTreeSet<u32>) -> Option<bool> {
    let entries = match fs::read_dir(format!("/proc/{pid}/fdinfo")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
        Err(_) => return Some(false),
    };
    let holds = entries.flatten().any(|entry| {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let mut locks = text.lines().filter_map(Locked::parse);
        let has_cpu = locks.any(|lock| cpus.iter().any(|cpu| lock.has(*cpu)));
        // The device that stands beside the lock is not always what files there say of theirs.
        let file = Path::new("/proc").join(pid.to_string()).join("fd");
        has_cpu && locked.is_some() && file_id(&file.join(entry.file_name())) == locked
    });
    Some(holds)
}

/// A line of `/proc/PID/fdinfo/FD` about a lock.
#[derive(Debug, PartialEq, Eq)]
struct Locked {
    first: u64,
    last: u64,
}

impl Locked {
    /// `lock:\t1: OFDLCK ADVISORY  READ -1 00:2f:4711 3 5`
    fn parse(line: &str) -> Option<Locked> {
        let mut words = line.strip_prefix("lock:")?.split_whitespace().skip(6);
        let first = words.next()?.parse().ok()?;
        let last = match words.next()? {
            "EOF" => u64::MAX,
            last => last.parse().ok()?,
        };
        (first <= last).then_some(Locked { first, last })
    }

    fn has(&self, cpu: u32) -> bool {
        (self.first..=self.last).contains(&u64::from(cpu))
    }
}

/// Whether a process is an engine: `…/yard engine serve …`.
fn is_engine(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0);
    let program = words
        .next()
        .is_some_and(|program| program.ends_with(b"/yard"));
    program
        && words.next() == Some(b"engine")
        && words.next() == Some(b"serve")
        && fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "yard")
}

#[cfg(test)]
mod tests {
    use super::super::{NumberLocks, Numbered};
    use super::*;

    #[test]
    fn locks_as_the_kernel_prints_them() {
        let check = |line: &str, want: Option<(u64, u64)>| {
            let found = Locked::parse(line);
            let found = found.map(|lock| (lock.first, lock.last));
            assert_eq!(found, want, "{line}");
        };
        check(
            "lock:\t1: OFDLCK ADVISORY  READ -1 00:2f:4711 3 5",
            Some((3, 5)),
        );
        check(
            "lock:\t1: POSIX  ADVISORY  WRITE 17 fd:01:9 0 EOF",
            Some((0, u64::MAX)),
        );
        check("lock:\t1: FLOCK  ADVISORY  WRITE 17 fd:01:9", None);
        check("pos:\t0", None);
    }

    #[test]
    fn a_process_that_holds_a_lock_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let mut locks = NumberLocks::open(folder.path(), Numbered::Cpus).unwrap();
        locks.take([2, 3]).unwrap();
        let of = |locked, cpus: &[u32]| {
            holds(std::process::id(), locked, &cpus.iter().copied().collect())
        };
        let locked = file_id(folder.path());
        let own = |cpus: &[u32]| of(locked, cpus);
        assert_eq!(own(&[1, 3]), Some(true));
        assert_eq!(own(&[1, 4]), Some(false));
        // One of another device with the same inode is another one.
        let other = locked.map(|(device, inode)| (device + 1, inode));
        assert_eq!([of(other, &[3]), of(None, &[3])], [Some(false); 2]);
    }
}
