//! A control group that bounds the memory of processes: version 1's controller, or version 2.
//!
//! Groups are made below this process's own. Under version 2 a group with processes has no children
//! that bound anything, so that there it works in a delegated tree alone.

use crate::control_group::{OwnedGroup, SharedGroup, Version};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// So often a group is made anew that another process removes: each has lost its last group inside then.
const TRIES: usize = 10;
/// A group that came so near to its bound met it: the kernel counts by the page.
const NEAR: u64 = 1 << 20;

/// A group that bounds memory, and one around it that bounds what several hold together; removed when they are
/// dropped.
#[derive(Debug)]
pub struct MemoryCgroup {
    // Before the one around it.
    own: OwnedGroup,
    bytes: u64,
    around: Option<SharedGroup>,
}

impl MemoryCgroup {
    /// Makes the group `name` with a bound of so many bytes.
    ///
    /// # Errors
    /// There is no such controller, or this process may make no group there.
    pub fn make(name: &str, bytes: u64) -> io::Result<MemoryCgroup> {
        let own = OwnedGroup::make("memory", name)?;
        own.set(bound(own.version), &bytes.to_string())?;
        Ok(MemoryCgroup {
            own,
            bytes,
            around: None,
        })
    }

    /// The same within the group `around`, made where it is missing, of which the processes may hold so many
    /// bytes together.
    ///
    /// # Errors
    /// As [`MemoryCgroup::make`].
    pub fn make_within(
        (around, together): (&str, u64),
        name: &str,
        bytes: u64,
    ) -> io::Result<MemoryCgroup> {
        let mut tries = 0;
        loop {
            tries += 1;
            match MemoryCgroup::try_within(around, together, name, bytes) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => {}
                made => return made,
            }
        }
    }

    fn try_within(around: &str, together: u64, name: &str, bytes: u64) -> io::Result<MemoryCgroup> {
        let around = SharedGroup::make("memory", around)?;
        around.set(bound(around.version), &together.to_string())?;
        let own = OwnedGroup::make_in(&around.folder, around.version, name)?;
        own.set(bound(own.version), &bytes.to_string())?;
        Ok(MemoryCgroup {
            own,
            bytes,
            around: Some(around),
        })
    }

    /// Whether a group can be made here.
    ///
    /// # Errors
    /// As [`MemoryCgroup::make`].
    pub fn probe() -> io::Result<()> {
        let name = format!("yard-probe-{}", std::process::id());
        MemoryCgroup::make(&name, 1 << 30).map(drop)
    }

    /// The file into which a process of one thread writes `0` to enter the group.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.own.entrance()
    }

    /// Whether a process is bounded by it: it is in it, or in a group inside, or gone.
    #[must_use]
    pub fn bounds(&self, pid: u32) -> bool {
        let name = self.own.folder.file_name().unwrap_or_default();
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup"));
        groups.is_err()
            || groups.is_ok_and(|groups| is_in(&groups, self.own.version, &name.to_string_lossy()))
    }

    /// How many processes the kernel killed because the bound was met.
    #[must_use]
    pub fn kills(&self) -> u64 {
        let file = match self.own.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.own.folder.join(file)).unwrap_or_default();
        count_in(&text, "oom_kill")
    }

    /// Whether processes were killed because of what those around it held too.
    #[must_use]
    pub fn was_met_around(&self) -> bool {
        if self.around.is_none() || self.kills() == 0 {
            return false;
        }
        match self.own.version {
            Version::One => self.peak().is_some_and(|peak| peak + NEAR < self.bytes),
            Version::Two => {
                let events = self.own.folder.join("memory.events.local");
                fs::read_to_string(events).is_ok_and(|text| count_in(&text, "oom") == 0)
            }
        }
    }

    /// Most bytes that the group held at once; `None` where the kernel does not count them.
    #[must_use]
    pub fn peak(&self) -> Option<u64> {
        peak(&self.own.folder, self.own.version)
    }

    /// Most bytes that all of the group around it held at once.
    #[must_use]
    pub fn peak_around(&self) -> Option<u64> {
        let around = self.around.as_ref()?;
        peak(&around.folder, around.version)
    }
}

/// Whether a process whose `/proc/PID/cgroup` says so is in a group of that name of the memory controller, or in one inside.
fn is_in(groups: &str, version: Version, name: &str) -> bool {
    groups.lines().any(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            return false;
        };
        let is_memory = match version {
            Version::One => controllers.split(',').any(|one| one == "memory"),
            Version::Two => controllers.is_empty(),
        };
        is_memory && path.split('/').any(|part| part == name)
    })
}

/// The file of the bound.
fn bound(version: Version) -> &'static str {
    match version {
        Version::One => "memory.limit_in_bytes",
        Version::Two => "memory.max",
    }
}

fn peak(group: &Path, version: Version) -> Option<u64> {
    let file = match version {
        Version::One => "memory.max_usage_in_bytes",
        Version::Two => "memory.peak",
    };
    let text = fs::read_to_string(group.join(file)).ok()?;
    text.trim().parse().ok()
}

/// A count among a group's events.
fn count_in(text: &str, event: &str) -> u64 {
    let count = |line: &str| {
        line.strip_prefix(event)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    };
    text.lines().find_map(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_in_both_forms() {
        let one = "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n";
        let two = "low 0\nhigh 0\nmax 9\noom 3\noom_kill 1\n";
        assert_eq!(count_in(one, "oom_kill"), 2);
        assert_eq!([count_in(two, "oom_kill"), count_in(two, "oom")], [1, 3]);
        assert_eq!(count_in("", "oom_kill"), 0);
    }

    #[test]
    fn a_group_of_another_controller_bounds_no_memory() {
        let check = |groups: &str, version: Version, want: bool| {
            assert_eq!(is_in(groups, version, "yard-7"), want, "{groups}");
        };
        check("4:memory:/a/yard-7\n3:cpuset:/\n", Version::One, true);
        check("4:cpu,memory:/yard-7/inside\n", Version::One, true);
        check(
            "4:memory:/\n3:cpuset:/yard-7\n0::/yard-7\n",
            Version::One,
            false,
        );
        check("4:memory:/yard-77\n", Version::One, false);
        check("0::/a/yard-7/inside\n", Version::Two, true);
        check("0::/a\n", Version::Two, false);
    }
}
