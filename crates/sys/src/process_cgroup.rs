//! A control group that bounds how many processes and threads there are in it.

use crate::control_group::OwnedGroup;
use std::io;
use std::path::PathBuf;

/// A group that bounds the number of its processes; removed when it is dropped.
#[derive(Debug)]
pub struct ProcessCgroup(OwnedGroup);

impl ProcessCgroup {
    /// Makes the group `name`, of so many processes at most.
    ///
    /// # Errors
    /// There is no such controller, or this process may make no group there.
    pub fn make(name: &str, most: u64) -> io::Result<ProcessCgroup> {
        let group = OwnedGroup::make("pids", name)?;
        group.set("pids.max", &most.to_string())?;
        Ok(ProcessCgroup(group))
    }

    /// Whether a group can be made here.
    ///
    /// # Errors
    /// As [`ProcessCgroup::make`].
    pub fn probe() -> io::Result<()> {
        let name = format!("yard-probe-{}", std::process::id());
        ProcessCgroup::make(&name, 1 << 20).map(drop)
    }

    /// The file into which a process of one thread writes `0` to enter the group.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.0.entrance()
    }
}
