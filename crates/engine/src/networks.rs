//! A network of its own for each node of a pretended cluster: a namespace with a loopback and an
//! interface at a bridge of this machine, which leads outside by address translation. Two programs
//! listen at one port on two nodes then.
//!
//! This changes the machine: a bridge, an interface a node, three rules of `iptables`,
//! `net.ipv4.ip_forward`. So it is made where a person asks for it, and goes with `yard engine stop`. The
//! namespaces outlive an engine that is killed, as jobs do.
//!
//! Who is not root has the bridge in a namespace too ([`user_networks`]): the nodes reach each other alone.

use crate::user_networks;
use model::NodeName;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Where the kernel shows this machine's interfaces.
const INTERFACES: &str = "/sys/class/net";
/// Where `ip` keeps namespaces that have names.
const NAMESPACES: &str = "/run/netns";
/// The second numbers of networks `10.N.0.0/16` of which one is taken that this machine doesn't use.
const SECOND_NUMBERS: std::ops::Range<u8> = 96..160;
/// Where `ip` is, of which not all users have all on `PATH`.
const PROGRAMS: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";
/// The link to its namespace in a node's folder.
pub(crate) const LINK: &str = "network";
/// More nodes than that get no networks.
const MOST: usize = 1000;

/// The networks of a cluster's nodes, by the nodes' numbers, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Networks {
    /// The bridge's name, and what the names of interfaces and namespaces begin with.
    bridge: String,
    /// Its network is `10.N.0.0/16`.
    second: u8,
    /// Where the bridge is a process's: the nodes' folder, which names it.
    of_user: Option<PathBuf>,
}

impl Networks {
    /// Makes those that are not there yet, with links to them in the nodes' folders.
    ///
    /// # Errors
    /// The system refuses, or a program is missing; then nothing is left.
    pub(crate) fn make(place: &Path, nodes: &[&NodeName]) -> io::Result<Networks> {
        if nodes.len() > MOST {
            let what = format!("networks are made for at most {MOST} nodes");
            return Err(io::Error::other(what));
        }
        if sys::process::user() != 0 {
            let networks = Networks::of_user(place);
            user_networks::make(place, nodes).inspect_err(|_| networks.remove())?;
            return Ok(networks);
        }
        let networks = Networks::find(place)?;
        networks
            .make_all(place, nodes)
            .inspect_err(|_| networks.remove())?;
        Ok(networks)
    }

    /// Those of a user who is not root, of which this machine sees nothing.
    pub(crate) fn of_user(place: &Path) -> Networks {
        Networks {
            bridge: "yd".to_owned(),
            second: SECOND_NUMBERS.start,
            of_user: Some(place.to_owned()),
        }
    }

    /// Those of an engine's folder, which may have been made before.
    fn find(place: &Path) -> io::Result<Networks> {
        let bridge = bridge_of(place);
        let record = place.join("network");
        let kept = fs::read_to_string(&record).ok();
        let kept = kept.and_then(|text| text.trim().parse().ok());
        let second = match kept.filter(|_| is_there(&bridge)) {
            Some(second) => second,
            None => {
                let routes = fs::read_to_string("/proc/net/route")?;
                let free = free_network(&routes).ok_or_else(|| {
                    io::Error::other("no network of 10.96.0.0 to 10.159.0.0 is free")
                })?;
                sys::atomic::write(&record, free.to_string().as_bytes())?;
                free
            }
        };
        Ok(Networks {
            bridge,
            second,
            of_user: None,
        })
    }

    fn make_all(&self, place: &Path, nodes: &[&NodeName]) -> io::Result<()> {
        let Networks { bridge, .. } = self;
        if !is_there(bridge) {
            ip(
                &[],
                &format!(
                    "link add {bridge} type bridge\naddr add {}/16 dev {bridge}\nlink set {bridge} up\n",
                    self.gateway()
                ),
            )?;
        }
        for (number, node) in nodes.iter().enumerate() {
            let folder = place.join(node.as_str());
            fs::create_dir_all(&folder)?;
            let link = folder.join(LINK);
            let _former = fs::remove_file(&link);
            self.make_node(number)?;
            symlink(self.namespace(number), link)?;
        }
        self.lead_outside();
        Ok(())
    }

    fn make_node(&self, number: usize) -> io::Result<()> {
        let (bridge, namespace) = (&self.bridge, self.name(number));
        if self.namespace(number).exists() {
            return Ok(());
        }
        ip(
            &[],
            &format!(
                "netns add {namespace}\nlink add {namespace} type veth peer name eth0 netns {namespace}\n\
                 link set {namespace} master {bridge} up\n"
            ),
        )?;
        let (address, gateway) = (self.address(number), self.gateway());
        ip(
            &["-n", &namespace],
            &format!(
                "addr add {address}/16 dev eth0\nlink set lo up\nlink set eth0 up\nroute add default via {gateway}\n"
            ),
        )
    }

    /// Best effort: without it jobs reach each other's nodes and this machine.
    fn lead_outside(&self) {
        for rule in self.rules() {
            if !iptables("-C", &rule) && !iptables("-I", &rule) {
                tracing::warn!("nodes do not reach the outside: iptables refuses {rule:?}");
                return;
            }
        }
        if let Err(error) = fs::write("/proc/sys/net/ipv4/ip_forward", "1") {
            tracing::warn!("nodes do not reach the outside: net.ipv4.ip_forward: {error}");
        }
    }

    fn rules(&self) -> [Vec<String>; 3] {
        let bridge = &self.bridge;
        let network = format!("10.{}.0.0/16", self.second);
        [
            format!("nat POSTROUTING -s {network} ! -o {bridge} -j MASQUERADE"),
            format!("filter FORWARD -i {bridge} -j ACCEPT"),
            format!("filter FORWARD -o {bridge} -j ACCEPT"),
        ]
        .map(|rule| rule.split(' ').map(str::to_owned).collect())
    }

    /// Removes all that was made; what runs in a namespace keeps it, unreachable.
    pub(crate) fn remove(&self) {
        if let Some(place) = &self.of_user {
            user_networks::remove(place);
            return;
        }
        let mine = format!("{}n", self.bridge);
        let entries = fs::read_dir(NAMESPACES).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        for name in names.filter(|name| name.starts_with(&mine)) {
            // The interface goes with its other end; that of a namespace in use is taken away first.
            let _gone = ip(&[], &format!("link del {name}\n"));
            let _gone = ip(&[], &format!("netns del {name}\n"));
        }
        let _gone = ip(&[], &format!("link del {}\n", self.bridge));
        for rule in self.rules() {
            iptables("-D", &rule);
        }
    }

    /// The address of a node.
    pub(crate) fn address(&self, number: usize) -> Ipv4Addr {
        let first = u32::from(self.gateway()).saturating_add(1);
        Ipv4Addr::from(first.saturating_add(u32::try_from(number).unwrap_or(u32::MAX)))
    }

    /// Whether nodes reach this machine and the outside.
    pub(crate) fn lead_outside_too(&self) -> bool {
        self.of_user.is_none()
    }

    /// This machine's, on the bridge.
    pub(crate) fn gateway(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.second, 0, 1)
    }

    /// Adds the bridge to this process's network namespace.
    pub(crate) fn add_bridge(&self) -> io::Result<()> {
        let bridge = &self.bridge;
        let commands =
            format!("link set lo up\nlink add {bridge} type bridge\nlink set {bridge} up\n");
        ip(&[], &commands)
    }

    /// Connects a namespace, by the file that stands for it, to the bridge here.
    pub(crate) fn connect(&self, number: usize, namespace: &Path) -> io::Result<()> {
        let (bridge, name) = (&self.bridge, self.name(number));
        let namespace = namespace.display();
        // Left by a process that ended.
        let _gone = ip(&[], &format!("link del {name}\n"));
        ip(
            &[],
            &format!(
                "link add {name} type veth peer name eth0 netns {namespace}\n\
                 link set {name} master {bridge} up\n"
            ),
        )
    }

    /// Gives this process's network namespace the address of a node.
    pub(crate) fn set_address(&self, number: usize) -> io::Result<()> {
        let address = self.address(number);
        ip(
            &[],
            &format!("addr add {address}/16 dev eth0\nlink set lo up\nlink set eth0 up\n"),
        )
    }

    fn name(&self, number: usize) -> String {
        format!("{}n{number}", self.bridge)
    }

    fn namespace(&self, number: usize) -> PathBuf {
        Path::new(NAMESPACES).join(self.name(number))
    }
}

/// What tells a folder of nodes from those of this machine's other engines.
pub(crate) fn number_of(place: &Path) -> u32 {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    (hasher.finish() & 0xffff_ffff) as u32
}

/// What tells the networks that are there now from all that a folder of nodes had before: a line each of what keeps
/// them.
pub(crate) fn now(place: &Path) -> Vec<String> {
    if sys::process::user() != 0 {
        return user_networks::now(place);
    }
    // The kernel gives no number to two interfaces.
    let bridge = bridge_of(place);
    let number = Path::new(INTERFACES).join(&bridge).join("ifindex");
    let number = fs::read_to_string(number).ok();
    let line = number.map(|number| format!("{bridge} {}", number.trim()));
    line.into_iter().collect()
}

/// The file that stands for a node's network; none where it has this machine's.
pub(crate) fn link(place: &Path, node: &str) -> Option<PathBuf> {
    fs::read_link(place.join(node).join(LINK)).ok()
}

fn bridge_of(place: &Path) -> String {
    format!("yd{:08x}", number_of(place))
}

/// Removes what leads the nodes' programs into networks that are gone.
pub(crate) fn forget(place: &Path, nodes: &[&NodeName]) {
    for node in nodes {
        let _none = fs::remove_file(place.join(node.as_str()).join(LINK));
    }
}

fn is_there(interface: &str) -> bool {
    Path::new(INTERFACES).join(interface).exists()
}

/// The first network that no route of the kernel's table leads into.
fn free_network(routes: &str) -> Option<u8> {
    let used: Vec<[u8; 4]> = routes
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter_map(|word| u32::from_str_radix(word, 16).ok())
        .map(u32::to_le_bytes)
        .collect();
    SECOND_NUMBERS
        .into_iter()
        .find(|second| !used.iter().any(|it| it[0] == 10 && it[1] == *second))
}

/// Runs commands of `ip`, up to the first that fails.
fn ip(options: &[&str], commands: &str) -> io::Result<()> {
    let program = sys::process::find_program(OsStr::new("ip"), PROGRAMS);
    let mut child = Command::new(program.as_deref().unwrap_or(Path::new("ip")))
        .args(options)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("ip can't be run: {error}")))?;
    if let Some(mut input) = child.stdin.take() {
        let _refused = input.write_all(commands.as_bytes());
    }
    let output: Output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.lines().next().unwrap_or_default();
    Err(io::Error::other(format!("ip: {words}")))
}

/// Whether it did as told; the first word of a rule is its table.
fn iptables(verb: &str, rule: &[String]) -> bool {
    let Some((table, rule)) = rule.split_first() else {
        return false;
    };
    let mut command = Command::new("iptables");
    command.args(["-w", "5", "-t", table, verb]).args(rule);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_no_route_leads_into() {
        let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n";
        let check = |rows: &str, want| assert_eq!(free_network(&format!("{head}{rows}")), want);
        check(
            "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\n",
            Some(96),
        );
        check(
            "br0\t0000600A\t00000000\t0001\t0\t0\t0\t0000FFFF\n",
            Some(97),
        );
    }

    #[test]
    fn addresses_follow_the_machines() {
        let networks = Networks {
            bridge: "yd01".to_owned(),
            second: 96,
            of_user: None,
        };
        assert_eq!(networks.gateway().to_string(), "10.96.0.1");
        assert_eq!(networks.address(0).to_string(), "10.96.0.2");
        assert_eq!(networks.address(254).to_string(), "10.96.1.0");
        // Names of interfaces have at most 15 bytes.
        let found = Networks::find(Path::new("/nowhere")).map(|it| it.name(MOST).len());
        assert!(found.is_err() || found.is_ok_and(|length| length <= 15));
    }
}
