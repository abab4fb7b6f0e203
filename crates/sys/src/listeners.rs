//! Who listens at which port of this machine.

use std::fs;

/// Sockets of a process that listen for TCP connections are in this state, in the kernel's tables.
const LISTENS: &str = "0A";

/// Ports of this network namespace at which processes listen, with the process; those alone into whose
/// descriptors this process may look.
#[must_use]
pub fn listeners() -> Vec<(u16, u32)> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let tables = tables.map(|path| fs::read_to_string(path).unwrap_or_default());
    let sockets: Vec<(u16, String)> = tables.iter().flat_map(|text| listening(text)).collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let of_process = |pid: u32| {
        let links = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let targets = links
            .flatten()
            .filter_map(|link| fs::read_link(link.path()).ok());
        let ports = targets.filter_map(|target| {
            let target = target.to_str()?;
            let (port, _) = sockets.iter().find(|(_, socket)| socket == target)?;
            Some((*port, pid))
        });
        ports.collect::<Vec<_>>()
    };
    let mut found: Vec<(u16, u32)> = crate::process::all().flat_map(of_process).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The ports of a table of the kernel's, each with the name of its socket among descriptors.
fn listening(table: &str) -> Vec<(u16, String)> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (_, port) = words.next()?.rsplit_once(':')?;
        if words.nth(1)? != LISTENS {
            return None;
        }
        let port = u16::from_str_radix(port, 16).ok()?;
        Some((port, format!("socket:[{}]", words.nth(5)?)))
    };
    table.lines().skip(1).filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn of_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     0: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n\
                     1: 0100007F:0016 0100007F:0017 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0\n\
                     garbled\n";
        assert_eq!(listening(table), [(29500, "socket:[4711]".to_owned())]);
    }

    #[test]
    fn this_process_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(listeners().contains(&(port, std::process::id())));
    }
}
