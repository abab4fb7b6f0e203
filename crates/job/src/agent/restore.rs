//! Brings a checkpoint from the run folder to `{resume}`, proving its bytes on the way.

use super::tree::{make_rest, tree};
use crate::hashed_copy;
use folder::{Contents, Manifest, Pointer, RunFolder};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a checkpoint is not in `{resume}`.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// It can't be had: an older one may do.
    #[error("{what}")]
    Unusable {
        /// Its name.
        name: String,
        /// In words.
        what: String,
        /// Whether it has other bytes than were saved, and not only can't be read.
        is_damaged: bool,
    },
    /// The node's disk can't take it: no other would do better.
    #[error(
        "checkpoint {name} has {asked} bytes, {there} are free in {folder:?} ({source}); choose a larger node_local folder"
    )]
    Disk {
        /// The checkpoint.
        name: String,
        /// Its size.
        asked: u64,
        /// What is free.
        there: u64,
        /// Where.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Empties `{resume}`.
///
/// # Errors
/// What the system says.
pub fn clear(resume: &Path) -> io::Result<()> {
    for entry in fs::read_dir(resume)? {
        let path = entry?.path();
        if path.is_dir() {
            fs::remove_dir_all(path)?
        } else {
            fs::remove_file(path)?
        }
    }
    Ok(())
}

/// Copies what a checkpoint consists of into `resume`, which holds nothing else afterwards: each from where this node
/// keeps it, else from the run folder. `meter` hears how many bytes of one were copied, and of how many.
pub fn restore(
    run: &RunFolder,
    members: &[(String, Option<PathBuf>)],
    resume: &Path,
    meter: &mut dyn FnMut(u64, u64),
) -> Result<(), RestoreError> {
    clear(resume).map_err(|source| RestoreError::Disk {
        name: members.first().map_or("", |(name, _)| name).to_owned(),
        asked: 0,
        there: sys::disk_free(resume).unwrap_or(0),
        folder: resume.to_owned(),
        source,
    })?;
    members.iter().try_for_each(|(name, kept)| match kept {
        Some(kept) => bring_kept(kept, name, resume),
        None => bring(run, name, resume, meter),
    })
}

/// Copies one from the run folder.
fn bring(
    run: &RunFolder,
    name: &str,
    resume: &Path,
    meter: &mut dyn FnMut(u64, u64),
) -> Result<(), RestoreError> {
    let manifest = read(run, name)?;
    let disk = |source| RestoreError::Disk {
        name: name.to_owned(),
        asked: manifest.bytes(),
        there: sys::disk_free(resume).unwrap_or(0),
        folder: resume.to_owned(),
        source,
    };
    let (mut done, all) = (0, manifest.bytes());
    for file in &manifest.contents.files {
        let (from, to) = (
            file.below(&run.checkpoint(name)),
            file.below(&resume.join(name)),
        );
        let unusable = |what: String, is_damaged| {
            // What came so far must not be taken for a checkpoint.
            let _ = clear(resume);
            RestoreError::Unusable {
                name: name.to_owned(),
                what: format!("{from:?} {what}"),
                is_damaged,
            }
        };
        let damaged = |what: String| unusable(what, true);
        // Asked first, so that what copying then says is the node's disk.
        let there = fs::metadata(&from)
            .map_err(|source| unusable(format!("can't be read: {source}"), false))?;
        if there.len() != file.bytes {
            return Err(damaged(format!(
                "has {} bytes, its manifest says {}",
                there.len(),
                file.bytes
            )));
        }
        let each = &mut |bytes| {
            meter(done + bytes, all);
            Ok(())
        };
        let (bytes, blake3) = hashed_copy::copy_metered(&from, &to, each).map_err(disk)?;
        done += bytes;
        if blake3 != file.blake3 {
            // A node that reads badly reads something else the next time.
            let again = hashed_copy::hash_from_disk(&from);
            let is_damaged = again.is_ok_and(|again| again == (bytes, blake3));
            let what = "has other bytes than its manifest says".to_owned();
            return Err(unusable(what, is_damaged));
        }
    }
    let Contents { links, folders, .. } = &manifest.contents;
    make_rest(&resume.join(name), links, folders).map_err(disk)
}

/// Copies one that this node keeps: a program may write into what it resumes from, and the kept one is still to be
/// copied out.
fn bring_kept(kept: &Path, name: &str, resume: &Path) -> Result<(), RestoreError> {
    let tree = tree(kept).map_err(|error| RestoreError::Unusable {
        name: name.to_owned(),
        what: format!("{kept:?} can't be read: {error}"),
        is_damaged: false,
    })?;
    let disk = |source| RestoreError::Disk {
        name: name.to_owned(),
        asked: tree.files.iter().map(|(_, facts)| facts.len()).sum(),
        there: sys::disk_free(resume).unwrap_or(0),
        folder: resume.to_owned(),
        source,
    };
    for (place, _) in &tree.files {
        // The empty place is the entry itself; joining it would add a slash.
        let (from, to) = if place.as_os_str().is_empty() {
            (kept.to_owned(), resume.join(name))
        } else {
            (kept.join(place), resume.join(name).join(place))
        };
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(disk)?;
        }
        sys::copy::file(&from, &to)
            .and_then(|_| as_old_as(&from, &to))
            .map_err(disk)?;
    }
    make_rest(&resume.join(name), &tree.links, &tree.folders).map_err(disk)
}

/// Has what the program finds its newest checkpoint by name the one that is resumed from. DeepSpeed finds its
/// folder through a file `latest` beside it, also where no agent has seen that file. Returns in words what could not
/// be made.
///
/// # Errors
/// `latest` can't be written, or the disk is full.
pub fn point_to(
    pointers: &[Pointer],
    name: &str,
    resume: &Path,
) -> Result<Vec<String>, RestoreError> {
    let disk = |source| RestoreError::Disk {
        name: name.to_owned(),
        asked: sys::tree_size(&resume.join(name)),
        there: sys::disk_free(resume).unwrap_or(0),
        folder: resume.to_owned(),
        source,
    };
    if is_deepspeeds(&resume.join(name)) {
        fs::write(resume.join("latest"), name).map_err(disk)?;
    }
    let mut missing = Vec::new();
    for pointer in pointers {
        match pointer.make(name, resume) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(disk(error)),
            Err(error) => {
                missing.push(format!("{} does not lead to {name}: {error}", pointer.name))
            }
        }
    }
    Ok(missing)
}

/// A program that looks for its newest file by time finds the same one as before.
fn as_old_as(from: &Path, to: &Path) -> io::Result<()> {
    let written = fs::metadata(from)?.modified()?;
    File::options().write(true).open(to)?.set_modified(written)
}

fn is_deepspeeds(checkpoint: &Path) -> bool {
    fs::read_dir(checkpoint).is_ok_and(|entries| {
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.any(|name| name.to_string_lossy().ends_with("_model_states.pt"))
    })
}

fn read(run: &RunFolder, name: &str) -> Result<Manifest, RestoreError> {
    run.read_manifest(name)
        .map_err(|error| RestoreError::Unusable {
            name: name.to_owned(),
            what: format!("its manifest is of no use: {error}"),
            is_damaged: false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::FileHash;
    use model::Timestamp;

    #[track_caller]
    fn check(damage: impl Fn(&Path), want: Result<(), &str>) {
        let root = tempfile::tempdir().unwrap();
        let (run, resume) = (
            RunFolder::at(&root.path().join("run")),
            root.path().join("resume"),
        );
        let entry = run.checkpoint("global_step5");
        fs::create_dir_all(&entry).unwrap();
        run.make_checkpoint_folders().unwrap();
        fs::create_dir_all(resume.join("old")).unwrap();
        let file = entry.join("mp_rank_00_model_states.pt");
        fs::write(&file, b"weights").unwrap();
        let (bytes, blake3) = hashed_copy::hash(&file).unwrap();
        let path = PathBuf::from("mp_rank_00_model_states.pt");
        let contents = Contents {
            files: vec![FileHash {
                path,
                bytes,
                blake3,
            }],
            links: vec![folder::LinkInside {
                path: "deep/newest".into(),
                target: "../mp_rank_00_model_states.pt".into(),
            }],
            folders: vec!["empty".into()],
            written: None,
        };
        run.write_manifest(&Manifest::new("global_step5", Timestamp(0), true, contents))
            .unwrap();
        damage(&file);
        let members = [("global_step5".to_owned(), None)];
        let restored = restore(&run, &members, &resume, &mut |_, _| {})
            .and_then(|()| point_to(&[], "global_step5", &resume))
            .map(|missing| assert!(missing.is_empty(), "{missing:?}"));
        match (restored, want) {
            (Ok(()), Ok(())) => {
                let there = resume.join("global_step5/mp_rank_00_model_states.pt");
                assert_eq!(fs::read(there).unwrap(), b"weights");
                assert_eq!(
                    fs::read_to_string(resume.join("latest")).unwrap(),
                    "global_step5"
                );
                assert!(!resume.join("old").exists());
                let newest = resume.join("global_step5/deep/newest");
                assert_eq!(fs::read(newest).unwrap(), b"weights");
                assert!(resume.join("global_step5/empty").is_dir());
            }
            (
                Err(RestoreError::Unusable {
                    what, is_damaged, ..
                }),
                Err(words),
            ) => {
                assert_eq!(is_damaged, !words.contains("read"));
                assert!(what.contains(words), "{what}");
                assert_eq!(fs::read_dir(&resume).unwrap().count(), 0);
            }
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn only_the_bytes_of_the_manifest_are_resumed_from() {
        check(|_| (), Ok(()));
        check(
            |file| fs::write(file, b"weigh").unwrap(),
            Err("has 5 bytes, its manifest says 7"),
        );
        check(
            |file| fs::write(file, b"wEights").unwrap(),
            Err("other bytes"),
        );
        check(|file| fs::remove_file(file).unwrap(), Err("can't be read"));
    }
}
