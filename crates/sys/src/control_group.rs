//! Where the control groups of this process are: those of version 1's controllers, or of version 2.

mod places;

use places::own_group;
pub use places::{Version, remember_mounts};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The controllers in which groups are made.
const CONTROLLERS: [&str; 4] = ["memory", "pids", "devices", "cpuset"];

/// The file of a group that has its processes, and into which processes are written that enter it.
const PROCESSES: &str = "cgroup.procs";

/// The same of threads, under version 1. For a thread that writes itself the kernel holds no other process up; for a whole
/// process it first waits until none is just forking or ending anywhere, which takes milliseconds.
const THREADS: &str = "tasks";

/// A group; removed with the last of its owners in this process. Under version 2 there may be several: a
/// process is in one group for all controllers.
#[derive(Debug)]
pub(crate) struct OwnedGroup {
    pub(crate) folder: PathBuf,
    pub(crate) version: Version,
}

/// The groups that this process has made, with the number of their owners. One that is there and not among
/// these is what a killed process left.
static OWNED: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

fn owned() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OwnedGroup {
    /// Makes the group `name` below this process's own of that controller; under version 2 takes the one
    /// that this process made for another controller.
    ///
    /// # Errors
    /// It is there with processes that this one knows nothing of; what the system says.
    pub(crate) fn make(controller: &str, name: &str) -> io::Result<OwnedGroup> {
        let (own, version) = own_group(controller).ok_or(io::ErrorKind::Unsupported)?;
        let parent = match version {
            Version::One => None,
            // It may be in a shared group.
            Version::Two => parent_of_owned(&own, name),
        };
        OwnedGroup::make_in(parent.as_deref().unwrap_or(&own), version, name)
    }

    /// The same, below any group.
    pub(crate) fn make_in(parent: &Path, version: Version, name: &str) -> io::Result<OwnedGroup> {
        let folder = parent.join(name);
        let mut owned = owned();
        match owned.get_mut(&folder) {
            Some(owners) if version == Version::Two => *owners += 1,
            Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            None => {
                if let Err(error) = fs::create_dir(&folder) {
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(error);
                    }
                    // The number in its name may be one that is used again.
                    let _busy = fs::remove_dir(&folder);
                    fs::create_dir(&folder)?;
                }
                owned.insert(folder.clone(), 1);
            }
        }
        Ok(OwnedGroup { folder, version })
    }

    /// Gives it another name, where no process is in it and the system renames groups: version 1 does.
    ///
    /// # Errors
    /// It keeps its name: what the system says, or it has processes.
    pub(crate) fn rename(&mut self, name: &str) -> io::Result<()> {
        if self.version == Version::Two {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if !fs::read(self.processes())?.is_empty() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let folder = self.folder.with_file_name(name);
        let mut owned = owned();
        fs::rename(&self.folder, &folder)?;
        owned.remove(&self.folder);
        owned.insert(folder.clone(), 1);
        self.folder = folder;
        Ok(())
    }

    /// Writes a value to a file of the group. A group without it, under version 2, bounds nothing.
    pub(crate) fn set(&self, file: &str, value: &str) -> io::Result<()> {
        set(&self.folder, file, value)
    }

    /// The file into which a process of one thread writes `0` to enter the group.
    pub(crate) fn entrance(&self) -> PathBuf {
        self.folder.join(match self.version {
            Version::One => THREADS,
            Version::Two => PROCESSES,
        })
    }

    /// The file that has the group's processes, a number a line; one that is written into it enters the group.
    pub(crate) fn processes(&self) -> PathBuf {
        self.folder.join(PROCESSES)
    }
}

impl Drop for OwnedGroup {
    fn drop(&mut self) {
        let mut owned = owned();
        if let Some(owners) = owned.get_mut(&self.folder)
            && *owners > 1
        {
            *owners -= 1;
            return;
        }
        owned.remove(&self.folder);
        drop(owned);
        // Its last process may be a moment from gone.
        for _ in 0..20 {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                _ => return,
            }
        }
    }
}

/// A group around those of several processes, each of which may make it; removed by whoever drops it when no group is
/// in it any more.
#[derive(Debug)]
pub(crate) struct SharedGroup {
    pub(crate) folder: PathBuf,
    pub(crate) version: Version,
}

impl SharedGroup {
    /// The group `name` below this process's own of that controller, which is made where it is missing.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn make(controller: &str, name: &str) -> io::Result<SharedGroup> {
        let (own, version) = own_group(controller).ok_or(io::ErrorKind::Unsupported)?;
        let folder = own.join(name);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let shared = SharedGroup { folder, version };
        match version {
            // As the groups around it are since Linux 5.11.
            Version::One => {
                let _is_so = shared.set("memory.use_hierarchy", "1");
            }
            Version::Two => {
                for controller in CONTROLLERS {
                    // Not all are controllers there, or handed on to here.
                    let _missing = shared.set("cgroup.subtree_control", &format!("+{controller}"));
                }
            }
        }
        Ok(shared)
    }

    /// Writes a value to a file of the group.
    pub(crate) fn set(&self, file: &str, value: &str) -> io::Result<()> {
        set(&self.folder, file, value)
    }
}

impl Drop for SharedGroup {
    fn drop(&mut self) {
        let _used = fs::remove_dir(&self.folder);
    }
}

/// Writes a value to a file of a group that may not have it.
fn set(group: &Path, file: &str, value: &str) -> io::Result<()> {
    let opened = fs::OpenOptions::new().write(true).open(group.join(file));
    match opened {
        Ok(mut file) => file.write_all(value.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && group.exists() => {
            Err(io::ErrorKind::Unsupported.into())
        }
        Err(error) => Err(error),
    }
}

/// Where a group of this process is that was made in one below `own`.
fn parent_of_owned(own: &Path, name: &str) -> Option<PathBuf> {
    let owned = owned();
    let is_it = |folder: &&PathBuf| folder.ends_with(name) && folder.starts_with(own);
    owned.keys().find(is_it)?.parent().map(Path::to_owned)
}

/// The name of the innermost group that a process is in and that `is_ours`.
#[must_use]
pub fn of_process(pid: u32, is_ours: impl Fn(&str) -> bool) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let names = groups.lines().flat_map(|line| line.rsplit('/'));
    names
        .into_iter()
        .find(|name| is_ours(name))
        .map(str::to_owned)
}

/// Takes this process out of the outermost groups above it that are `is_ours`, into those around them.
///
/// # Errors
/// It may not enter one of those.
pub fn leave(is_ours: impl Fn(&str) -> bool) -> io::Result<()> {
    for controller in CONTROLLERS {
        let Some((own, _version)) = own_group(controller) else {
            continue;
        };
        let ours = |folder: &&Path| is_named(folder, &is_ours);
        let outermost = own.ancestors().filter(ours).last();
        if let Some(around) = outermost.and_then(Path::parent) {
            fs::write(around.join(PROCESSES), "0")?;
        }
    }
    Ok(())
}

/// The processes of the groups beside those that this process would make, and in such, that are `are_ours`.
#[must_use]
pub fn processes_in(are_ours: impl Fn(&str) -> bool) -> Vec<u32> {
    let mut found = BTreeSet::new();
    for controller in CONTROLLERS {
        let Some((own, _version)) = own_group(controller) else {
            continue;
        };
        let beside: Vec<PathBuf> = folders_in(&own).collect();
        let inside = beside.iter().flat_map(|folder| folders_in(folder));
        let all = beside.iter().cloned().chain(inside);
        for folder in all.filter(|folder| is_named(folder, &are_ours)) {
            let text = fs::read_to_string(folder.join(PROCESSES)).unwrap_or_default();
            found.extend(text.lines().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    found.into_iter().collect()
}

/// Removes the groups beside those that this process would make, and in such, which `are_left`: no process is in
/// them any more, and whoever made them could not remove them. One with a process stays.
pub fn remove_left(are_left: impl Fn(&str) -> bool) {
    for controller in CONTROLLERS {
        let Some((own, _version)) = own_group(controller) else {
            continue;
        };
        for folder in folders_in(&own) {
            if is_named(&folder, &are_left) {
                let _busy = fs::remove_dir(folder);
                continue;
            }
            let inside = folders_in(&folder);
            let left = inside.filter(|inside| is_named(inside, &are_left));
            let removed = left.filter(|left| fs::remove_dir(left).is_ok()).count();
            if removed > 0 {
                // Made for several, of which others may live.
                let _used = fs::remove_dir(folder);
            }
        }
    }
}

/// Removes the groups beside those that this process would make, and in such, that no process will remove: `is_dead`
/// tells by their names, no process is in them, and they are older than a moment, in which who makes one enters it.
pub fn remove_dead(is_dead: impl Fn(&str) -> bool) {
    for controller in CONTROLLERS {
        if let Some((own, _version)) = own_group(controller) {
            remove_dead_in(&own, &is_dead, MOMENT);
        }
    }
}

/// Within it a group that was made has its first process.
const MOMENT: Duration = Duration::from_secs(60);

fn remove_dead_in(parent: &Path, is_dead: &impl Fn(&str) -> bool, least_age: Duration) {
    let is_old = |folder: &Path| {
        let made = fs::metadata(folder).and_then(|it| it.modified());
        made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age >= least_age))
    };
    for folder in folders_in(parent) {
        if !is_named(&folder, is_dead) || !is_old(&folder) {
            continue;
        }
        for inside in folders_in(&folder) {
            if is_named(&inside, is_dead) && is_old(&inside) {
                let _busy = fs::remove_dir(inside);
            }
        }
        let _busy = fs::remove_dir(folder);
    }
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path())
}

fn is_named(folder: &Path, is_it: &impl Fn(&str) -> bool) -> bool {
    folder
        .file_name()
        .is_some_and(|name| is_it(&name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_one_group_of_version_two_for_all_controllers() {
        let folder = tempfile::tempdir().unwrap();
        let make = |version| OwnedGroup::make_in(folder.path(), version, "step");
        let first = make(Version::Two).unwrap();
        let second = make(Version::Two).unwrap();
        drop(first);
        assert!(second.folder.is_dir());
        drop(second);
        assert!(!folder.path().join("step").exists());
        let _first = make(Version::One).unwrap();
        make(Version::One).unwrap_err();
    }

    #[test]
    fn a_group_without_processes_takes_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut group = OwnedGroup::make_in(folder.path(), Version::One, "first").unwrap();
        fs::write(group.processes(), "7\n").unwrap();
        assert_eq!(
            group.rename("second").unwrap_err().kind(),
            io::ErrorKind::ResourceBusy
        );
        fs::write(group.processes(), "").unwrap();
        group.rename("second").unwrap();
        assert_eq!(group.folder, at("second"));
        assert!(!at("first").exists());
        // Its name is free for another, and its own is taken.
        drop(OwnedGroup::make_in(folder.path(), Version::One, "first").unwrap());
        OwnedGroup::make_in(folder.path(), Version::One, "second").unwrap_err();
        fs::remove_file(group.processes()).unwrap();
        drop(group);
        assert!(!at("second").exists());
        let mut group = OwnedGroup::make_in(folder.path(), Version::Two, "first").unwrap();
        group.rename("second").unwrap_err();
        assert_eq!(group.folder, at("first"));
    }

    #[test]
    fn what_a_killed_process_left_is_made_anew_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join("step");
        for version in [Version::One, Version::Two] {
            fs::create_dir(&left).unwrap();
            drop(OwnedGroup::make_in(folder.path(), version, "step").unwrap());
            assert!(!left.exists(), "{version}");
        }
        // A group with processes can't be removed, nor a folder with a file.
        fs::create_dir(&left).unwrap();
        fs::write(left.join("process"), "").unwrap();
        for version in [Version::One, Version::Two] {
            OwnedGroup::make_in(folder.path(), version, "step").unwrap_err();
        }
    }

    #[test]
    fn what_no_process_will_remove_is_removed_where_it_is_empty_and_no_more_new() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [
            "dead",
            "around-dead/dead",
            "around-dead-2/alive",
            "alive",
            "dead-busy",
        ] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("dead-busy").join("process"), "").unwrap();
        let is_dead = |name: &str| name.contains("dead");
        remove_dead_in(folder.path(), &is_dead, MOMENT);
        assert!(at("dead").exists());
        remove_dead_in(folder.path(), &is_dead, Duration::ZERO);
        let mut left: Vec<_> = folders_in(folder.path()).collect();
        left.sort();
        assert_eq!(left, ["alive", "around-dead-2", "dead-busy"].map(at));
        assert!(at("around-dead-2/alive").exists());
    }

    #[test]
    fn who_enters_has_one_thread_and_enters_alone_where_that_is_possible() {
        let folder = tempfile::tempdir().unwrap();
        for (version, file) in [(Version::One, "tasks"), (Version::Two, "cgroup.procs")] {
            let group = OwnedGroup::make_in(folder.path(), version, "step").unwrap();
            assert!(group.entrance().ends_with(file), "{version}");
            assert!(group.processes().ends_with("cgroup.procs"), "{version}");
        }
    }
}
