//! What whole trees of processes use.

use super::descendants::all;
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

/// Bytes of memory that these processes hold: what each has for itself, and the most that one shares.
#[must_use]
pub fn memory_of(pids: &[u32]) -> u64 {
    let held = pids.iter().filter_map(|pid| memory(*pid));
    let (own, shared) = held.fold((0, 0), |(own, shared), held| {
        (own + held.own, held.shared.max(shared))
    });
    own + shared
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
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(usage[0].processes.contains(&child.id()));
        assert!(usage[0].memory > 1 << 20, "{:?}", usage[0]);
        assert_eq!(usage[1], TreeUsage::default());
    }
}
