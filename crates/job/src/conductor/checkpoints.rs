//! The checkpoints of the run folder: which are whole, how one becomes whole, which are removed.
//!
//! A checkpoint is published in three steps, so that a job that dies between any two loses nothing:
//! its manifest is written beside the incoming bytes, the bytes are renamed into place, the
//! manifest is put where it makes them count. [`recover`] takes the steps that are missing.

use super::copies::Part;
use super::state::{Known, Out};
use crate::part_list::PartPlace;
use folder::{FileHash, Manifest, RunFolder};
use model::Timestamp;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use train::Keep;

/// What is there.
#[derive(Debug, Default)]
pub struct There {
    /// The whole ones, the best to resume from first.
    pub whole: Vec<Manifest>,
    /// What is wrong with the others, in words.
    pub damaged: Vec<String>,
}

impl There {
    /// The names and steps of the whole ones.
    pub fn known(&self) -> Vec<Known> {
        let known = |manifest: &Manifest| Known {
            name: manifest.name.clone(),
            step: manifest.step,
        };
        self.whole.iter().map(known).collect()
    }
}

/// Makes the folders that checkpoints go through.
///
/// # Errors
/// The run folder can't be written.
pub fn prepare(run: &RunFolder) -> io::Result<()> {
    fs::create_dir_all(run.incoming())?;
    fs::create_dir_all(manifests(run))
}

fn manifests(run: &RunFolder) -> PathBuf {
    run.manifest("any")
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default()
}

/// Looks at all checkpoints. Sizes are compared here; the hashes when one is brought back.
///
/// # Errors
/// The run folder can't be read.
pub fn look(run: &RunFolder) -> io::Result<There> {
    let mut there = There::default();
    for entry in fs::read_dir(manifests(run))? {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        match read_manifest(&path) {
            Ok(manifest) => match misfit(&run.checkpoint(&manifest.name), &manifest) {
                None => there.whole.push(manifest),
                Some(what) => there.damaged.push(format!(
                    "checkpoint {} is damaged in the run folder and is passed over: {what}",
                    manifest.name
                )),
            },
            Err(error) => there.damaged.push(format!(
                "{path:?} can't be read and is passed over: {error}"
            )),
        }
    }
    // A number tells more than a time: nodes' clocks differ, and names without one ("last") are
    // mostly copies of one that has one.
    there
        .whole
        .sort_by_key(|manifest| std::cmp::Reverse((manifest.step, manifest.at)));
    Ok(there)
}

fn read_manifest(path: &Path) -> io::Result<Manifest> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// What differs from the manifest, in words.
fn misfit(entry: &Path, manifest: &Manifest) -> Option<String> {
    manifest.files.iter().find_map(|file| {
        let path = below(entry, &file.path);
        match fs::metadata(&path) {
            Ok(facts) if facts.len() == file.bytes => None,
            Ok(facts) => Some(format!(
                "{path:?} has {} bytes, its manifest says {}",
                facts.len(),
                file.bytes
            )),
            Err(error) => Some(format!("{path:?}: {error}")),
        }
    })
}

fn below(entry: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        entry.to_owned()
    } else {
        entry.join(path)
    }
}

/// Finishes what a conductor before this one had begun to publish, and removes what is left of
/// copies that never ended.
///
/// # Errors
/// The run folder can't be written.
pub fn recover(run: &RunFolder) -> io::Result<()> {
    for entry in fs::read_dir(run.incoming())? {
        let name = entry?.file_name();
        let part = PartPlace::new(run, &name.to_string_lossy());
        if let Ok(manifest) = read_manifest(&part.manifest()) {
            let entry = run.checkpoint(&manifest.name);
            if misfit(&part.data(), &manifest).is_none() && part.data().exists() {
                move_into_place(&part, &entry)?;
                write_manifest(run, &manifest)?;
            } else if misfit(&entry, &manifest).is_none() {
                write_manifest(run, &manifest)?;
            }
        }
        part.remove();
    }
    Ok(())
}

/// Puts parts together and publishes them under `name`. With `merge` they join the checkpoint of
/// that name which is there.
///
/// # Errors
/// In words. What was there under the name stays or is replaced as a whole.
pub fn publish(
    run: &RunFolder,
    name: &str,
    parts: &[Part],
    merge: bool,
    now: Timestamp,
) -> Result<Out, String> {
    let words = |error: io::Error| format!("it could not be published: {error}");
    let places: Vec<PartPlace> = parts
        .iter()
        .map(|part| PartPlace::new(run, &part.incoming))
        .collect();
    let Some((first, others)) = places.split_first() else {
        return Err("no node has a part of it".to_owned());
    };
    let old = if merge {
        read_manifest(&run.manifest(name)).ok()
    } else {
        None
    };
    let files = join(name, &places, old.as_ref())?;
    let manifest = Manifest {
        name: name.to_owned(),
        step: step_of(name),
        at: now,
        proven: parts.iter().all(|part| part.proven) && old.as_ref().is_none_or(|old| old.proven),
        files,
    };
    let put = || -> io::Result<()> {
        for other in others {
            gather(other, &first.data())?;
        }
        if old.is_some() {
            gather(first, &run.checkpoint(name))?;
        } else {
            sys::atomic::write(&first.manifest(), &serde_json::to_vec(&manifest)?)?;
            move_into_place(first, &run.checkpoint(name))?;
        }
        write_manifest(run, &manifest)
    };
    let result = put().map_err(words);
    for place in &places {
        place.remove();
    }
    result.map(|()| Out {
        step: manifest.step,
        bytes: parts.iter().map(|part| part.bytes).sum(),
        took_ms: parts.iter().map(|part| part.took_ms).max().unwrap_or(0),
        proven: manifest.proven,
    })
}

/// The files of all parts; the same file may come from two nodes if it has the same bytes.
fn join(name: &str, places: &[PartPlace], old: Option<&Manifest>) -> Result<Vec<FileHash>, String> {
    let mut all: BTreeMap<PathBuf, FileHash> = BTreeMap::new();
    let lists = places
        .iter()
        .map(PartPlace::read_list)
        .collect::<io::Result<Vec<_>>>();
    let lists = lists.map_err(|error| format!("a part of it can't be read: {error}"))?;
    let old = old.map(|old| old.files.clone());
    for file in old.into_iter().chain(lists).flatten() {
        if let Some(other) = all.get(&file.path)
            && other.blake3 != file.blake3
        {
            return Err(format!(
                "two nodes wrote different {name}/{}: let one rank write it, or give each rank's file a name of its own",
                file.path.display()
            ));
        }
        all.insert(file.path.clone(), file);
    }
    Ok(all.into_values().collect())
}

/// Moves the files of a part below `target`. Same disk: nothing is copied.
fn gather(part: &PartPlace, target: &Path) -> io::Result<()> {
    for file in part.read_list()? {
        let (from, to) = (below(&part.data(), &file.path), below(target, &file.path));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::rename(from, to)?;
    }
    Ok(())
}

/// What stands at `entry` is moved away first: a rename can't replace a folder that has files.
fn move_into_place(part: &PartPlace, entry: &Path) -> io::Result<()> {
    if fs::symlink_metadata(entry).is_ok() {
        fs::rename(entry, part.folder().join("replaced"))?;
    }
    fs::rename(part.data(), entry)?;
    match entry.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn write_manifest(run: &RunFolder, manifest: &Manifest) -> io::Result<()> {
    sys::atomic::write(
        &run.manifest(&manifest.name),
        &serde_json::to_vec_pretty(manifest)?,
    )
}

/// Removes older checkpoints as the run file allows. The newest whole one stays, and of those that
/// are proven the newest too. Returns the names of the removed.
///
/// # Errors
/// The run folder can't be read or written.
pub fn retain(run: &RunFolder, keep: Keep) -> io::Result<Vec<String>> {
    let Keep::Newest(many) = keep else {
        return Ok(Vec::new());
    };
    let whole = look(run)?.whole;
    let many = usize::try_from(many.max(1)).unwrap_or(usize::MAX);
    let proven = whole.iter().position(|manifest| manifest.proven);
    let mut removed = Vec::new();
    for (index, manifest) in whole.iter().enumerate().skip(many) {
        if Some(index) == proven {
            continue;
        }
        // The manifest first: without it the rest counts as nothing.
        fs::remove_file(run.manifest(&manifest.name))?;
        let entry = run.checkpoint(&manifest.name);
        if entry.is_dir() {
            fs::remove_dir_all(entry)?
        } else {
            fs::remove_file(entry)?
        }
        removed.push(manifest.name.clone());
    }
    Ok(removed)
}

/// The last integer of a name.
fn step_of(name: &str) -> Option<u64> {
    name.split(|letter: char| !letter.is_ascii_digit())
        .rfind(|digits| !digits.is_empty())?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests;
