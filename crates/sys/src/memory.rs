//! The machine's memory.

/// MiB of memory that processes here can use: the machine's, or the least limit of the control
/// groups above this process.
#[must_use]
pub fn total_mib() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| meminfo_total(&text))
        .unwrap_or(0);
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .or_else(|_| std::fs::read_to_string("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok())
        .map(|bytes| bytes >> 20);
    match limit {
        Some(limit) if limit < machine => limit,
        _ => machine,
    }
}

/// Has all threads share so many heaps at most, where the C library is glibc: one of each thread's own would
/// keep what the thread's longest answer took. Small blocks are put together as they are freed, where glibc
/// would do so with all of them each time that a larger block is wanted.
pub fn share_heaps(most: u8) {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets numbers that later allocations read; no pointer is involved.
    let _refused = unsafe {
        libc::mallopt(libc::M_MXFAST, 0);
        libc::mallopt(libc::M_ARENA_MAX, most.into())
    };
    #[cfg(not(target_env = "gnu"))]
    let _unused = most;
}

fn meminfo_total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_first_line() {
        assert_eq!(
            meminfo_total("MemTotal:       2048000 kB\nMemFree: 1 kB\n"),
            Some(2000)
        );
        assert!(total_mib() > 0);
    }
}
