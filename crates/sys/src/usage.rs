//! What the whole machine uses.

use std::fs;

/// Counters of the machine since its boot, and its memory now. What can't be read is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineUsage {
    /// CPU time of all processes and of the kernel, in milliseconds.
    pub cpu_ms: u64,
    /// Bytes of memory that could not be given to a new process.
    pub memory: u64,
    /// Bytes of memory in all.
    pub memory_total: u64,
    /// Bytes read from its disks.
    pub read: u64,
    /// Bytes written to its disks.
    pub written: u64,
    /// Bytes that came over its networks, but for its own to itself.
    pub received: u64,
    /// Bytes that went over them.
    pub sent: u64,
}

/// What the machine uses now.
#[must_use]
pub fn machine() -> MachineUsage {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let tick_ms = 1000 / rustix::param::clock_ticks_per_second().max(1);
    let (memory, memory_total) = memory(&read("/proc/meminfo"));
    let (disk_read, written) = disks(&read("/proc/diskstats"));
    let (received, sent) = network(&read("/proc/net/dev"));
    let (over, out) = infiniband();
    MachineUsage {
        cpu_ms: cpu_ticks(&read("/proc/stat")) * tick_ms,
        memory,
        memory_total,
        read: disk_read,
        written,
        received: received + over,
        sent: sent + out,
    }
}

/// Ticks that were not idle: user, nice, system, interrupts, stolen.
fn cpu_ticks(stat: &str) -> u64 {
    let line = stat.lines().find(|line| line.starts_with("cpu "));
    let fields = line
        .into_iter()
        .flat_map(|line| line.split_ascii_whitespace().skip(1));
    let numbers: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    // 3 is idle, 4 waits for a disk; 8 and 9 are of guests, counted in the first two already.
    [0, 1, 2, 5, 6, 7]
        .iter()
        .filter_map(|place| numbers.get(*place))
        .sum()
}

fn memory(meminfo: &str) -> (u64, u64) {
    let of = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) << 10
    };
    let total = of("MemTotal:");
    (total.saturating_sub(of("MemAvailable:")), total)
}

/// Bytes read and written by whole disks: of what lies in or over them (partitions, volumes) the
/// same bytes are counted again.
fn disks(diskstats: &str) -> (u64, u64) {
    const SECTOR: u64 = 512;
    let mut sums = (0, 0);
    for line in diskstats.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, _, name, _, _, read, _, _, _, written, ..] = fields[..] else {
            continue;
        };
        if is_whole_disk(name) {
            sums.0 += read.parse().unwrap_or(0) * SECTOR;
            sums.1 += written.parse().unwrap_or(0) * SECTOR;
        }
    }
    sums
}

/// `sda`, `vdb`, `nvme0n1`, `mmcblk0`; not `sda1`, `nvme0n1p2`, `dm-0`, `loop3`, `md127`.
fn is_whole_disk(name: &str) -> bool {
    let letters = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase());
    let of_letters = ["sd", "vd", "hd", "xvd"];
    let numbered = name.starts_with("nvme") || name.starts_with("mmcblk");
    of_letters
        .iter()
        .any(|start| name.strip_prefix(start).is_some_and(letters))
        || numbered && !name.contains('p')
}

fn network(dev: &str) -> (u64, u64) {
    let mut sums = (0, 0);
    for line in dev.lines() {
        let Some((name, numbers)) = line.split_once(':') else {
            continue;
        };
        let numbers: Vec<u64> = numbers
            .split_ascii_whitespace()
            .map_while(|number| number.parse().ok())
            .collect();
        if let (false, Some(received), Some(sent)) =
            (name.trim() == "lo", numbers.first(), numbers.get(8))
        {
            sums.0 += received;
            sums.1 += sent;
        }
    }
    sums
}

/// What went over InfiniBand beside the kernel's network; its counters count four bytes at a time.
fn infiniband() -> (u64, u64) {
    let mut sums = (0, 0);
    let below = |path: &str| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path().display().to_string())
            .collect::<Vec<_>>()
    };
    for device in below("/sys/class/infiniband") {
        for port in below(&format!("{device}/ports")) {
            let of = |name: &str| {
                let text = fs::read_to_string(format!("{port}/counters/{name}")).ok();
                text.and_then(|text| text.trim().parse::<u64>().ok())
                    .unwrap_or(0)
            };
            sums.0 += of("port_rcv_data") * 4;
            sums.1 += of("port_xmit_data") * 4;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_the_kernel() {
        let stat = "cpu  100 1 20 5000 300 2 3 4 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(cpu_ticks(stat), 130);
        let meminfo = "MemTotal:  2000 kB\nMemFree: 100 kB\nMemAvailable:  500 kB\n";
        assert_eq!(memory(meminfo), (1500 << 10, 2000 << 10));
        let diskstats = "   8  0 sda 10 0 100 5 20 0 200 5 0 5 10\n   8 1 sda1 9 0 90 5 20 0 200 5 0 5 10\n \
                         259 0 nvme0n1 1 0 10 5 2 0 20 5 0 5 10 0 0\n 253 0 dm-0 1 0 10 5 2 0 20 5 0 5 10\n";
        assert_eq!(disks(diskstats), (110 * 512, 220 * 512));
        let dev = "Inter-|   Receive\n face |bytes\n    lo: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n  \
                   eth0: 1000 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n";
        assert_eq!(network(dev), (1000, 500));
        for text in ["", "cpu", ":", "a b c d", "eth0: x"] {
            assert_eq!(
                (cpu_ticks(text), disks(text), network(text)),
                (0, (0, 0), (0, 0))
            );
        }
    }

    #[test]
    fn this_machine_uses_something() {
        let usage = machine();
        assert!(usage.cpu_ms > 0 && usage.memory > 0 && usage.memory < usage.memory_total);
    }
}
