//! A control group that bounds the memory of processes: version 1's controller, or version 2.
//!
//! Groups are made below this process's own. Under version 2 a group with processes has no children
//! that bound anything, so that there it works in a delegated tree alone.

use crate::control_group::{OwnedGroup, Version};
use std::fs;
use std::io;
use std::path::PathBuf;

/// A group that bounds memory; removed when it is dropped.
#[derive(Debug)]
pub struct MemoryCgroup(OwnedGroup);

impl MemoryCgroup {
    /// Makes the group `name` with a bound of so many bytes.
    ///
    /// # Errors
    /// There is no such controller, or this process may make no group there.
    pub fn make(name: &str, bytes: u64) -> io::Result<MemoryCgroup> {
        let group = OwnedGroup::make("memory", name)?;
        let limit = match group.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        group.set(limit, &bytes.to_string())?;
        Ok(MemoryCgroup(group))
    }

    /// Whether a group can be made here.
    ///
    /// # Errors
    /// As [`MemoryCgroup::make`].
    pub fn probe() -> io::Result<()> {
        let name = format!("yard-probe-{}", std::process::id());
        MemoryCgroup::make(&name, 1 << 30).map(drop)
    }

    /// The file into which a process writes `0` to enter the group.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.0.entrance()
    }

    /// How many processes the kernel killed because the bound was met.
    #[must_use]
    pub fn kills(&self) -> u64 {
        let file = match self.0.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.0.folder.join(file)).unwrap_or_default();
        kills_in(&text)
    }

    /// Most bytes that the group held at once; `None` where the kernel does not count them.
    #[must_use]
    pub fn peak(&self) -> Option<u64> {
        let file = match self.0.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        let text = fs::read_to_string(self.0.folder.join(file)).ok()?;
        text.trim().parse().ok()
    }
}

fn kills_in(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_in_both_forms() {
        assert_eq!(kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 2);
        assert_eq!(kills_in("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n"), 1);
        assert_eq!(kills_in(""), 0);
    }
}
