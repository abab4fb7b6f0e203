//! The tree below a process.

use super::stat;
use std::collections::HashMap;

/// All processes below `pid`, parents before children, zombies left out. Those that were forked
/// while this looked may be missing: who must reach all looks until nothing is left.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    descendants_where(pid, &|_| true)
}

/// As [`descendants`], without those for which `belongs` says no, and all that is below them.
#[must_use]
pub fn descendants_where(pid: u32, belongs: &dyn Fn(u32) -> bool) -> Vec<u32> {
    descendants_of_all(&[pid], belongs)
}

/// The same of several processes, by one look at all that there are.
#[must_use]
pub fn descendants_of_all(pids: &[u32], belongs: &dyn Fn(u32) -> bool) -> Vec<u32> {
    if pids.iter().all(|pid| is_childless(*pid)) {
        return Vec::new();
    }
    let mut children: HashMap<u32, Vec<(u32, bool)>> = HashMap::new();
    for other in all() {
        if let Some(stat) = stat::read(other) {
            children
                .entry(stat.parent)
                .or_default()
                .push((other, stat.dead));
        }
    }
    let mut found = Vec::new();
    let mut next = pids.to_vec();
    while let Some(parent) = next.pop() {
        for (child, dead) in children.remove(&parent).unwrap_or_default() {
            if !dead {
                if !belongs(child) {
                    continue;
                }
                found.push(child);
            }
            next.push(child);
        }
    }
    found
}

/// The direct children of `pid`, zombies left out.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    if is_childless(pid) {
        return Vec::new();
    }
    all()
        .filter(|other| stat::read(*other).is_some_and(|stat| stat.parent == pid && !stat.dead))
        .collect()
}

/// Whether the kernel says that a process has no children, zombies either: then not all processes of the
/// machine need be looked at, thousands of them perhaps. A list of some children may lack others that begin or
/// end meanwhile (proc(5)), one without any is right. A kernel without such lists says nothing.
pub(super) fn is_childless(pid: u32) -> bool {
    listed_children(pid).is_some_and(|listed| listed.is_empty())
}

/// The direct children of a process as the kernel lists them, in a moment and zombies too: some may be missing while
/// others begin or end. None where it has no such lists.
#[must_use]
pub fn listed_children(pid: u32) -> Option<Vec<u32>> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut listed = Vec::new();
    let mut seen = 0;
    for thread in threads {
        let list = thread.and_then(|it| std::fs::read_to_string(it.path().join("children")));
        let list = list.ok()?;
        listed.extend(
            list.split_ascii_whitespace()
                .filter_map(|it| it.parse::<u32>().ok()),
        );
        seen += 1;
    }
    (seen > 0).then_some(listed)
}

/// The numbers of all processes, zombies too.
pub fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").ok().into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::path::Path;
    use std::process::{Command, Stdio};

    #[test]
    fn one_without_children_is_known_as_such() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(!is_childless(std::process::id()));
        assert_eq!(descendants(child.id()), []);
        let has_lists = Path::new("/proc/self/task")
            .join(std::process::id().to_string())
            .join("children")
            .exists();
        assert_eq!(is_childless(child.id()), has_lists);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(!is_childless(child.id()), "there is none any more");
    }

    #[test]
    fn finds_grandchildren() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let grandchild: u32 = line.trim().parse().unwrap();
        let found = descendants(std::process::id());
        assert!(found.contains(&grandchild), "{found:?}");
        assert!(children(child.id()).contains(&grandchild));
        super::super::signal(grandchild, libc::SIGKILL).unwrap();
        child.wait().unwrap();
    }
}
