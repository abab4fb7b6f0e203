//! Which groups this process is in, and where they are mounted.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Which kind of groups a system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A tree a controller.
    One,
    /// One tree.
    Two,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::One => "version 1",
            Version::Two => "version 2",
        })
    }
}

/// Where groups are mounted, for this process and those that are forked by it.
static KNOWN_MOUNTS: OnceLock<String> = OnceLock::new();

/// Reads where groups are mounted once, for this process and those that it forks: the kernel writes the list of
/// all mounts anew for each that reads it. Later mounts are not seen where one was there already.
pub fn remember_mounts() {
    let Ok(mounts) = fs::read_to_string(MOUNTS) else {
        return;
    };
    let of_groups = mounts.lines().filter(|line| line.contains(" - cgroup"));
    let of_groups: Vec<&str> = of_groups.collect();
    if !of_groups.is_empty() {
        let _known = KNOWN_MOUNTS.set(of_groups.join("\n"));
    }
}

const MOUNTS: &str = "/proc/self/mountinfo";

/// The folder of this process's group in a controller.
pub(super) fn own_group(controller: &str) -> Option<(PathBuf, Version)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let read;
    let mounts = match KNOWN_MOUNTS.get() {
        Some(mounts) => mounts,
        None => {
            read = fs::read_to_string(MOUNTS).ok()?;
            &read
        }
    };
    let (mount, group, version) = place(&groups, mounts, controller)?;
    Some((mount.join(group.trim_start_matches('/')), version))
}

/// Where a controller is mounted, and the group there; version 1 goes first, since where it has the
/// controller version 2 has it not.
fn place<'a>(
    groups: &'a str,
    mounts: &'a str,
    controller: &str,
) -> Option<(&'a Path, &'a str, Version)> {
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
    let of_one = group(&|controllers| controllers.split(',').any(|one| one == controller));
    let found = match (of_one, mount("cgroup", controller)) {
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
        let got = place(groups, mounts, "memory");
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
}
