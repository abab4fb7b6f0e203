//! What jobs leave in `/tmp` of isolated nodes: it goes when no job is on the node any more.
//!
//! Folders of runs, `trainyard-…`, stay: a run that comes back goes on from what it staged, and some
//! hold the only copy of a checkpoint. `yard clean` removes them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

/// What the folders begin with that are put aside until they are removed.
const ASIDE: &str = "tmp.gone.";
/// What stays.
const OF_RUNS: &str = "trainyard-";

/// Whether jobs left something that is to go.
pub(crate) fn is_used(nodes: &Path, node: &str) -> bool {
    let entries = fs::read_dir(nodes.join(node).join("tmp"));
    let mut entries = entries.into_iter().flatten().flatten();
    entries.any(|entry| !stays(&entry.file_name()))
}

fn stays(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(OF_RUNS.as_bytes())
}

/// Empties the disk of a node on which no job is. It is put aside at once and removed on a thread:
/// `number` tells it from all that were put aside before.
pub(crate) fn empty(nodes: &Path, node: &str, number: u64) {
    let folder = nodes.join(node);
    match put_aside(&folder, number) {
        Ok(None) => {}
        Ok(Some(aside)) => remove(vec![aside]),
        Err(error) => tracing::warn!(node, "its /tmp is not emptied: {error}"),
    }
}

/// Removes what an engine that was killed had put aside.
pub(crate) fn remove_leftovers(nodes: &Path) {
    let of_node = |node: PathBuf| fs::read_dir(node).into_iter().flatten().flatten();
    let nodes = fs::read_dir(nodes).into_iter().flatten().flatten();
    let entries = nodes.flat_map(|node| of_node(node.path()));
    let is_aside = |name: &OsStr| name.as_encoded_bytes().starts_with(ASIDE.as_bytes());
    let aside = entries.filter(|entry| is_aside(&entry.file_name()));
    remove(aside.map(|entry| entry.path()).collect());
}

/// Where the old folder is now; none where nothing is to be removed.
fn put_aside(folder: &Path, number: u64) -> io::Result<Option<PathBuf>> {
    let disk = folder.join("tmp");
    let entries = match fs::read_dir(&disk) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let names: Vec<_> = entries
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<_>>()?;
    if names.iter().all(|name| stays(name)) {
        return Ok(None);
    }
    let aside = folder.join(format!("{ASIDE}{number}"));
    fs::create_dir(&aside)?;
    for name in names.iter().filter(|name| !stays(name)) {
        fs::rename(disk.join(name), aside.join(name))?;
    }
    Ok(Some(aside))
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
        assert_eq!(put_aside(folder.path(), 0).unwrap(), None);
        fs::create_dir_all(disk.join("trainyard-0/a")).unwrap();
        assert_eq!(put_aside(folder.path(), 1).unwrap(), None);
        fs::create_dir_all(disk.join("scratch/deep")).unwrap();
        let aside = put_aside(folder.path(), 2).unwrap().unwrap();
        assert!(aside.join("scratch/deep").is_dir() && disk.join("trainyard-0/a").is_dir());
        assert!(!disk.join("scratch").exists());
    }
}
