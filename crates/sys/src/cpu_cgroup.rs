//! A control group whose processes run on certain CPUs alone, whatever they do: version 1's
//! controller, or version 2.

use crate::control_group::{OwnedGroup, Version};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A group that keeps its processes to CPUs; removed when it is dropped, or kept for the next ([`keep_one`]).
#[derive(Debug)]
pub struct CpuCgroup {
    /// Until it is dropped.
    group: Option<OwnedGroup>,
    entrance: PathBuf,
    processes: PathBuf,
}

/// The group that the next one of this process is made of, where one is kept.
static SPARE: Mutex<Spare> = Mutex::new(Spare::NotKept);

enum Spare {
    NotKept,
    None,
    One(OwnedGroup),
}

fn spare() -> MutexGuard<'static, Spare> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this lives, a group that is dropped without a process in it is kept, and the next one is made of it: to make
/// and to remove a group takes the kernel ten times as long as to rename one.
#[must_use = "nothing is kept once it is dropped"]
#[derive(Debug)]
pub struct KeepOne(());

/// Keeps a group for the next.
pub fn keep_one() -> KeepOne {
    *spare() = Spare::None;
    KeepOne(())
}

impl Drop for KeepOne {
    fn drop(&mut self) {
        let kept = std::mem::replace(&mut *spare(), Spare::NotKept);
        if let Spare::One(group) = kept {
            drop(group);
        }
    }
}

/// The kept group under its new name.
fn kept(name: &str) -> Option<OwnedGroup> {
    let mut spare = spare();
    if matches!(*spare, Spare::NotKept) {
        return None;
    }
    let Spare::One(mut group) = std::mem::replace(&mut *spare, Spare::None) else {
        return None;
    };
    drop(spare);
    // Else it is removed.
    group.rename(name).is_ok().then_some(group)
}

impl Drop for CpuCgroup {
    fn drop(&mut self) {
        let mut spare = spare();
        let is_kept = matches!(*spare, Spare::None);
        if let Some(group) = self
            .group
            .take_if(|group| is_kept && group.version == Version::One)
        {
            *spare = Spare::One(group);
        }
    }
}

impl CpuCgroup {
    /// Makes the group `name` of these CPUs.
    ///
    /// # Errors
    /// There is no such controller, this process may make no group there, or has not those CPUs.
    pub fn make(name: &str, cpus: &[u32]) -> io::Result<CpuCgroup> {
        let group = match kept(name) {
            Some(group) => group,
            None => made(name)?,
        };
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        group.set("cpuset.cpus", &cpus.join(","))?;
        Ok(CpuCgroup {
            entrance: group.entrance(),
            processes: group.processes(),
            group: Some(group),
        })
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
        self.entrance.clone()
    }

    /// The file that has the group's processes, a number a line; one that is written into it enters the group.
    #[must_use]
    pub fn processes(&self) -> PathBuf {
        self.processes.clone()
    }
}

/// A new group.
fn made(name: &str) -> io::Result<OwnedGroup> {
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
    Ok(group)
}

/// The memory that a group of version 1 may use, by its nodes: none to begin with.
const MEMORY_NODES: &str = "cpuset.mems";
