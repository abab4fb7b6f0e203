//! Where the machine's CPUs lie.

use crate::cpu;
use crate::near_gpus::cpus_of;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Where Linux tells of CPUs and NUMA domains.
const SYSTEM: &str = "/sys/devices/system";

/// A CPU of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub number: u32,
    /// Its socket, by the machine's own number.
    pub socket: u32,
    /// Its core, by the machine's own number within the socket.
    pub core: u32,
    /// Its NUMA domain.
    pub domain: u32,
}

/// The CPUs that this process may use, ascending. One of which the system does not say where it lies is a core
/// of the first socket.
#[must_use]
pub fn available() -> Vec<Cpu> {
    of(&cpu::available(), Path::new(SYSTEM))
}

fn of(numbers: &[u32], system: &Path) -> Vec<Cpu> {
    let mut domains = HashMap::new();
    for node in fs::read_dir(system.join("node"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = node.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node"));
        let Some(domain) = number.and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        let list = fs::read_to_string(node.path().join("cpulist")).unwrap_or_default();
        for cpu in cpus_of(&list).unwrap_or_default() {
            domains.insert(cpu, domain);
        }
    }
    let cpu = |number: &u32| {
        let folder = system.join(format!("cpu/cpu{number}/topology"));
        // Some machines call a socket that they don't know -1.
        let read = |file: &str| {
            let text = fs::read_to_string(folder.join(file)).ok()?;
            text.trim().parse::<u32>().ok()
        };
        Cpu {
            number: *number,
            socket: read("physical_package_id").unwrap_or(0),
            core: read("core_id").unwrap_or(*number),
            domain: domains.get(number).copied().unwrap_or(0),
        }
    };
    numbers.iter().map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs 0 to 3 of two sockets, of which the system says nothing of the last CPU.
    #[test]
    fn the_system_says_where_cpus_lie() {
        let system = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = system.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it is made");
            fs::write(path, text).expect("it is written");
        };
        for (number, socket, core) in [(0, 0, 4), (1, 1, 4), (2, -1, 5)] {
            let folder = format!("cpu/cpu{number}/topology");
            write(
                &format!("{folder}/physical_package_id"),
                &format!("{socket}\n"),
            );
            write(&format!("{folder}/core_id"), &format!("{core}\n"));
        }
        write("node/node0/cpulist", "0,2\n");
        write("node/node1/cpulist", "1\n");
        write("node/online", "0-1\n");
        let found: Vec<[u32; 4]> = of(&[0, 1, 2, 3], system.path())
            .iter()
            .map(|cpu| [cpu.number, cpu.socket, cpu.core, cpu.domain])
            .collect();
        assert_eq!(
            found,
            [[0, 0, 4, 0], [1, 1, 4, 1], [2, 0, 5, 0], [3, 0, 3, 0]]
        );
    }
}
