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
}

/// What the trees below these processes use, themselves included, in one look at all processes.
/// One that has ended has nothing.
#[must_use]
pub fn tree_usage(roots: &[u32]) -> Vec<TreeUsage> {
    if roots.is_empty() {
        return Vec::new();
    }
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut ticks: HashMap<u32, u64> = HashMap::new();
    for pid in all() {
        if let Some(stat) = stat::read(pid).filter(|stat| !stat.dead) {
            children.entry(stat.parent).or_default().push(pid);
            ticks.insert(pid, stat.cpu_ticks);
        }
    }
    let tick_ms = 1000 / rustix::param::clock_ticks_per_second().max(1);
    let usage = |root: &u32| {
        let mut usage = TreeUsage::default();
        let mut shared = 0;
        let mut next = vec![*root];
        while let Some(pid) = next.pop() {
            let Some(ticks) = ticks.get(&pid) else {
                continue;
            };
            next.extend(children.get(&pid).into_iter().flatten());
            usage.processes.push(pid);
            usage.cpu_ms += ticks * tick_ms;
            if let Some((own, common)) = memory(pid) {
                usage.memory += own;
                shared = shared.max(common);
            }
            if let Some((read, written)) = storage(pid) {
                usage.read += read;
                usage.written += written;
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
    let (own, shared) = held.fold((0, 0), |(own, shared), (more, common)| {
        (own + more, common.max(shared))
    });
    own + shared
}

/// Bytes that a process has in memory for itself, and those that it may share.
fn memory(pid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = text.split_ascii_whitespace().skip(1);
    let resident: u64 = fields.next()?.parse().ok()?;
    let shared: u64 = fields.next()?.parse().ok()?;
    let page = rustix::param::page_size() as u64;
    Some((resident.saturating_sub(shared) * page, shared * page))
}

fn storage(pid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    Some((of("read_bytes:")?, of("write_bytes:")?))
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
