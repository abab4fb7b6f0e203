//! The checkpoints of the run folder: which are whole, how one becomes whole, which are removed.
//!
//! A checkpoint is published in three steps, so that a job that dies between any two loses nothing:
//! its manifest is written beside the incoming bytes, the bytes are renamed into place, the
//! manifest is put where it makes them count. [`recover`] takes the steps that are missing.

use super::copies::{Part, PartsAsked};
use super::state::{NotOut, Out};
use crate::agent::make_rest;
use crate::hashed_copy;
use folder::{
    Contents, FileHash, FolderError, IncomingPart, LinkInside, Manifest, Parts, RunFolder,
};
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use train::Keep;

/// Finishes what a conductor before this one had begun to publish, and removes what is left of
/// copies that never ended.
///
/// # Errors
/// The run folder can't be written.
pub fn recover(run: &RunFolder) -> io::Result<()> {
    for entry in fs::read_dir(run.incoming())? {
        let name = entry?.file_name();
        let part = IncomingPart::new(run, &name.to_string_lossy());
        if let Ok(manifest) = part.read_manifest() {
            let entry = run.checkpoint(&manifest.name);
            if manifest.check_sizes(&part.data()).is_ok() && part.data().exists() {
                move_into_place(&part, &entry)?;
                run.write_manifest(&manifest)?;
            } else if manifest.check_sizes(&entry).is_ok() {
                run.write_manifest(&manifest)?;
            }
        }
        part.remove();
    }
    Ok(())
}

/// Puts parts together and publishes them under `name`. With `merge` they join the checkpoint of
/// that name which is there. A checkpoint of fewer nodes than `asked` says lacks something. Where it is to be the
/// only one that stays, by `keep` or by its name, its bytes are read back first.
///
/// # Errors
/// In words. What was there under the name stays or is replaced as a whole.
pub fn publish(
    run: &RunFolder,
    name: &str,
    parts: &[Part],
    merge: bool,
    asked: PartsAsked,
    now: Timestamp,
    keep: Keep,
) -> Result<Out, NotOut> {
    let words = |error: io::Error| NotOut {
        why: format!("it could not be published: {error}"),
        disk: sys::disk_errors::may_pass(&error),
    };
    let places: Vec<IncomingPart> = parts
        .iter()
        .map(|part| IncomingPart::new(run, &part.incoming))
        .collect();
    let Some((first, others)) = places.split_first() else {
        return Err(for_good("no node has a part of it".to_owned()));
    };
    let start = parts.iter().filter_map(|part| part.start).max();
    let joined = || {
        let old = if merge { there(run, name)? } else { None };
        let old = old.filter(|old| old.parts.is_of(start));
        let contents = join(name, &places, old.as_ref())?;
        Ok((old, contents))
    };
    let (old, contents) = joined().inspect_err(|_| places.iter().for_each(IncomingPart::remove))?;
    let proven = parts.iter().all(|part| part.proven) && old.as_ref().is_none_or(|old| old.proven);
    let before = old.iter().flat_map(|old| &old.parts.nodes);
    let nodes: BTreeSet<&String> = before.chain(parts.iter().map(|part| &part.node)).collect();
    let mut manifest = Manifest::new(name, now, proven, contents);
    manifest.parts = Parts {
        start: start.or_else(|| old.as_ref().and_then(|old| old.parts.start)),
        ..asked.parts_of(nodes.into_iter().cloned().collect())
    };
    let replaces = old.is_none() && fs::symlink_metadata(run.checkpoint(name)).is_ok();
    let put = || -> io::Result<()> {
        let lists = if replaces || keep == Keep::Newest(1) {
            let lists = places.iter().map(IncomingPart::read_list);
            lists.collect::<Result<Vec<Contents>, FolderError>>()?
        } else {
            Vec::new()
        };
        for other in others {
            gather(other, &first.data())?;
        }
        // Where the job ends while it is read back, the next one publishes it.
        if old.is_none() {
            first.write_manifest(&manifest)?;
        }
        for list in &lists {
            read_back(list, &first.data())?;
        }
        if old.is_some() {
            gather(first, &run.checkpoint(name))?;
        } else {
            move_into_place(first, &run.checkpoint(name))?;
        }
        Ok(run.write_manifest(&manifest)?)
    };
    let result = put().map_err(words);
    for place in &places {
        place.remove();
    }
    result.map(|()| Out {
        known: manifest.known(),
        took_ms: parts.iter().map(|part| part.took_ms).max().unwrap_or(0),
    })
}

/// The checkpoint of that name, where there is one.
fn there(run: &RunFolder, name: &str) -> Result<Option<Manifest>, NotOut> {
    match run.read_manifest(name) {
        Ok(manifest) => Ok(Some(manifest)),
        Err(FolderError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        // Its parts would be replaced by the one that joins them, and the nodes don't keep them any more.
        Err(error) => Err(NotOut {
            why: format!("what its part joins can't be read: {error}"),
            disk: sys::disk_errors::may_pass(&error),
        }),
    }
}

fn for_good(why: String) -> NotOut {
    NotOut { why, disk: false }
}

/// What all parts hold; the same file may come from two nodes if it has the same bytes.
fn join(name: &str, places: &[IncomingPart], old: Option<&Manifest>) -> Result<Contents, NotOut> {
    let mut files: BTreeMap<PathBuf, FileHash> = BTreeMap::new();
    let mut links: BTreeMap<PathBuf, LinkInside> = BTreeMap::new();
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    let lists = places
        .iter()
        .map(IncomingPart::read_list)
        .collect::<Result<Vec<_>, FolderError>>();
    let lists = lists.map_err(|error| NotOut {
        why: format!("a part of it can't be read: {error}"),
        disk: sys::disk_errors::may_pass(&error),
    })?;
    let written = old
        .iter()
        .map(|old| old.contents.written)
        .chain(lists.iter().map(|list| list.written))
        .max()
        .flatten();
    let differ = |path: &Path| {
        for_good(format!(
            "two nodes wrote different {name}/{}: let one rank write it, or give each rank's file a name of its own",
            path.display()
        ))
    };
    let old = old.map(|old| old.contents.clone());
    for list in old.into_iter().chain(lists) {
        for file in list.files {
            match files.get(&file.path) {
                Some(other) if other.blake3 != file.blake3 => return Err(differ(&file.path)),
                _ => drop(files.insert(file.path.clone(), file)),
            }
        }
        for link in list.links {
            match links.get(&link.path) {
                Some(other) if other.target != link.target => return Err(differ(&link.path)),
                _ => drop(links.insert(link.path.clone(), link)),
            }
        }
        folders.extend(list.folders);
    }
    Ok(Contents {
        files: files.into_values().collect(),
        links: links.into_values().collect(),
        folders: folders.into_iter().collect(),
        written,
    })
}

/// Whether a part has the bytes that were copied: what it is to take the place of is removed then.
fn read_back(part: &Contents, data: &Path) -> io::Result<()> {
    for file in &part.files {
        let path = file.below(data);
        let (bytes, blake3) = hashed_copy::hash_from_disk(&path)?;
        if (bytes, &blake3) != (file.bytes, &file.blake3) {
            let place = file.path.display();
            let what = format!("{place} has other bytes in the run folder than were copied there");
            return Err(io::Error::other(what));
        }
    }
    Ok(())
}

/// Moves what a part holds below `target`. Same disk: nothing is copied.
fn gather(part: &IncomingPart, target: &Path) -> io::Result<()> {
    let list = part.read_list()?;
    for file in &list.files {
        let (from, to) = (file.below(&part.data()), file.below(target));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::rename(from, to)?;
    }
    make_rest(target, &list.links, &list.folders)
}

/// What stands at `entry` is moved away first: a rename can't replace a folder that has files.
fn move_into_place(part: &IncomingPart, entry: &Path) -> io::Result<()> {
    if fs::symlink_metadata(entry).is_ok() {
        fs::rename(entry, part.replaced())?;
    }
    fs::rename(part.data(), entry)?;
    match entry.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// A manifest that is read to be changed must not be removed before it is written: it would be there again.
static MANIFESTS: Mutex<()> = Mutex::new(());

/// Writes down what has become known of the parts of a checkpoint; of one that was removed meanwhile nothing.
///
/// # Errors
/// The run folder can't be read or written.
pub fn change_parts(
    run: &RunFolder,
    name: &str,
    change: impl FnOnce(&mut Parts),
) -> io::Result<()> {
    let _held = MANIFESTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut manifest = match run.read_manifest(name) {
        Err(FolderError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(());
        }
        manifest => manifest?,
    };
    change(&mut manifest.parts);
    Ok(run.write_manifest(&manifest)?)
}

/// Removes older checkpoints as the run file allows. Returns the names of the removed.
///
/// # Errors
/// The run folder can't be read or written.
pub fn retain(run: &RunFolder, keep: Keep) -> io::Result<Vec<String>> {
    let Keep::Newest(many) = keep else {
        return Ok(Vec::new());
    };
    let superfluous = run.look_at_checkpoints()?.known().superfluous(many);
    for name in &superfluous {
        // The manifest first: without it the rest counts as nothing.
        let held = MANIFESTS.lock().unwrap_or_else(PoisonError::into_inner);
        fs::remove_file(run.manifest(name))?;
        drop(held);
        let entry = run.checkpoint(name);
        if entry.is_dir() {
            fs::remove_dir_all(entry)?
        } else {
            fs::remove_file(entry)?
        }
    }
    Ok(superfluous)
}

#[cfg(test)]
mod tests;
