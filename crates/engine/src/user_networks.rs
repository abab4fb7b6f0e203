//! Networks of nodes for a user who is not root: a process of its own keeps a user namespace with the bridge and
//! a network namespace for each node, and programs of the nodes enter both.

use crate::networks::{self, LINK, Networks};
use crate::own_processes::OwnProcesses;
use api::EngineFolder;
use model::NodeName;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use sys::process::{self, PidFd, UserNetworks};
use sys::signals::SIGKILL;

/// How often a keeper looks whether it is still wanted.
const LOOK: Duration = Duration::from_secs(10);
/// What a keeper says when all is made.
const READY: &str = "ready";

/// The keepers of a folder of nodes that live, the one with the bridge first.
pub(crate) fn keepers(place: &Path) -> Vec<PidFd> {
    let text = fs::read_to_string(record(place)).unwrap_or_default();
    let keeper = |line: &str| {
        let (pid, start_time) = line.split_once(' ')?;
        let keeper = PidFd::open(pid.parse().ok()?).ok()?;
        let is_it = start_time.parse() == Ok(keeper.start_time());
        (is_it && !is_gone(&keeper)).then_some(keeper)
    };
    text.lines().filter_map(keeper).collect()
}

/// Whether it was killed; its parent may not have looked yet.
pub(crate) fn is_gone(keeper: &PidFd) -> bool {
    keeper.wait_exit(Some(Duration::ZERO)).unwrap_or(true)
}

/// A line for each keeper that lives.
pub(crate) fn now(place: &Path) -> Vec<String> {
    keepers(place).iter().map(line).collect()
}

fn line(keeper: &PidFd) -> String {
    format!("{} {}", keeper.pid(), keeper.start_time())
}

fn record(place: &Path) -> PathBuf {
    place.join("keepers")
}

/// The process whose user namespace a node's network belongs to; none where it has none, or root's.
///
/// # Errors
/// It was killed.
pub(crate) fn keeper_of(place: &Path, node: &str) -> io::Result<Option<u32>> {
    let Some(keeper) = named_by_link(place, node) else {
        return Ok(None);
    };
    if keepers(place).iter().any(|live| live.pid() == keeper) {
        return Ok(Some(keeper));
    }
    Err(io::Error::other(
        "its network is gone, and is made again once no job runs",
    ))
}

fn named_by_link(place: &Path, node: &str) -> Option<u32> {
    let target = networks::link(place, node)?;
    let number = target.strip_prefix("/proc").ok()?.iter().next()?;
    number.to_str()?.parse().ok()
}

/// Makes the networks that are not there yet, with links to them in the nodes' folders.
///
/// # Errors
/// The system refuses, or a program is missing.
pub(crate) fn make(place: &Path, nodes: &[&NodeName]) -> io::Result<()> {
    let live: Vec<u32> = keepers(place).iter().map(PidFd::pid).collect();
    let is_missing = |node: &&NodeName| {
        !named_by_link(place, node.as_str()).is_some_and(|keeper| live.contains(&keeper))
    };
    let missing = nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| is_missing(node));
    let words: Vec<String> = missing
        .map(|(number, node)| format!("{number}={node}"))
        .collect();
    if words.is_empty() {
        return Ok(());
    }
    let engine = place.parent().unwrap_or(place);
    let mut keeper = Command::new(std::env::current_exe()?)
        .args(["engine", "networks", "--dir"])
        .arg(engine)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut said = String::new();
    if let Some(mut output) = keeper.stdout.take() {
        output.read_to_string(&mut said)?;
    }
    if said.trim() == READY {
        return Ok(());
    }
    let _gone = keeper.wait();
    Err(io::Error::other(said.trim().to_owned()))
}

/// Ends what keeps them; what runs in a namespace keeps it, without a way to others.
pub(crate) fn remove(place: &Path) {
    for keeper in keepers(place) {
        let _gone = keeper.signal(SIGKILL);
    }
    let _none = fs::remove_file(record(place));
}

/// Keeps networks, as `yard engine networks --dir ENGINE NUMBER=NODE…`; the exit code. The process has one
/// thread.
#[must_use]
pub fn keep(engine: &Path, words: &[OsString]) -> u8 {
    let engine = EngineFolder::new(engine);
    let place = engine.root().join("nodes");
    let _leads_a_session = process::new_session();
    process::set_name("yard:networks");
    let _entered = OwnProcesses::enter(&engine);
    let kept = match begin(&place, words) {
        Ok(kept) => kept,
        Err(error) => {
            let _gone = writeln!(io::stdout(), "{error}");
            return 1;
        }
    };
    let _gone = writeln!(io::stdout(), "{READY}");
    let _open = process::leave_stdio();
    let own = std::process::id();
    while keepers(&place).iter().any(|keeper| keeper.pid() == own) {
        std::thread::sleep(LOOK);
    }
    drop(kept);
    0
}

/// Makes them, and notes who keeps them.
fn begin(place: &Path, words: &[OsString]) -> io::Result<Vec<OwnedFd>> {
    let networks = Networks::of_user(place);
    let before = keepers(place);
    let first = before.first().map(PidFd::pid);
    let own = PidFd::open(std::process::id())?;
    let here = UserNetworks::enter(first)?;
    if first.is_none() {
        networks.add_bridge()?;
    }
    let mut kept = Vec::new();
    for word in words {
        let word = word.to_string_lossy();
        let pair = word.split_once('=');
        let pair = pair.and_then(|(number, node)| Some((number.parse().ok()?, node)));
        let (number, node): (usize, &str) = pair.ok_or(io::ErrorKind::InvalidInput)?;
        let namespace = here.add()?;
        let path = format!("/proc/{}/fd/{}", own.pid(), namespace.as_raw_fd());
        networks.connect(number, Path::new(&path))?;
        here.within(&namespace, || networks.set_address(number))?;
        let folder = place.join(node);
        fs::create_dir_all(&folder)?;
        let link = folder.join(LINK);
        let _former = fs::remove_file(&link);
        symlink(&path, link)?;
        kept.push(namespace);
    }
    let lines: String = before
        .iter()
        .chain([&own])
        .map(|keeper| line(keeper) + "\n")
        .collect();
    sys::atomic::write(&record(place), lines.as_bytes())?;
    // Opened here, so that a folder that is gone is said.
    File::open(record(place))?;
    Ok(kept)
}
