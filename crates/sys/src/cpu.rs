//! The machine's CPUs by number.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// CPUs that this process may use, ascending. Never empty.
#[must_use]
pub fn available() -> Vec<u32> {
    let mut cpus = sched_getaffinity(None).map_or_else(|_| Vec::new(), |set| numbers(&set));
    if cpus.is_empty() {
        cpus.push(0);
    }
    cpus
}

/// CPUs that a process's main thread may use, ascending.
///
/// # Errors
/// It is gone.
pub fn of_process(pid: u32) -> io::Result<Vec<u32>> {
    Ok(numbers(&sched_getaffinity(Some(number_of(pid)?))?))
}

/// Binds those threads of a process to `cpus` that may use just the CPUs `from`; what was bound otherwise stays so.
///
/// # Errors
/// It is gone, or the system forbids it.
pub fn bind_process(pid: u32, from: &[u32], cpus: &[u32]) -> io::Result<()> {
    let (from, set) = (set_of(from), set_of(cpus));
    loop {
        let mut has_bound = false;
        for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = entry?.file_name();
            let thread = thread.to_str().and_then(|name| name.parse().ok());
            let thread = number_of(thread.unwrap_or(pid))?;
            // One that has ended meanwhile needs none.
            if sched_getaffinity(Some(thread)).is_ok_and(|own| own == from) {
                sched_setaffinity(Some(thread), &set)?;
                has_bound = true;
            }
        }
        // Threads that were made meanwhile have what their maker had.
        if !has_bound || from == set {
            return Ok(());
        }
    }
}

fn number_of(pid: u32) -> io::Result<Pid> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    number.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn numbers(set: &CpuSet) -> Vec<u32> {
    // A set has room for many more than most machines have.
    let count = usize::try_from(set.count()).unwrap_or(usize::MAX);
    let numbers = (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number));
    numbers
        .take(count)
        .filter_map(|number| u32::try_from(number).ok())
        .collect()
}

fn set_of(cpus: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    for cpu in cpus {
        let number = usize::try_from(*cpu).unwrap_or(usize::MAX);
        if number < CpuSet::MAX_CPU {
            set.set(number);
        }
    }
    set
}

/// The speed of the machine's first CPU now, in MHz, where the system says it.
#[must_use]
pub fn megahertz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

/// Lets this thread, and what it starts, use every CPU that the machine allows.
///
/// # Errors
/// The system forbids it.
pub fn unbind() -> io::Result<()> {
    let all = 0..u32::try_from(CpuSet::MAX_CPU).unwrap_or(u32::MAX);
    bind(&all.collect::<Vec<_>>())
}

/// Binds this thread, and what it starts, to `cpus`. An empty list changes nothing.
///
/// # Errors
/// None of them is there, or the system forbids it.
pub fn bind(cpus: &[u32]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    Ok(sched_setaffinity(None, &set_of(cpus))?)
}
