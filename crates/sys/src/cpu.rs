//! The machine's CPUs by number.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// CPUs that this process may use, ascending. Never empty.
#[must_use]
pub fn available() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else {
        return vec![0];
    };
    let mut cpus = Vec::new();
    for number in 0..CpuSet::MAX_CPU {
        if set.is_set(number) {
            cpus.push(u32::try_from(number).unwrap_or(u32::MAX));
        }
    }
    if cpus.is_empty() {
        cpus.push(0);
    }
    cpus
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
    let mut set = CpuSet::new();
    for cpu in cpus {
        let number = usize::try_from(*cpu).unwrap_or(usize::MAX);
        if number < CpuSet::MAX_CPU {
            set.set(number);
        }
    }
    Ok(sched_setaffinity(None, &set)?)
}
