//! What was given to jobs of a machine's CPUs, GPUs and ports, told to the engines and jobs of all users.
//!
//! The locks are on the folder `/var/tmp` itself: each user can open it, and none can remove it, rename it or put something
//! else in its place, as the owner of a file in it could. Each process that holds what has a number locks the byte of that
//! number. A folder can't be opened for writing, and so there are shared locks alone: whoever takes a number locks its byte and
//! then looks whether another has done so too: of two that take it at once neither gets it, and both look again.

mod holders;

pub use holders::EngineProcess;

use crate::env_vars::TRAINYARD_CPU_LOCKS;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Of what the numbers are.
#[derive(Clone, Copy, Debug)]
enum Numbered<'a> {
    Cpus,
    Ports,
    /// One GPU, by its UUID: its only number is 0.
    Gpu(&'a str),
}

impl Numbered<'_> {
    /// The byte of the number 0. No byte has two meanings: numbers are below 2^32, and two GPUs of a machine differ in 61 bits.
    fn first(self) -> i64 {
        match self {
            Numbered::Cpus => 0,
            Numbered::Ports => 1 << 32,
            Numbered::Gpu(uuid) => 1 << 62 | hash(uuid.as_bytes()) >> 2,
        }
    }
}

/// FNV-1a: all versions of this program have to agree. The highest bit is never set.
fn hash(bytes: &[u8]) -> i64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 1).cast_signed()
}

/// Locks on numbers. They end with this value, or its process.
#[derive(Debug)]
pub struct NumberLocks {
    folder: File,
    first: i64,
    held: BTreeSet<u32>,
}

impl NumberLocks {
    /// Of the machine's CPUs. Nothing is locked yet.
    ///
    /// # Errors
    /// The folder can't be opened, or its file system knows no such locks.
    pub fn of_cpus() -> io::Result<NumberLocks> {
        NumberLocks::open(&folder(), Numbered::Cpus)
    }

    /// Of the machine's ports. Nothing is locked yet.
    ///
    /// # Errors
    /// As [`NumberLocks::of_cpus`].
    pub fn of_ports() -> io::Result<NumberLocks> {
        NumberLocks::open(&folder(), Numbered::Ports)
    }

    /// Of one GPU, whose number is 0. It is not locked yet.
    pub(crate) fn of_gpu(uuid: &str) -> io::Result<NumberLocks> {
        NumberLocks::open(Path::new(FOLDER), Numbered::Gpu(uuid))
    }

    /// Of ports in another folder than the machine's.
    #[cfg(test)]
    pub(crate) fn of_ports_in(folder: &Path) -> NumberLocks {
        NumberLocks::open(folder, Numbered::Ports).expect("it can be opened")
    }

    fn open(folder: &Path, of: Numbered<'_>) -> io::Result<NumberLocks> {
        let folder = File::options()
            .read(true)
            .custom_flags(libc::O_DIRECTORY)
            .open(folder)?;
        let locks = NumberLocks {
            folder,
            first: of.first(),
            held: BTreeSet::new(),
        };
        // Kernels before 3.15 have none; asked here, so that it is said once.
        locks.is_free(Run { first: 0, count: 1 })?;
        Ok(locks)
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
        self.set(run, libc::F_RDLCK)?;
        let is_own = self.is_free(run)?;
        if !is_own {
            self.set(run, libc::F_UNLCK)?;
        }
        Ok(is_own)
    }

    fn set(&self, run: Run, kind: libc::c_int) -> io::Result<()> {
        let mut lock = run.lock(self.first, kind);
        fcntl(&self.folder, libc::F_OFD_SETLK, &mut lock)
    }

    /// Whether no other process holds any of a run.
    fn is_free(&self, run: Run) -> io::Result<bool> {
        let mut lock = run.lock(self.first, libc::F_WRLCK);
        fcntl(&self.folder, libc::F_OFD_GETLK, &mut lock)?;
        Ok(libc::c_int::from(lock.l_type) == libc::F_UNLCK)
    }

    /// Holds numbers beside the process that took them, which may end before this one.
    ///
    /// # Errors
    /// What the system says.
    pub fn share(&mut self, numbers: impl IntoIterator<Item = u32>) -> io::Result<()> {
        let wanted: BTreeSet<u32> = numbers.into_iter().collect();
        for run in Run::all(&wanted) {
            self.set(run, libc::F_RDLCK)?;
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
            self.set(run, libc::F_UNLCK)?;
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

/// A folder that only root can replace, and all users can open.
const FOLDER: &str = "/var/tmp";

/// Where they are.
fn folder() -> PathBuf {
    let said = std::env::var_os(TRAINYARD_CPU_LOCKS).map(PathBuf::from);
    let said = said.filter(|path| path.is_absolute());
    said.unwrap_or_else(|| PathBuf::from(FOLDER))
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

    fn lock(self, first: i64, kind: libc::c_int) -> libc::flock {
        // SAFETY: a plain structure of numbers, for which zeros are values.
        #[expect(
            unsafe_code,
            reason = "the structure has fields of its own on some machines"
        )]
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = i16::try_from(kind).unwrap_or_default();
        lock.l_whence = i16::try_from(libc::SEEK_SET).unwrap_or_default();
        lock.l_start = first.saturating_add(self.first.into());
        lock.l_len = self.count.into();
        lock
    }
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
        let open = || NumberLocks::open(folder.path(), Numbered::Cpus).unwrap();
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

    /// A lock that is on a file is none any more once the file's owner has removed it.
    #[test]
    fn what_can_be_removed_from_the_folder_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let open = || NumberLocks::open(folder.path(), Numbered::Cpus).unwrap();
        let mut own = open();
        own.take([4]).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(open().take([4, 5]).unwrap(), set_of(&[4]));
    }

    #[test]
    fn a_number_of_one_kind_is_none_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let kinds = [
            Numbered::Cpus,
            Numbered::Ports,
            Numbered::Gpu("GPU-1"),
            Numbered::Gpu("GPU-2"),
        ];
        let mut all: Vec<NumberLocks> = Vec::new();
        for kind in kinds {
            let mut locks = NumberLocks::open(folder.path(), kind).unwrap();
            assert_eq!(locks.take([0]).unwrap(), set_of(&[]), "{kind:?}");
            all.push(locks);
        }
        // As every version has it.
        assert_eq!(Numbered::Gpu("GPU-1").first(), 6418814410522028755);
    }
}
