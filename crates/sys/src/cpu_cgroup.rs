//! A control group whose processes run on certain CPUs alone, whatever they do: version 1's
//! controller, or version 2.

use crate::control_group::{OwnedGroup, Version};
use std::io;
use std::path::PathBuf;

/// A group that keeps its processes to CPUs; removed when it is dropped.
#[derive(Debug)]
pub struct CpuCgroup(OwnedGroup);

impl CpuCgroup {
    /// Makes the group `name` of these CPUs.
    ///
    /// # Errors
    /// There is no such controller, this process may make no group there, or has not those CPUs.
    pub fn make(name: &str, cpus: &[u32]) -> io::Result<CpuCgroup> {
        let group = OwnedGroup::make("cpuset", name)?;
        if group.version == Version::One {
            // The group around it is balanced already: without this the kernel would work out anew,
            // for each of our groups, which CPUs it balances.
            group.set("cpuset.sched_load_balance", "0")?;
            let around = group
                .folder
                .parent()
                .map(|around| around.join(MEMORY_NODES));
            let nodes = around.map(std::fs::read_to_string).transpose()?;
            group.set(MEMORY_NODES, nodes.unwrap_or_default().trim())?;
        }
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        group.set("cpuset.cpus", &cpus.join(","))?;
        Ok(CpuCgroup(group))
    }

    /// Whether a group can be made here.
    ///
    /// # Errors
    /// As [`CpuCgroup::make`].
    pub fn probe() -> io::Result<()> {
        let name = format!("yard-probe-{}", std::process::id());
        CpuCgroup::make(&name, &crate::cpu::available()).map(drop)
    }

    /// The file into which a process of one thread writes `0` to enter the group.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.0.entrance()
    }

    /// The file that has the group's processes, a number a line; one that is written into it enters the group.
    #[must_use]
    pub fn processes(&self) -> PathBuf {
        self.0.processes()
    }
}

/// The memory that a group of version 1 may use, by its nodes: none to begin with.
const MEMORY_NODES: &str = "cpuset.mems";
