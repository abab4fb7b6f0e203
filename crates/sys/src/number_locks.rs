//! What was given to jobs of a machine's CPUs, GPUs and ports, told to the engines and jobs of all users.
//!
//! A file that no user can write, in which the byte of a number is locked by each process that holds
//! what has the number: a CPU or a port by its own in one file for all, a GPU by 0 in a file of its own, which is named for
//! it. Without the right to write there are shared locks alone, so whoever takes a number locks its byte and
//! then looks whether another has done so too: of two that take it at once neither gets it, and both look again.

mod holders;

pub use holders::EngineProcess;

use crate::env_vars::TRAINYARD_CPU_LOCKS;
use crate::shared_file::{self, SharedFileError};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Locks on numbers. They end with this value, or its process.
#[derive(Debug)]
pub struct NumberLocks {
    file: File,
    held: BTreeSet<u32>,
}

impl NumberLocks {
    /// Of the machine's CPUs, and what stands where their file should. Nothing is locked yet.
    ///
    /// # Errors
    /// As [`NumberLocks::open`].
    pub fn of_cpus() -> io::Result<(NumberLocks, Vec<SharedFileError>)> {
        NumberLocks::open(&folder().join(NAME))
    }

    /// Of the machine's ports. Nothing is locked yet.
    ///
    /// # Errors
    /// As [`NumberLocks::open`].
    pub fn of_ports() -> io::Result<NumberLocks> {
        let (locks, _passed_over) = NumberLocks::open(&folder().join(PORTS))?;
        Ok(locks)
    }

    /// Of a file, and what stands where it should. Nothing is locked yet.
    ///
    /// # Errors
    /// The file can't be opened, or its file system knows no such locks.
    pub fn open(path: &Path) -> io::Result<(NumberLocks, Vec<SharedFileError>)> {
        let (file, passed_over) = shared_file::open_first(path)?;
        // Kernels before 3.15 have none; asked here, so that it is said once.
        is_free(&file, Run { first: 0, count: 1 })?;
        let held = BTreeSet::new();
        Ok((NumberLocks { file, held }, passed_over))
    }

    /// Numbers that this value holds.
    #[must_use]
    pub fn held(&self) -> &BTreeSet<u32> {
        &self.held
    }

    /// Takes numbers that no other process holds; those of them that others hold.
    ///
    /// # Errors
    /// What the system says.
    pub fn take(&mut self, numbers: impl IntoIterator<Item = u32>) -> io::Result<BTreeSet<u32>> {
        let wanted = numbers
            .into_iter()
            .filter(|number| !self.held.contains(number));
        let wanted: BTreeSet<u32> = wanted.collect();
        let mut others = BTreeSet::new();
        for run in Run::all(&wanted) {
            if self.take_run(run)? {
                self.held.extend(run.numbers());
                continue;
            }
            for number in run.numbers() {
                let one = Run {
                    first: number,
                    count: 1,
                };
                if self.take_run(one)? {
                    self.held.insert(number);
                } else {
                    others.insert(number);
                }
            }
        }
        Ok(others)
    }

    /// Whether all of a run are its own now; none of them is otherwise.
    fn take_run(&self, run: Run) -> io::Result<bool> {
        // Beside a lock of its own the kernel tells only of others'.
        set(&self.file, run, libc::F_RDLCK)?;
        let is_own = is_free(&self.file, run)?;
        if !is_own {
            set(&self.file, run, libc::F_UNLCK)?;
        }
        Ok(is_own)
    }

    /// Holds numbers beside the process that took them, which may end before this one.
    ///
    /// # Errors
    /// What the system says.
    pub fn share(&mut self, numbers: impl IntoIterator<Item = u32>) -> io::Result<()> {
        let wanted: BTreeSet<u32> = numbers.into_iter().collect();
        for run in Run::all(&wanted) {
            set(&self.file, run, libc::F_RDLCK)?;
        }
        self.held.extend(wanted);
        Ok(())
    }

    /// Gives back all but these.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&mut self, numbers: &BTreeSet<u32>) -> io::Result<()> {
        let gone: BTreeSet<u32> = self.held.difference(numbers).copied().collect();
        for run in Run::all(&gone) {
            set(&self.file, run, libc::F_UNLCK)?;
        }
        self.held.retain(|number| numbers.contains(number));
        Ok(())
    }
}

impl Drop for NumberLocks {
    fn drop(&mut self) {
        // A fork that has not become another program yet has the same open file.
        let _ended = self.keep(&BTreeSet::new());
    }
}

/// Engines of others that hold any of these CPUs, one of each user; where the system keeps the locks of other
/// users' processes from this one, all their engines.
#[must_use]
pub fn cpu_holders(cpus: &BTreeSet<u32>) -> Vec<EngineProcess> {
    holders::of(&folder(), cpus)
}

/// Of the file of the CPUs.
const NAME: &str = ".trainyard-cpus.lock";

/// Of the file of ports that were chosen for programs.
const PORTS: &str = ".trainyard-ports.lock";

/// Where they are.
fn folder() -> PathBuf {
    let said = std::env::var_os(TRAINYARD_CPU_LOCKS).map(PathBuf::from);
    let said = said.filter(|path| path.is_absolute());
    said.unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// Numbers that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    count: u32,
}

impl Run {
    fn all(numbers: &BTreeSet<u32>) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some(run) if run.first.checked_add(run.count) == Some(*number) => run.count += 1,
                _ => runs.push(Run {
                    first: *number,
                    count: 1,
                }),
            }
        }
        runs
    }

    fn numbers(self) -> impl Iterator<Item = u32> {
        self.first..self.first.saturating_add(self.count)
    }

    fn lock(self, kind: libc::c_int) -> libc::flock {
        // SAFETY: a plain structure of numbers, for which zeros are values.
        #[expect(
            unsafe_code,
            reason = "the structure has fields of its own on some machines"
        )]
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = i16::try_from(kind).unwrap_or_default();
        lock.l_whence = i16::try_from(libc::SEEK_SET).unwrap_or_default();
        lock.l_start = self.first.into();
        lock.l_len = self.count.into();
        lock
    }
}

fn set(file: &File, run: Run, kind: libc::c_int) -> io::Result<()> {
    let mut lock = run.lock(kind);
    fcntl(file, libc::F_OFD_SETLK, &mut lock)
}

/// Whether no other process holds any of a run.
fn is_free(file: &File, run: Run) -> io::Result<bool> {
    let mut lock = run.lock(libc::F_WRLCK);
    fcntl(file, libc::F_OFD_GETLK, &mut lock)?;
    Ok(libc::c_int::from(lock.l_type) == libc::F_UNLCK)
}

fn fcntl(file: &File, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the structure lives for as long as the call.
    #[expect(unsafe_code, reason = "no library of ours has locks of open files")]
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(lock)) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_of(cpus: &[u32]) -> BTreeSet<u32> {
        cpus.iter().copied().collect()
    }

    #[test]
    fn a_cpu_is_held_until_its_last_holder_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let open = || NumberLocks::open(&folder.path().join(NAME)).unwrap().0;
        let (mut one, mut other) = (open(), open());
        assert_eq!(one.take([0, 1, 2, 7]).unwrap(), set_of(&[]));
        assert_eq!(other.take([1, 3, 7]).unwrap(), set_of(&[1, 7]));
        assert_eq!(other.held(), &set_of(&[3]));
        assert_eq!(one.take([0, 3]).unwrap(), set_of(&[3]));
        // A job's supervisor holds them too.
        let mut supervisor = open();
        supervisor.share([0, 1]).unwrap();
        one.keep(&set_of(&[2])).unwrap();
        assert_eq!(other.take([0, 1, 2, 7]).unwrap(), set_of(&[0, 1, 2]));
        drop(supervisor);
        drop(one);
        assert_eq!(other.take([0, 1, 2]).unwrap(), set_of(&[]));
        assert_eq!(other.held(), &set_of(&[0, 1, 2, 3, 7]));
    }

    #[test]
    fn no_user_can_write_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        NumberLocks::open(&folder.path().join(NAME)).unwrap();
        let mode = folder.path().join(NAME).metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o444);
    }

    #[test]
    fn another_thing_in_the_place_of_the_file_is_passed_over_by_all() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join(NAME)).unwrap();
        let (mut one, passed_over) = NumberLocks::open(&folder.path().join(NAME)).unwrap();
        assert_eq!(passed_over.len(), 1);
        assert_eq!(one.take([4]).unwrap(), set_of(&[]));
        let (mut other, _) = NumberLocks::open(&folder.path().join(NAME)).unwrap();
        assert_eq!(other.take([4]).unwrap(), set_of(&[4]));
    }
}
