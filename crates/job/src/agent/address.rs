//! An address at which the job's other nodes reach this one.

use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

/// `own`: this node's name. Virtual nodes of one machine have names that nothing resolves.
#[must_use]
pub fn address(own: &str, virtual_node: bool) -> String {
    if virtual_node {
        return "127.0.0.1".to_owned();
    }
    let found: Vec<IpAddr> = (own, 0)
        .to_socket_addrs()
        .map(|addresses| addresses.map(|address| address.ip()).collect())
        .unwrap_or_default();
    choose(&found, outgoing()).to_string()
}

/// Whether this node is one of a virtual cluster that has a network of its own.
#[must_use]
pub fn has_own_network() -> bool {
    std::env::var_os(sys::env_vars::TRAINYARD_NODE_NETWORKS).is_some()
}

/// What the name stands for, IPv4 first because more programs take it. A loopback address is what
/// Debian writes into `/etc/hosts` for a machine's own name: other nodes need another.
fn choose(named: &[IpAddr], outgoing: Option<IpAddr>) -> IpAddr {
    let outside = named.iter().filter(|address| !address.is_loopback());
    let best = outside.min_by_key(|address| address.is_ipv6()).copied();
    best.or(outgoing)
        .or(named.first().copied())
        .unwrap_or(IpAddr::from([127, 0, 0, 1]))
}

/// The address of the interface that leads outside. Connecting a datagram socket sends nothing;
/// 192.0.2.1 is reserved for documentation.
fn outgoing() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(named: &[&str], outgoing: Option<&str>, want: &str) {
        let named: Vec<IpAddr> = named.iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(
            choose(&named, outgoing.map(|text| text.parse().unwrap())).to_string(),
            want
        );
    }

    #[test]
    fn what_others_reach() {
        check(&["fd00::5", "10.0.0.5"], None, "10.0.0.5");
        check(&["fd00::5"], Some("10.0.0.7"), "fd00::5");
        check(&["127.0.1.1"], Some("10.0.0.7"), "10.0.0.7");
        check(&["127.0.1.1"], None, "127.0.1.1");
        check(&[], None, "127.0.0.1");
        // A name that nothing resolves ends nothing: the machine's own address does.
        let unknown: IpAddr = address("no such name", false).parse().unwrap();
        assert!(!unknown.is_unspecified());
        assert_eq!(address("node-v1", true), "127.0.0.1");
    }
}
