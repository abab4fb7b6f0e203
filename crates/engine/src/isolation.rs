//! Nodes of a pretended cluster as machines of their own: each has its host name, its `/tmp` and `/dev/shm`, and a
//! loopback address, by which its name is found in `/etc/hosts`.
//!
//! Whether the system makes the namespaces is tried when the engine starts. Where it does not, tasks
//! see this machine's name and `/tmp`, and the engine says so.

use crate::job_networks;
use crate::networks::{self, Networks};
use crate::node_disks::{self, make_folder};
use crate::spec::StepSpec;
use crate::user_networks;
use api::EngineFolder;
use model::NodeName;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use sys::env_vars::{
    TMPDIR, TRAINYARD_HOME, TRAINYARD_HOST, TRAINYARD_NAMESPACES, XDG_CACHE_HOME, XDG_CONFIG_HOME,
    XDG_DATA_HOME, XDG_STATE_HOME,
};
use sys::process::{NodeView, PidFd, Spawn, User};

/// Variables of a job that name folders which it shares with this machine.
const SHARED: [&str; 6] = [
    "HOME",
    TRAINYARD_HOME,
    XDG_CACHE_HOME,
    XDG_DATA_HOME,
    XDG_CONFIG_HOME,
    XDG_STATE_HOME,
];

/// Whether nodes are isolated.
#[derive(Debug)]
pub(crate) enum Isolation {
    /// The engine's one node is this machine.
    NotNeeded,
    /// Tasks see their node alone.
    Nodes {
        /// What the nodes have is in this folder.
        place: PathBuf,
        /// Their networks, or why each node has this machine's.
        networks: Result<Networks, String>,
        /// What keeps those of a user who is not root.
        keepers: Vec<PidFd>,
        /// Why there are none any more, once their keeper was killed.
        lost: Option<String>,
        /// Or why jobs see this machine's processes.
        processes: Result<(), String>,
        /// Or why those of other users than the engine's see this machine.
        others: Result<(), String>,
    },
    /// They see this machine, and why.
    Missing(String),
}

impl Isolation {
    /// Of pretended nodes with these names; none where the node is this machine.
    pub(crate) fn of<'a>(
        folder: &EngineFolder,
        nodes: Option<impl Iterator<Item = &'a NodeName>>,
    ) -> Isolation {
        let Some(nodes) = nodes else {
            return Isolation::NotNeeded;
        };
        let asked = std::env::var_os(TRAINYARD_NAMESPACES);
        if asked.as_ref().is_some_and(|value| value == "0") {
            return Isolation::Missing(format!("{TRAINYARD_NAMESPACES} is 0"));
        }
        let place = folder.root().join("nodes");
        let nodes: Vec<&NodeName> = nodes.collect();
        let networks = if folder.networks().exists() {
            make_networks(&place, &nodes)
        } else {
            Err("yard engine start --networks gives each its own".to_owned())
        };
        if networks.is_err() {
            networks::forget(&place, &nodes);
        }
        let made = write_hosts(&place, &nodes, networks.as_ref().ok());
        if let Err(error) = made.and_then(|()| try_node(&place, TRIAL, false)) {
            return Isolation::Missing(error.to_string());
        }
        let processes = if asked.is_some_and(|value| value == "no-pid") {
            Err(format!("{TRAINYARD_NAMESPACES} is no-pid"))
        } else {
            try_node(&place, TRIAL, true).map_err(|error| error.to_string())
        };
        let keepers = keepers_of(&place, networks.as_ref().ok());
        Isolation::Nodes {
            place,
            networks,
            keepers,
            lost: None,
            processes,
            others: NodeView::try_for_user().map_err(|error| error.to_string()),
        }
    }

    /// The folder of the nodes, where they are isolated.
    pub(crate) fn nodes(&self) -> Option<&Path> {
        match self {
            Isolation::Nodes { place, .. } => Some(place),
            Isolation::NotNeeded | Isolation::Missing(_) => None,
        }
    }

    /// The same where jobs of this user are isolated too.
    pub(crate) fn nodes_of(&self, user: u32) -> Option<&Path> {
        let is_own = user == sys::process::user();
        self.nodes().filter(|_| is_own || self.isolates_others())
    }

    fn isolates_others(&self) -> bool {
        matches!(self, Isolation::Nodes { others: Ok(()), .. })
    }

    /// Writes the names of nodes that may be new.
    pub(crate) fn update<'a>(
        &mut self,
        nodes: impl Iterator<Item = &'a NodeName>,
    ) -> io::Result<()> {
        let Isolation::Nodes {
            place,
            networks,
            keepers,
            ..
        } = self
        else {
            return Ok(());
        };
        let nodes: Vec<&NodeName> = nodes.collect();
        // Where one was killed, all are made once no job is there.
        if networks.is_ok() && !keepers.iter().any(user_networks::is_gone) {
            Networks::make(place, &nodes)?;
            *keepers = keepers_of(place, networks.as_ref().ok());
        }
        write_hosts(place, &nodes, networks.as_ref().ok())
    }

    /// The processes without which the networks of nodes are gone.
    pub(crate) fn keepers(&self) -> &[PidFd] {
        match self {
            Isolation::Nodes { keepers, .. } => keepers,
            Isolation::NotNeeded | Isolation::Missing(_) => &[],
        }
    }

    /// Whether one of them was killed.
    pub(crate) fn has_lost_networks(&self) -> bool {
        self.keepers().iter().any(user_networks::is_gone)
    }

    /// Says why the networks are gone until they are made anew; false where that was said.
    pub(crate) fn note_lost_networks(&mut self, why: &str) -> bool {
        let Isolation::Nodes { lost, .. } = self else {
            return false;
        };
        lost.replace(why.to_owned()).as_deref() != Some(why)
    }

    /// Makes networks in place of those that are gone.
    pub(crate) fn renew_networks<'a>(
        &mut self,
        nodes: impl Iterator<Item = &'a NodeName>,
    ) -> io::Result<()> {
        let Isolation::Nodes {
            place,
            networks: Ok(networks),
            keepers,
            lost,
            ..
        } = self
        else {
            return Ok(());
        };
        networks.remove();
        let nodes: Vec<&NodeName> = nodes.collect();
        *networks = Networks::make(place, &nodes)?;
        *keepers = keepers_of(place, Some(networks));
        *lost = None;
        Ok(())
    }

    /// Whether jobs see their own processes alone.
    pub(crate) fn has_processes(&self) -> bool {
        matches!(
            self,
            Isolation::Nodes {
                processes: Ok(()),
                ..
            }
        )
    }

    /// Whether nodes have networks of their own.
    pub(crate) fn has_networks(&self) -> bool {
        self.networks().is_some()
    }

    /// Their networks, where they have some.
    pub(crate) fn networks(&self) -> Option<&Networks> {
        match self {
            Isolation::Nodes { networks, .. } => networks.as_ref().ok(),
            Isolation::NotNeeded | Isolation::Missing(_) => None,
        }
    }

    /// What nodes have of their own and what not, in words; none where the node is this machine.
    pub(crate) fn limit(&self) -> Option<String> {
        let (networks, lost, processes, others) = match self {
            Isolation::NotNeeded => return None,
            Isolation::Missing(why) => {
                return Some(format!(
                    "nodes have this machine's host name, /tmp, /dev/shm and processes, since no namespaces can be \
                     made ({why}); SLURMD_NODENAME is the node's name, which leads to no address (a run's ranks meet \
                     at YARD_COORDINATOR), and a run's folders on its nodes' disks (checkpoints, data) are one for \
                     all its nodes"
                ));
            }
            Isolation::Nodes {
                networks,
                lost,
                processes,
                others,
                ..
            } => (networks, lost, processes, others),
        };
        let networks = match networks {
            Ok(_) if lost.is_some() => format!(
                "nodes have their own host names, /tmp and /dev/shm, and their networks are gone ({}): no job starts \
                 until they are made anew",
                lost.as_deref().unwrap_or_default()
            ),
            Ok(networks) if !networks.lead_outside_too() => {
                "nodes have their own host names, /tmp, /dev/shm and networks, by which they reach each other alone: \
                 a job reaches no port of this machine and nothing outside, and is not reached from here (as root \
                 they lead outside too)"
                    .to_owned()
            }
            Ok(networks) => format!(
                "nodes have their own host names, /tmp, /dev/shm and networks ({} is this machine): what listens at \
                 127.0.0.1 here is not reached from a job",
                networks.gateway()
            ),
            Err(why) => format!(
                "nodes have their own host names, /tmp, /dev/shm and loopback addresses, and share this machine's \
                 ports: two programs can't listen at one port of all addresses ({why})"
            ),
        };
        let processes = match processes {
            Ok(()) => "a job sees its own processes on a node alone".to_owned(),
            Err(why) => format!("jobs see this machine's processes ({why})"),
        };
        let others = match others {
            _ if sys::process::user() != 0 => String::new(),
            Ok(()) => {
                "; other users have a /tmp and /dev/shm each of their own on a node".to_owned()
            }
            Err(why) => {
                format!("; jobs of other users than root see this machine as it is ({why})")
            }
        };
        Some(format!("{networks}; {processes}{others}"))
    }
}

/// The address of the node with this number, counted from 0: one of the loopback network that
/// nothing else uses.
fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(127, 64, 0, 1).to_bits().wrapping_add(number))
}

/// This machine's `/etc/hosts`, and the nodes.
fn write_hosts(place: &Path, nodes: &[&NodeName], networks: Option<&Networks>) -> io::Result<()> {
    make_folder(place)?;
    let own = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let mut text = own.trim_end().to_owned();
    for (node, number) in nodes.iter().zip(0_u32..) {
        let address = match networks {
            Some(networks) => networks.address(number as usize),
            None => address(number),
        };
        text.push_str(&format!("\n{address} {node}"));
    }
    text.push('\n');
    // Replaced by renaming: what runs keeps the one that it sees.
    sys::atomic::write(&place.join("hosts"), text.as_bytes())?;
    fs::set_permissions(place.join("hosts"), Permissions::from_mode(0o644))
}

fn keepers_of(place: &Path, networks: Option<&Networks>) -> Vec<PidFd> {
    let of_user = networks.filter(|networks| !networks.lead_outside_too());
    of_user.map_or_else(Vec::new, |_| user_networks::keepers(place))
}

/// Networks for all nodes, entered by a program once; else why not.
fn make_networks(place: &Path, nodes: &[&NodeName]) -> Result<Networks, String> {
    let made = make_folder(place).and_then(|()| Networks::make(place, nodes));
    let networks = made.map_err(|error| error.to_string())?;
    let first = nodes.first().map_or("", |node| node.as_str());
    let tried =
        sys::atomic::write(&place.join("hosts"), b"").and_then(|()| try_node(place, first, false));
    tried.map_err(|error| {
        networks.remove();
        error.to_string()
    })?;
    Ok(networks)
}

/// Stands for a node where namespaces are tried.
const TRIAL: &str = "trial";

/// Whether the system makes what a task needs, with processes of its own or without.
fn try_node(place: &Path, node: &str, processes: bool) -> io::Result<()> {
    let mut view = view(place, node, &[place.to_owned()], None)?;
    enter_network(&mut view, place, node)?;
    if processes {
        view.begin_processes();
    }
    let tried = try_view(&view);
    node_disks::forget_memory(place, node);
    tried
}

fn try_view(view: &NodeView) -> io::Result<()> {
    let null = File::open("/dev/null")?;
    let errors = File::options().write(true).open("/dev/null")?;
    let program = sys::process::find_program(OsStr::new("true"), "/usr/bin:/bin");
    let program = program.ok_or(io::ErrorKind::NotFound)?;
    let pid = Spawn {
        program: program.as_os_str(),
        args: &[OsString::from("true")],
        environment: &[],
        pid_variable: None,
        streams: [null.as_fd(), errors.as_fd(), errors.as_fd()],
        terminal: false,
        cpus: &[],
        umask: 0o22,
        oom_score_adj: sys::process::oom_score_adj(),
        cgroups: &[],
        limits: &[],
        user: None,
        view: Some(view),
    }
    .start()?;
    match sys::process::wait(pid) {
        Some(0) => Ok(()),
        Some(status) => Err(io::Error::from_raw_os_error(status >> 8)),
        None => Err(io::ErrorKind::Other.into()),
    }
}

/// Another user than the engine's, who has folders of a node alone.
struct Guest<'a> {
    uid: u32,
    /// With whose rights what stays seen is opened, unless the engine's user names it.
    opens: Option<&'a User>,
}

/// What a task of the node sees; folders of `kept` below `/tmp` stay.
fn view(
    place: &Path,
    node: &str,
    kept: &[PathBuf],
    guest: Option<Guest<'_>>,
) -> io::Result<NodeView> {
    let uid = guest.as_ref().map(|guest| guest.uid);
    let disk = node_disks::disk(place, node, uid)?;
    let mut view = NodeView::new(node)?;
    view.bind(&place.join("hosts"), Path::new("/etc/hosts"))?;
    if let Some(guest) = &guest {
        view.open_kept_as(guest.opens);
    }
    let mut replace = |source: &Path, target: &str| match guest {
        None => view.replace(source, Path::new(target), kept),
        Some(_) => view.replace_for_user(source, Path::new(target), kept),
    };
    replace(&disk, "/tmp")?;
    if let Some(memory) = node_disks::memory(place, node, uid) {
        replace(&memory, node_disks::MEMORY)?;
    }
    Ok(view)
}

/// Has a program see the node's network, where it has one.
fn enter_network(view: &mut NodeView, place: &Path, node: &str) -> io::Result<()> {
    if let Some(namespace) = networks::link(place, node) {
        view.enter_network(&namespace, user_networks::keeper_of(place, node)?)?;
    }
    Ok(())
}

/// The `yard` that a job's script finds, where it lies in a folder below `/tmp`: a plain file there is the node's matter.
fn own_yard(environment: &[(String, String)]) -> Option<PathBuf> {
    let (_, path) = environment.iter().find(|(name, _)| name == "PATH")?;
    let file = sys::process::find_program(OsStr::new("yard"), path)?;
    let folder = file.parent()?;
    (folder.starts_with("/tmp") && folder != Path::new("/tmp")).then(|| folder.to_owned())
}

/// What the tasks of a step see; none where their node is this machine. Its current folder is the
/// step's; `keeper` keeps their PID namespace, and `user` is who they become.
pub(crate) fn of_step(
    spec: &StepSpec,
    environment: &[(String, String)],
    keeper: Option<u32>,
    user: Option<&User>,
) -> io::Result<Option<NodeView>> {
    let Some(place) = &spec.nodes else {
        return Ok(None);
    };
    let folder = std::env::current_dir()?;
    let shared = environment
        .iter()
        .filter(|(name, _)| SHARED.contains(&name.as_str()));
    let shared = shared.map(|(_, value)| PathBuf::from(value));
    let own = [&spec.engine, &spec.binary, &spec.chdir, &folder].map(Clone::clone);
    let kept = own.into_iter().chain(shared).chain(own_yard(environment));
    let kept: Vec<PathBuf> = kept.collect();
    let node = spec.node.as_str();
    let guest = user.map(|user| Guest {
        uid: user.uid,
        opens: Some(user),
    });
    if guest.is_none() {
        // What can't be made is said when the first task begins.
        let _ = make_temporary_folder(environment, &node_disks::disk(place, node, None)?);
    }
    let mut view = view(place, node, &kept, guest)?;
    view.start_in(&folder)?;
    if let Some(keeper) = keeper {
        view.enter_processes(keeper)?;
    }
    // A job that began before the nodes had networks stays without.
    if job_networks::has(place, spec)? {
        enter_network(&mut view, place, node)?;
    }
    Ok(Some(view))
}

/// Makes the folder that `TMPDIR` names below `/tmp` on the node's disk, where programs use it and need not make it.
fn make_temporary_folder(environment: &[(String, String)], disk: &Path) -> io::Result<()> {
    let named = environment.iter().find(|(name, _)| name == TMPDIR);
    let below = named.and_then(|(_, path)| Path::new(path).strip_prefix("/tmp").ok());
    let is_plain = |below: &&Path| {
        let mut parts = below.components();
        parts.all(|part| matches!(part, Component::Normal(_)))
    };
    match below.filter(is_plain) {
        Some(below) => make_folder(&disk.join(below)),
        None => Ok(()),
    }
}

/// What a program of the cluster sees on a node, with these folders below `/tmp`, if they are there: what a job
/// of that user sees there, unless it is the engine's user.
pub(crate) fn of_program(
    place: &Path,
    node: &str,
    kept: &[PathBuf],
    user: u32,
) -> io::Result<NodeView> {
    let guest = (user != sys::process::user()).then_some(Guest {
        uid: user,
        opens: None,
    });
    let mut view = view(place, node, kept, guest)?;
    enter_network(&mut view, place, node)?;
    view.start_in(Path::new("/"))?;
    Ok(view)
}

/// The variable by which commands in a job know the machine on which the engine is.
pub(crate) fn variable() -> (String, String) {
    (TRAINYARD_HOST.to_owned(), sys::host_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_an_address() {
        let check = |number, want: &str| assert_eq!(address(number).to_string(), want);
        check(0, "127.64.0.1");
        check(254, "127.64.0.255");
        check(255, "127.64.1.0");
        check(9_999, "127.64.39.16");
    }
}
