//! A control group that bounds the memory of processes: version 1's controller, or version 2.
//!
//! Groups are made below this process's own. Under version 2 a group with processes has no children
//! that bound anything, so that there it works in a delegated tree alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file of a group into which processes are written that enter it.
const ENTRANCE: &str = "cgroup.procs";

/// A group that bounds memory; removed when it is dropped.
#[derive(Debug)]
pub struct MemoryCgroup {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl MemoryCgroup {
    /// Makes the group `name` with a bound of so many bytes.
    ///
    /// # Errors
    /// There is no such controller, or this process may make no group there.
    pub fn make(name: &str, bytes: u64) -> io::Result<MemoryCgroup> {
        let (parent, version) = own_group().ok_or(io::ErrorKind::Unsupported)?;
        let folder = parent.join(name);
        fs::create_dir(&folder)?;
        let group = MemoryCgroup { folder, version };
        let limit = match version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        // A group without the file, under version 2, bounds nothing.
        if !group.folder.join(limit).exists() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        fs::write(group.folder.join(limit), bytes.to_string())?;
        Ok(group)
    }

    /// Whether a group can be made here.
    ///
    /// # Errors
    /// As [`MemoryCgroup::make`].
    pub fn probe() -> io::Result<()> {
        let name = format!("yard-probe-{}", std::process::id());
        MemoryCgroup::make(&name, 1 << 30).map(drop)
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

    /// Takes this process out of the outermost group above it that `is_ours`, into the one around that.
    ///
    /// # Errors
    /// It may not enter that one.
    pub fn leave(is_ours: impl Fn(&str) -> bool) -> io::Result<()> {
        let Some((own, _version)) = own_group() else {
            return Ok(());
        };
        let name = |folder: &Path| {
            folder
                .file_name()
                .is_some_and(|name| is_ours(&name.to_string_lossy()))
        };
        let outermost = own.ancestors().filter(|folder| name(folder)).last();
        match outermost.and_then(Path::parent) {
            Some(around) => fs::write(around.join(ENTRANCE), "0"),
            None => Ok(()),
        }
    }

    /// Removes the groups beside those that this process would make which `are_left`: no process is in
    /// them any more, and whoever made them could not remove them. One with a process stays.
    pub fn remove_left(are_left: impl Fn(&str) -> bool) {
        let Some((own, _version)) = own_group() else {
            return;
        };
        for entry in fs::read_dir(own).into_iter().flatten().flatten() {
            if are_left(&entry.file_name().to_string_lossy()) {
                let _busy = fs::remove_dir(entry.path());
            }
        }
    }

    /// The file into which a process writes `0` to enter the group.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.folder.join(ENTRANCE)
    }

    /// How many processes the kernel killed because the bound was met.
    #[must_use]
    pub fn kills(&self) -> u64 {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        kills_in(&text)
    }

    /// Most bytes that the group held at once; `None` where the kernel does not count them.
    #[must_use]
    pub fn peak(&self) -> Option<u64> {
        let file = match self.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        text.trim().parse().ok()
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
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

fn kills_in(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

/// The folder of this process's group that memory is counted by.
fn own_group() -> Option<(PathBuf, Version)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (mount, group, version) = place(&groups, &mounts)?;
    Some((mount.join(group.trim_start_matches('/')), version))
}

/// Where the memory controller is mounted, and the group there; version 1 goes first, since where it has
/// the controller version 2 has it not.
fn place<'a>(groups: &'a str, mounts: &'a str) -> Option<(&'a Path, &'a str, Version)> {
    let group = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            wanted(controllers).then_some(path)
        })
    };
    let mount = |kind: &str, option: &str| {
        mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let is_kind = after.next() == Some(kind);
            let has = after
                .nth(1)
                .is_some_and(|all| option.is_empty() || all.split(',').any(|one| one == option));
            let mut before = before.split(' ').skip(3);
            let root = before.next()?;
            let folder = before.next()?;
            (is_kind && has).then_some((Path::new(folder), root))
        })
    };
    let of_one = group(&|controllers| controllers.split(',').any(|one| one == "memory"));
    let found = match (of_one, mount("cgroup", "memory")) {
        (Some(path), Some((folder, root))) => (folder, root, path, Version::One),
        _ => {
            let (folder, root) = mount("cgroup2", "")?;
            (folder, root, group(&str::is_empty)?, Version::Two)
        }
    };
    let (folder, root, path, version) = found;
    // A container sees part of the tree: what lies above the mount's root is not in its path.
    let inside = if root == "/" {
        path
    } else {
        path.strip_prefix(root).unwrap_or("/")
    };
    Some((folder, inside, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(groups: &str, mounts: &str, want: Option<(&str, &str, Version)>) {
        let got = place(groups, mounts);
        let got = got.map(|(mount, group, version)| (mount.to_str().unwrap(), group, version));
        assert_eq!(got, want);
    }

    #[test]
    fn where_the_group_is() {
        let one = "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
        let two = "31 25 0:27 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
        let both = format!("{two}{one}");
        check(
            "4:memory:/a/b\n0::/\n",
            one,
            Some(("/sys/fs/cgroup/memory", "/a/b", Version::One)),
        );
        check(
            "0::/user.slice/x\n",
            two,
            Some(("/sys/fs/cgroup", "/user.slice/x", Version::Two)),
        );
        check(
            "4:memory:/\n0::/\n",
            &both,
            Some(("/sys/fs/cgroup/memory", "/", Version::One)),
        );
        let part = "30 25 0:26 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        check(
            "4:memory:/docker/1/x\n",
            part,
            Some(("/sys/fs/cgroup/memory", "/x", Version::One)),
        );
        check("", "", None);
    }

    #[test]
    fn kills_are_counted_in_both_forms() {
        assert_eq!(kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 2);
        assert_eq!(kills_in("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n"), 1);
        assert_eq!(kills_in(""), 0);
    }
}
