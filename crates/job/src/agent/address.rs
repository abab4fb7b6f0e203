//! An address at which the job's other nodes reach this one.

use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

/// The address, and what there is to say about it.
#[derive(Debug, PartialEq, Eq)]
pub struct NodeAddress {
    /// In digits.
    pub address: String,
    /// Where it is not what the node's name stands for.
    pub note: Option<String>,
}

/// `own`: this node's name. Virtual nodes of one machine have names that nothing resolves.
#[must_use]
pub fn address(own: &str, virtual_node: bool) -> NodeAddress {
    if virtual_node {
        return NodeAddress {
            address: "127.0.0.1".to_owned(),
            note: None,
        };
    }
    let found: Vec<IpAddr> = (own, 0)
        .to_socket_addrs()
        .map(|addresses| addresses.map(|address| address.ip()).collect())
        .unwrap_or_default();
    let address = choose(&found, outgoing());
    NodeAddress {
        note: note(own, &found, address),
        address: address.to_string(),
    }
}

/// Whether this node is one of a virtual cluster that has a network of its own.
#[must_use]
pub fn has_own_network() -> bool {
    std::env::var_os(sys::env_vars::TRAINYARD_NODE_NETWORKS).is_some()
}

/// Whether that network leads nowhere outside, so that only the cluster's nodes reach what listens there.
#[must_use]
pub fn is_closed_in() -> bool {
    std::env::var_os(sys::env_vars::TRAINYARD_NODE_NETWORKS).is_some_and(|value| value == "closed")
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

/// What programs that use the name find instead.
fn note(own: &str, named: &[IpAddr], chosen: IpAddr) -> Option<String> {
    let name = if named.is_empty() {
        format!("the name {own} does not resolve there")
    } else {
        format!("the name {own} stands for {chosen} there")
    };
    if chosen.is_loopback() {
        return Some(format!(
            "no other node reaches {own}: {name}, and no interface leads outside"
        ));
    }
    let instead =
        || format!("{name}: ranks get {chosen}, the address of the interface that leads outside");
    named.is_empty().then(instead)
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
        let unknown = address("no such name", false);
        let address_of_this: IpAddr = unknown.address.parse().unwrap();
        assert!(!address_of_this.is_unspecified());
        assert!(unknown.note.is_some());
        let virtual_node = NodeAddress {
            address: "127.0.0.1".to_owned(),
            note: None,
        };
        assert_eq!(address("node-v1", true), virtual_node);
    }

    #[test]
    fn a_name_that_does_not_resolve_is_said() {
        let check = |named: &[&str], chosen: &str, want: Option<&str>| {
            let named: Vec<IpAddr> = named.iter().map(|text| text.parse().unwrap()).collect();
            let note = note("n1", &named, chosen.parse().unwrap());
            assert_eq!(note.as_deref(), want);
        };
        check(&["10.0.0.5"], "10.0.0.5", None);
        check(&["127.0.1.1"], "10.0.0.7", None);
        let instead = "the name n1 does not resolve there: ranks get 10.0.0.7, the address of the interface that \
                       leads outside";
        check(&[], "10.0.0.7", Some(instead));
        let none = "no other node reaches n1: the name n1 stands for 127.0.1.1 there, and no interface leads outside";
        check(&["127.0.1.1"], "127.0.1.1", Some(none));
        let none = "no other node reaches n1: the name n1 does not resolve there, and no interface leads outside";
        check(&[], "127.0.0.1", Some(none));
    }
}
