//! `/tmp` and `/dev/shm` of isolated nodes. What jobs leave there goes when no job is on the node any more.
//!
//! Folders of runs, `trainyard-…`, stay: a run that comes back goes on from what it staged, and some
//! hold the only copy of a checkpoint. `yard clean` removes them.

use crate::networks;
use crate::spec::{JobFolder, StepSpec};
use std::ffi::OsStr;
use std::fs;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use sys::process::User;

/// What the folders begin with that are put aside until they are removed.
const ASIDE: &str = "tmp.gone.";
/// What a node has for other users than the engine's, a folder each.
const OF_USERS: &str = "users";
/// How deep folders may lie in each other that hold nothing else and are removed at once.
const DEEPEST: usize = 8;
/// What stays.
const OF_RUNS: &str = "trainyard-";
/// Where programs share memory by files.
pub(crate) const MEMORY: &str = "/dev/shm";

/// The folder that a node has as its `/tmp`, made where it is missing: its own, or that of another user than
/// the engine's.
pub(crate) fn disk(nodes: &Path, node: &str, user: Option<u32>) -> io::Result<PathBuf> {
    make(&folder_for(nodes.join(node), user))
}

/// Makes the folder that a step's job has to itself on its node, with the rights of this thread, and says by which
/// variable tasks know it; none where jobs have none.
pub(crate) fn make_job_folder(
    spec: &StepSpec,
    user: Option<&User>,
) -> io::Result<Option<(String, String)>> {
    let (Some(nodes), Some(JobFolder { variable, name })) = (&spec.nodes, &spec.job_folder) else {
        return Ok(None);
    };
    let disk = disk(nodes, spec.node.as_str(), user.map(|user| user.uid))?;
    sys::process::as_user(user, || make_folder(&disk.join(name)))??;
    Ok(Some((variable.clone(), format!("/tmp/{name}"))))
}

/// Makes a folder and those above it, for its user alone.
pub(crate) fn make_folder(place: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(place)
}

/// Where a user's folder is in a node's. The folders above are closed to all but the engine's user, so that no
/// other can put a link in its place.
fn folder_for(node: PathBuf, user: Option<u32>) -> PathBuf {
    match user {
        None => node,
        Some(user) => node.join(OF_USERS).join(user.to_string()),
    }
}

/// The folder that it has as its `/dev/shm`: in this machine's, so that it is memory. None where there is
/// none, or this user may not write there.
pub(crate) fn memory(nodes: &Path, node: &str, user: Option<u32>) -> Option<PathBuf> {
    let all = all_memory();
    sys::private_folder::make(&all).ok()?;
    let node = all.join(memory_name(nodes)).join(node);
    make(&folder_for(node, user)).ok()
}

fn all_memory() -> PathBuf {
    let name = format!("yard-nodes-{}", sys::process::user());
    sys::private_folder::of_user(Path::new(MEMORY), &name)
}

fn memory_name(nodes: &Path) -> String {
    format!("{:08x}", networks::number_of(nodes))
}

/// The folder in a node's where every user writes.
fn make(node: &Path) -> io::Result<PathBuf> {
    let disk = node.join("tmp");
    let is_ready = |facts: fs::Metadata| facts.permissions().mode() & 0o7777 == 0o1777;
    // One that is there may not be open to all yet.
    if !fs::metadata(&disk).is_ok_and(is_ready) {
        // Another engine of this user's may just take back a folder above it.
        fs::create_dir_all(&disk).or_else(|_| fs::create_dir_all(&disk))?;
        fs::set_permissions(&disk, Permissions::from_mode(0o1777))?;
    }
    Ok(disk)
}

/// What nodes have, on the disk and in memory.
fn places(nodes: &Path) -> [PathBuf; 2] {
    [nodes.to_owned(), all_memory().join(memory_name(nodes))]
}

/// The same of one node, and what it has for other users.
fn places_on(nodes: &Path, node: &str) -> Vec<PathBuf> {
    let own = places(nodes).map(|place| place.join(node));
    own.into_iter().flat_map(with_users).collect()
}

fn with_users(node: PathBuf) -> Vec<PathBuf> {
    let mut all = entries(&node.join(OF_USERS));
    all.push(node);
    all
}

/// Whether jobs left something that is to go.
pub(crate) fn is_used(nodes: &Path, node: &str) -> bool {
    let names = |place: PathBuf| entries(&place.join("tmp"));
    let mut left = places_on(nodes, node).into_iter().flat_map(names);
    left.any(|path| path.file_name().is_some_and(|name| !stays(name)))
}

fn stays(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(OF_RUNS.as_bytes())
}

/// Empties the disk and the memory of a node on which no job is. What is there is put aside at once and
/// removed on a thread: `number` tells it from all that was put aside before.
pub(crate) fn empty(nodes: &Path, node: &str, number: u64) {
    let mut aside = Vec::new();
    for folder in places_on(nodes, node) {
        match put_aside(&folder, number, &|name| !stays(name)) {
            Ok(found) => aside.extend(found),
            Err(error) => tracing::warn!(node, "{} is not emptied: {error}", folder.display()),
        }
    }
    remove(aside);
}

/// Removes what a job had to itself on a node's disk, likewise.
pub(crate) fn remove_of_job(nodes: &Path, node: &str, user: Option<u32>, name: &str, number: u64) {
    let folder = folder_for(nodes.join(node), user);
    match put_aside(&folder, number, &|other| other == name) {
        Ok(found) => remove(found.into_iter().collect()),
        Err(error) => tracing::warn!(node, "{name} is not removed: {error}"),
    }
}

/// Takes back an empty [`memory`] of a node. A program that is started there at that moment does not find
/// it.
pub(crate) fn forget_memory(nodes: &Path, node: &str) {
    let [_, all] = places(nodes);
    let node = all.join(node);
    let above = all.parent();
    let users = node.join(OF_USERS);
    for user in entries(&users) {
        let _filled = fs::remove_dir(user.join("tmp")).and_then(|()| fs::remove_dir(user));
    }
    let _filled = fs::remove_dir(&users);
    for folder in [&node.join("tmp"), &node, &all]
        .into_iter()
        .map(PathBuf::as_path)
        .chain(above)
    {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// The same of all nodes, on which no job is.
pub(crate) fn forget_all_memory(nodes: &Path) {
    let [_, all] = places(nodes);
    for node in entries(&all) {
        let inside = with_users(node.clone()).into_iter();
        let inside = inside.flat_map(|folder| entries(&folder));
        for aside in inside.filter(|path| is_aside(path)) {
            let _being_removed = fs::remove_dir_all(aside);
        }
        if let Some(name) = node.file_name().and_then(OsStr::to_str) {
            forget_memory(nodes, name);
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn is_aside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(ASIDE.as_bytes())
}

/// Removes what an engine that was killed had put aside.
pub(crate) fn remove_leftovers(nodes: &Path) {
    let nodes = places(nodes).into_iter().flat_map(|place| entries(&place));
    let inside = nodes
        .flat_map(with_users)
        .flat_map(|folder| entries(&folder));
    remove(inside.filter(|path| is_aside(path)).collect());
}

/// Where the old folder is now; none where nothing is to be removed.
fn put_aside(
    folder: &Path,
    number: u64,
    goes: &dyn Fn(&OsStr) -> bool,
) -> io::Result<Option<PathBuf>> {
    let disk = folder.join("tmp");
    let entries = match fs::read_dir(&disk) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let names: Vec<_> = entries
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<_>>()?;
    let goes = names.iter().filter(|name| goes(name));
    // Mostly there is only where a step's working directory was seen.
    let goes = goes.filter(|name| remove_empty(&disk.join(name), DEEPEST).is_err());
    let goes: Vec<_> = goes.collect();
    if goes.is_empty() {
        return Ok(None);
    }
    let aside = folder.join(format!("{ASIDE}{number}"));
    fs::create_dir(&aside)?;
    for name in goes {
        fs::rename(disk.join(name), aside.join(name))?;
    }
    Ok(Some(aside))
}

/// Removes a folder that holds no more than one in another, so many deep; fails on all else.
fn remove_empty(folder: &Path, depth: usize) -> io::Result<()> {
    let removed = fs::remove_dir(folder);
    if removed.is_ok() || depth == 0 {
        return removed;
    }
    let mut inside = fs::read_dir(folder)?;
    if let (Some(only), None) = (inside.next(), inside.next()) {
        remove_empty(&only?.path(), depth - 1)?;
    }
    fs::remove_dir(folder)
}

fn remove(folders: Vec<PathBuf>) {
    if folders.is_empty() {
        return;
    }
    let removing = thread::Builder::new()
        .name("node disks".to_owned())
        .spawn(move || {
            for folder in folders {
                if let Err(error) = fs::remove_dir_all(&folder) {
                    tracing::warn!("{} is not removed: {error}", folder.display());
                }
            }
        });
    if let Err(error) = removing {
        tracing::warn!("disks of nodes are not emptied: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_runs_stay() {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("tmp");
        assert_eq!(
            put_aside(folder.path(), 0, &|name| !stays(name)).unwrap(),
            None
        );
        fs::create_dir_all(disk.join("trainyard-0/a")).unwrap();
        assert_eq!(
            put_aside(folder.path(), 1, &|name| !stays(name)).unwrap(),
            None
        );
        fs::create_dir_all(disk.join("scratch/deep")).unwrap();
        fs::write(disk.join("scratch/deep/file"), "").unwrap();
        let aside = put_aside(folder.path(), 2, &|name| !stays(name))
            .unwrap()
            .unwrap();
        assert!(aside.join("scratch/deep").is_dir() && disk.join("trainyard-0/a").is_dir());
        assert!(!disk.join("scratch").exists());
    }

    #[test]
    fn of_a_job_its_own_folder_goes() {
        let nodes = tempfile::tempdir().unwrap();
        let disk = disk(nodes.path(), "n1", None).unwrap();
        for name in ["me.7.0", "me.8.0"] {
            fs::create_dir_all(disk.join(name).join("set")).unwrap();
            fs::write(disk.join(name).join("file"), "").unwrap();
        }
        remove_of_job(nodes.path(), "n1", None, "me.7.0", 1);
        assert_eq!(entries(&disk), [disk.join("me.8.0")]);
    }

    #[test]
    fn folders_that_hold_nothing_go_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("tmp");
        fs::create_dir_all(disk.join("home/ann")).unwrap();
        fs::create_dir_all(disk.join("scratch")).unwrap();
        assert_eq!(
            put_aside(folder.path(), 0, &|name| !stays(name)).unwrap(),
            None
        );
        assert_eq!(entries(&disk), Vec::<PathBuf>::new());
        fs::create_dir_all(disk.join("two/a")).unwrap();
        fs::write(disk.join("two/b"), "").unwrap();
        let aside = put_aside(folder.path(), 1, &|name| !stays(name))
            .unwrap()
            .unwrap();
        assert!(aside.join("two/a").is_dir() && aside.join("two/b").is_file());
    }
}
