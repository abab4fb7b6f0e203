//! What whole trees of processes use.

use super::descendants::{all, is_childless};
use super::stat;
use std::collections::HashMap;
use std::fs;

/// What a process and all below it use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeUsage {
    /// Its living processes.
    pub processes: Vec<u32>,
    /// CPU time so far, in milliseconds; what a process took whose parent did not wait for it goes
    /// with it.
    pub cpu_ms: u64,
    /// Bytes of memory: what each process has for itself, and the most that one shares.
    pub memory: u64,
    /// Bytes read from storage so far by the processes that live.
    pub read: u64,
    /// Bytes written to storage so far by the processes that live.
    pub written: u64,
    /// Bytes of addresses that the processes have.
    pub virtual_memory: u64,
    /// Pages that were brought from a disk so far for the processes that live.
    pub pages: u64,
    /// Bytes that the processes that live got by reading, from whatever.
    pub characters_read: u64,
    /// Bytes that they wrote, to whatever.
    pub characters_written: u64,
}

/// What the trees below these processes use, themselves included, in one look at all processes.
/// One that has ended has nothing.
#[must_use]
pub fn tree_usage(roots: &[u32]) -> Vec<TreeUsage> {
    if roots.is_empty() {
        return Vec::new();
    }
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut ticks: HashMap<u32, (u64, u64)> = HashMap::new();
    for pid in all() {
        if let Some(stat) = stat::read(pid).filter(|stat| !stat.dead) {
            children.entry(stat.parent).or_default().push(pid);
            ticks.insert(pid, (stat.cpu_ticks, stat.major_faults));
        }
    }
    let tick_ms = 1000 / rustix::param::clock_ticks_per_second().max(1);
    let usage = |root: &u32| {
        let mut usage = TreeUsage::default();
        let mut shared = 0;
        let mut next = vec![*root];
        while let Some(pid) = next.pop() {
            let Some((ticks, pages)) = ticks.get(&pid) else {
                continue;
            };
            next.extend(children.get(&pid).into_iter().flatten());
            usage.processes.push(pid);
            usage.cpu_ms += ticks * tick_ms;
            usage.pages += pages;
            if let Some(held) = memory(pid) {
                usage.memory += held.own;
                usage.virtual_memory += held.addresses;
                shared = shared.max(held.shared);
            }
            if let Some(moved) = storage(pid) {
                usage.read += moved.read;
                usage.written += moved.written;
                usage.characters_read += moved.characters_read;
                usage.characters_written += moved.characters_written;
            }
        }
        usage.memory += shared;
        usage
    };
    roots.iter().map(usage).collect()
}

/// Bytes of addresses that each of these processes has with all below it; none of one that has ended.
#[must_use]
pub fn addresses(roots: &[u32]) -> Vec<Option<u64>> {
    if roots.iter().all(|pid| is_childless(*pid)) {
        let held = roots.iter().map(|pid| memory(*pid));
        // One that has ended, or is just becoming another program, has none.
        let some = |held: Option<Held>| Some(held?.addresses).filter(|it| *it > 0);
        return held.map(some).collect();
    }
    let trees = tree_usage(roots).into_iter();
    let of_living = |tree: TreeUsage| Some(tree.virtual_memory).filter(|it| *it > 0);
    trees.map(of_living).collect()
}

/// Bytes of memory that these processes hold: what each has for itself, and the most that one shares. Where what they
/// share may be no part of that and matters, beside so many bytes that they may hold, each page is counted once, which
/// takes the kernel a look at all of them.
#[must_use]
pub fn memory_of(pids: &[u32], allowed: u64) -> u64 {
    let held: Vec<(u32, Held)> = pids
        .iter()
        .filter_map(|pid| Some((*pid, memory(*pid)?)))
        .collect();
    let own: u64 = held.iter().map(|(_, held)| held.own).sum();
    let shared = held.iter().map(|(_, held)| held.shared);
    let least = own + shared.clone().max().unwrap_or(0);
    let most = own + shared.sum::<u64>();
    if least > allowed || most <= allowed / 2 {
        return least;
    }
    let exact = held
        .iter()
        .map(|(pid, held)| in_proportion(*pid).unwrap_or(held.own));
    exact.sum::<u64>().max(least)
}

/// Bytes of memory of a process, of each page the part that is its own.
fn in_proportion(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Bytes of memory of a process.
struct Held {
    addresses: u64,
    own: u64,
    shared: u64,
}

fn memory(pid: u32) -> Option<Held> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let addresses: u64 = fields.next()?.parse().ok()?;
    let resident: u64 = fields.next()?.parse().ok()?;
    let shared: u64 = fields.next()?.parse().ok()?;
    let page = rustix::param::page_size() as u64;
    Some(Held {
        addresses: addresses * page,
        own: resident.saturating_sub(shared) * page,
        shared: shared * page,
    })
}

/// Bytes that a process moved.
struct Moved {
    read: u64,
    written: u64,
    characters_read: u64,
    characters_written: u64,
}

fn storage(pid: u32) -> Option<Moved> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    Some(Moved {
        read: of("read_bytes:")?,
        written: of("write_bytes:")?,
        characters_read: of("rchar:")?,
        characters_written: of("wchar:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn this_process_uses_something_and_one_that_is_gone_nothing() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = std::process::id();
        let usage = tree_usage(&[pid, u32::MAX]);
        let addresses = super::addresses(&[pid, child.id(), u32::MAX]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(usage[0].processes.contains(&child.id()));
        assert!(usage[0].memory > 1 << 20, "{:?}", usage[0]);
        assert_eq!(usage[1], TreeUsage::default());
        assert!(addresses[0] > addresses[1] && addresses[1] > Some(0));
        assert_eq!(addresses[2], None);
    }

    /// What a process shares with none of the others counts as well.
    #[test]
    fn memory_that_is_shared_with_others_is_counted_once_and_other_is_counted() {
        const MIB: u64 = 1 << 20;
        // Pages of a file are shared to the kernel, also where one alone maps them.
        let folder = tempfile::tempdir().unwrap();
        let map = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, vec![1; 16 << 20]).unwrap();
            Command::new("python3")
                .args(["-c", MAPS])
                .arg(&path)
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut children = ["a", "b"].map(map);
        for child in &mut children {
            let mut line = [0];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        }
        let pids: Vec<u32> = children.iter().map(std::process::Child::id).collect();
        let rough = memory_of(&pids, u64::MAX);
        let exact = memory_of(&pids, rough + 1);
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(exact > rough + 8 * MIB, "{exact} {rough}");
    }

    const MAPS: &str = "\
import mmap, sys, time
file = open(sys.argv[1], 'r+b')
held = mmap.mmap(file.fileno(), 0)
sum(held[at] for at in range(0, len(held), 4096))
print('', flush=True)
time.sleep(60)";
}
