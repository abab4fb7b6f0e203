//! Nodes of a pretended cluster as machines of their own: each has its host name, its `/tmp` and a
//! loopback address, by which its name is found in `/etc/hosts`.
//!
//! Whether the system makes the namespaces is tried when the engine starts. Where it does not, tasks
//! see this machine's name and `/tmp`, and the engine says so.

use crate::spec::StepSpec;
use api::EngineFolder;
use model::NodeName;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use sys::env_vars::{
    TMPDIR, TRAINYARD_HOME, TRAINYARD_HOST, TRAINYARD_NAMESPACES, XDG_CACHE_HOME, XDG_CONFIG_HOME,
    XDG_DATA_HOME, XDG_STATE_HOME,
};
use sys::process::{NodeView, Spawn};

/// Variables of a job that name folders which it shares with this machine.
const SHARED: [&str; 7] = [
    "HOME",
    TRAINYARD_HOME,
    XDG_CACHE_HOME,
    XDG_DATA_HOME,
    XDG_CONFIG_HOME,
    XDG_STATE_HOME,
    TMPDIR,
];

/// Whether nodes are isolated.
#[derive(Debug)]
pub(crate) enum Isolation {
    /// The engine's one node is this machine.
    NotNeeded,
    /// Tasks see their node alone; in this folder are what its nodes have.
    Nodes(PathBuf),
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
        if std::env::var_os(TRAINYARD_NAMESPACES).is_some_and(|value| value == "0") {
            return Isolation::Missing(format!("{TRAINYARD_NAMESPACES} is 0"));
        }
        let place = folder.root().join("nodes");
        match write_hosts(&place, nodes).and_then(|()| try_one(&place)) {
            Ok(()) => Isolation::Nodes(place),
            Err(error) => Isolation::Missing(error.to_string()),
        }
    }

    /// The folder of the nodes, where they are isolated.
    pub(crate) fn nodes(&self) -> Option<&Path> {
        match self {
            Isolation::Nodes(place) => Some(place),
            Isolation::NotNeeded | Isolation::Missing(_) => None,
        }
    }

    /// Writes the names of nodes that may be new.
    pub(crate) fn update<'a>(&self, nodes: impl Iterator<Item = &'a NodeName>) -> io::Result<()> {
        self.nodes()
            .map_or(Ok(()), |place| write_hosts(place, nodes))
    }

    /// What nodes have not of their own, in words; none where the node is this machine.
    pub(crate) fn limit(&self) -> Option<String> {
        match self {
            Isolation::NotNeeded => None,
            Isolation::Nodes(_) => Some(
                "nodes have their own host names, /tmp and loopback addresses, and share this \
                 machine's ports and processes: two programs can't listen at one port of all addresses"
                    .to_owned(),
            ),
            Isolation::Missing(why) => Some(format!(
                "nodes have this machine's host name and /tmp, since no namespaces can be made \
                 ({why}); SLURMD_NODENAME is the node's name"
            )),
        }
    }
}

/// The address of the node with this number, counted from 0: one of the loopback network that
/// nothing else uses.
fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(127, 64, 0, 1).to_bits().wrapping_add(number))
}

/// This machine's `/etc/hosts`, and the nodes.
fn write_hosts<'a>(place: &Path, nodes: impl Iterator<Item = &'a NodeName>) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(place)?;
    let own = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let mut text = own.trim_end().to_owned();
    for (node, number) in nodes.zip(0..) {
        text.push_str(&format!("\n{} {node}", address(number)));
    }
    text.push('\n');
    // Replaced by renaming: what runs keeps the one that it sees.
    sys::atomic::write(&place.join("hosts"), text.as_bytes())?;
    fs::set_permissions(place.join("hosts"), Permissions::from_mode(0o644))
}

/// Whether the system makes what a task needs.
fn try_one(place: &Path) -> io::Result<()> {
    let view = view(place, "trial", &[place.to_owned()])?;
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
        view: Some(&view),
    }
    .start()?;
    match sys::process::wait(pid) {
        Some(0) => Ok(()),
        Some(status) => Err(io::Error::from_raw_os_error(status >> 8)),
        None => Err(io::ErrorKind::Other.into()),
    }
}

/// What a task of the node sees; folders of `kept` below `/tmp` stay.
fn view(place: &Path, node: &str, kept: &[PathBuf]) -> io::Result<NodeView> {
    let disk = place.join(node).join("tmp");
    if !disk.exists() {
        fs::create_dir_all(&disk)?;
        fs::set_permissions(&disk, Permissions::from_mode(0o1777))?;
    }
    let mut view = NodeView::new(node)?;
    view.bind(&place.join("hosts"), Path::new("/etc/hosts"))?;
    view.replace(&disk, Path::new("/tmp"), kept)?;
    Ok(view)
}

/// What the tasks of a step see; none where their node is this machine. Its current folder is the
/// step's.
pub(crate) fn of_step(
    spec: &StepSpec,
    environment: &[(String, String)],
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
    let kept: Vec<PathBuf> = own.into_iter().chain(shared).collect();
    let mut view = view(place, spec.node.as_str(), &kept)?;
    view.start_in(&folder)?;
    Ok(Some(view))
}

/// What a program of the cluster sees on a node, with these folders below `/tmp`, if they are there.
pub(crate) fn of_program(place: &Path, node: &str, kept: &[PathBuf]) -> io::Result<NodeView> {
    let mut view = view(place, node, kept)?;
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
