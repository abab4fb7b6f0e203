//! How this machine fares: its load, its free memory, since when it runs, and its system.

use std::fs::read_to_string;

/// The load of the last minute, in hundredths, where the system says it.
#[must_use]
pub fn load() -> Option<u32> {
    of_loadavg(&read_to_string("/proc/loadavg").ok()?)
}

/// MiB of memory that hold nothing, where the system says it.
#[must_use]
pub fn free_mib() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    Some(number_after(&text, "MemFree:")? >> 10)
}

/// When it was booted, in milliseconds of Unix time, where the system says it.
#[must_use]
pub fn booted_at() -> Option<i64> {
    let seconds = number_after(&read_to_string("/proc/stat").ok()?, "btime ")?;
    i64::try_from(seconds).ok()?.checked_mul(1000)
}

/// The system as Slurm's nodes report it: name, release and version of the kernel.
#[must_use]
pub fn system() -> String {
    let name = rustix::system::uname();
    let [system, release, version] =
        [name.sysname(), name.release(), name.version()].map(|part| part.to_string_lossy());
    format!("{system} {release} {version}")
}

fn of_loadavg(text: &str) -> Option<u32> {
    let (whole, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    let whole: u32 = whole.parse().ok()?;
    whole
        .checked_mul(100)?
        .checked_add(hundredths.parse().ok()?)
}

fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(of_loadavg("9.03 8.10 7.00 1/100 5\n"), Some(903));
        assert_eq!(of_loadavg("nonsense"), None);
        assert_eq!(number_after("a 1\nbtime 17\n", "btime "), Some(17));
        assert!(booted_at().is_some_and(|at| at > 0) && system().contains(' '));
    }
}
