//! Finds the checkpoint at which a new run is to start, and sees that it is complete.

use crate::agent::{Recognised, recognise, scan, tree};
use crate::checkpoint_series::{InFolder, in_folder};
use crate::hashed_copy;
use folder::{Candidate, Contents, FileHash, FolderError, Manifest, RunFolder, StartingPoint};
use model::Timestamp;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why no run can start there.
#[derive(Debug, Error)]
pub enum StartingPointError {
    /// The run saved none that is complete.
    #[error("{run} has no complete checkpoint{}", of_name(name.as_ref()))]
    None {
        /// The run.
        run: String,
        /// The one that was asked for.
        name: Option<String>,
        /// Those that it has, the newest first.
        there: Vec<String>,
        /// What is wrong with others, in words.
        unusable: Vec<String>,
    },
    /// Its own bytes say that something is missing.
    #[error("{path:?} is not complete: it was still being written, or a copy of it was broken off")]
    Partial {
        /// The file or folder.
        path: PathBuf,
    },
    /// It may be a checkpoint, or hold several.
    #[error("{path:?} may be one checkpoint or hold several")]
    Unclear {
        /// The folder.
        path: PathBuf,
        /// The entries that may be checkpoints.
        there: Vec<String>,
    },
    /// It can't be read.
    #[error("{path:?} can't be read: {source}")]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The run folder can't be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

fn of_name(name: Option<&String>) -> String {
    name.map_or_else(String::new, |name| format!(" {name}"))
}

/// The checkpoint that `path` means: the newest complete one of a run folder or of another folder of checkpoints, or a
/// checkpoint itself, of a run or of anything else. `name`: of a run folder this one.
///
/// # Errors
/// There is none that is complete.
pub fn starting_point(
    path: &Path,
    name: Option<&str>,
) -> Result<StartingPoint, StartingPointError> {
    if RunFolder::at(path).run_json().exists() {
        return of_run(&RunFolder::open(path)?.0, name);
    }
    let folder = path
        .parent()
        .filter(|folder| folder.ends_with("checkpoints"));
    let run = folder.and_then(Path::parent).map(RunFolder::at);
    let own = path.file_name().and_then(|name| name.to_str());
    if let (Some(run), Some(own)) = (run, own)
        && run.run_json().exists()
    {
        return of_run(&run, Some(own));
    }
    of_path(path)
}

fn of_run(run: &RunFolder, name: Option<&str>) -> Result<StartingPoint, StartingPointError> {
    let there = run.look_at_checkpoints()?;
    let best = there.known().candidates(Vec::new());
    let is_asked = |one: &Candidate| {
        let mut members = one.members();
        name.is_none_or(|name| members.any(|member| member.name == name))
    };
    let found = best.iter().find(|one| is_asked(one));
    let manifest = |name: &str| there.whole.iter().find(|one| one.name == name).cloned();
    match found.and_then(|one| Some((one, manifest(&one.known.name)?))) {
        Some((found, head)) => Ok(StartingPoint {
            entry: run.checkpoint(&head.name),
            manifest: head,
            with: found
                .with
                .iter()
                .filter_map(|it| Some((run.checkpoint(&it.name), manifest(&it.name)?)))
                .collect(),
            of: run.id().to_owned(),
            was_resumed: false,
            // Without them it is found by its own name.
            pointers: run.pointers().unwrap_or_default(),
        }),
        None => Err(StartingPointError::None {
            run: run.id().to_owned(),
            name: name.map(str::to_owned),
            there: best.into_iter().map(|one| one.known.name).collect(),
            unusable: there.unusable.iter().map(ToString::to_string).collect(),
        }),
    }
}

fn of_path(path: &Path) -> Result<StartingPoint, StartingPointError> {
    let unreadable = |source| StartingPointError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let path = path.canonicalize().map_err(unreadable)?;
    match recognise(&path).map_err(unreadable)? {
        Recognised::Partial(_) => return Err(StartingPointError::Partial { path }),
        Recognised::Unknown if path.is_dir() => {
            if let Some(found) = of_folder(&path)? {
                return Ok(found);
            }
        }
        Recognised::Whole(_) | Recognised::Overtaken(_) | Recognised::Unknown => {}
    }
    of_entry(path)
}

/// The newest of the checkpoints that a folder holds; `None` where it is one itself.
fn of_folder(path: &Path) -> Result<Option<StartingPoint>, StartingPointError> {
    let unreadable = |source| StartingPointError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let there = scan(path).map_err(unreadable)?;
    let (best, partial, pointers) = match in_folder(path, there).map_err(unreadable)? {
        InFolder::One => return Ok(None),
        InFolder::Unclear(there) => {
            let path = path.to_owned();
            return Err(StartingPointError::Unclear { path, there });
        }
        InFolder::Several {
            best,
            partial,
            pointers,
        } => (best, partial, pointers),
    };
    let Some(best) = best.into_iter().next() else {
        return Err(StartingPointError::None {
            run: path.display().to_string(),
            name: None,
            there: Vec::new(),
            unusable: (partial.iter())
                .map(|name| format!("{name} is not complete"))
                .collect(),
        });
    };
    let with = best.with.iter().map(|side| {
        let found = of_entry(path.join(&side.name))?;
        Ok((found.entry, found.manifest))
    });
    let with: Result<Vec<_>, StartingPointError> = with.collect();
    Ok(Some(StartingPoint {
        with: with?,
        pointers,
        ..of_entry(path.join(&best.known.name))?
    }))
}

/// A checkpoint by itself.
fn of_entry(path: PathBuf) -> Result<StartingPoint, StartingPointError> {
    let unreadable = |source| StartingPointError::Unreadable {
        path: path.clone(),
        source,
    };
    // Times of what was copied or downloaded tell when each file came.
    let proven = matches!(recognise(&path).map_err(unreadable)?, Recognised::Whole(_));
    let tree = tree(&path).map_err(unreadable)?;
    let mut contents = Contents {
        files: Vec::new(),
        written: tree.written(),
        links: tree.links,
        folders: tree.folders,
    };
    for (place, _) in tree.files {
        // The empty place is the entry itself; joining it would add a slash.
        let file = if place.as_os_str().is_empty() {
            path.clone()
        } else {
            path.join(&place)
        };
        let (bytes, blake3) = hashed_copy::hash(&file).map_err(unreadable)?;
        contents.files.push(FileHash {
            path: place,
            bytes,
            blake3,
        });
    }
    if contents.files.is_empty() {
        let none = io::Error::new(io::ErrorKind::NotFound, "it holds no file");
        return Err(unreadable(none));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(StartingPoint {
        manifest: Manifest::new(&name, Timestamp(sys::now()), proven, contents),
        with: Vec::new(),
        of: path.display().to_string(),
        entry: path,
        was_resumed: false,
        pointers: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The new run had the model without its optimizer.
    #[test]
    fn what_goes_with_a_checkpoint_comes_along() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        fs::write(run.run_json(), "{}").unwrap();
        for name in ["model-70", "optim-80", "model-80"] {
            fs::write(run.checkpoint(name), name).unwrap();
            let point = of_path(&run.checkpoint(name)).unwrap();
            run.write_manifest(&point.manifest).unwrap();
        }
        for asked in [None, Some("model-80"), Some("optim-80")] {
            let point = of_run(&run, asked).unwrap();
            assert_eq!(point.manifest.name, "model-80", "{asked:?}");
            let name = format!("digits-{}", asked.unwrap_or("aaaa"));
            let other = RunFolder::create(root.path(), "shop", &name).unwrap();
            point.copy_into(&other).unwrap();
            let best = &other.look_at_checkpoints().unwrap().known();
            let best = &best.candidates(Vec::new())[0];
            let names: Vec<String> = best.members().map(|it| it.name).collect();
            assert_eq!(names, ["model-80", "optim-80"]);
        }
        let older = of_run(&run, Some("model-70")).unwrap();
        assert_eq!((&*older.manifest.name, older.with.len()), ("model-70", 0));
    }

    #[test]
    fn of_a_run_the_newest_and_of_a_path_what_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        fs::write(run.run_json(), "{}").unwrap();
        for name in ["step-20", "step-100", "step-9"] {
            fs::write(run.checkpoint(name), name).unwrap();
            let point = of_path(&run.checkpoint(name)).unwrap();
            run.write_manifest(&point.manifest).unwrap();
        }
        let latest = folder::Pointer {
            name: "latest".to_owned(),
            says: folder::Says::Name,
            of: vec!["step-#".to_owned()],
        };
        run.add_pointer(latest.clone()).unwrap();
        let newest = of_run(&run, None).unwrap();
        assert_eq!(newest.manifest.name, "step-100");
        assert_eq!(newest.of, "digits-k3f9");
        let own = starting_point(&run.checkpoint("step-9"), None).unwrap();
        assert_eq!(
            (own.manifest.name.as_str(), own.of.as_str()),
            ("step-9", "digits-k3f9")
        );
        let other = RunFolder::create(root.path(), "shop", "digits-aaaa").unwrap();
        newest.copy_into(&other).unwrap();
        assert_eq!(other.pointers().unwrap(), [latest]);
        fs::write(other.checkpoint("step-5"), "own").unwrap();
        let saved = of_path(&other.checkpoint("step-5")).unwrap();
        other.write_manifest(&saved.manifest).unwrap();
        let there = other.look_at_checkpoints().unwrap();
        let names: Vec<&str> = there.whole.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["step-5", "step-100"], "its own is newer");
        // A folder `checkpoints` that is no run's may be anybody's.
        fs::remove_file(run.run_json()).unwrap();
        let strange = starting_point(&run.checkpoint("step-9"), None).unwrap();
        assert_eq!(strange.pointers, []);
        let third = RunFolder::create(root.path(), "shop", "digits-bbbb").unwrap();
        strange.copy_into(&third).unwrap();
        assert_eq!(third.pointers().unwrap(), []);
        let none = of_run(&run, Some("step-7")).unwrap_err();
        assert!(matches!(none, StartingPointError::None { .. }), "{none}");
        // A model as it was downloaded: the small file that names the others came first.
        let model = root.path().join("model");
        fs::create_dir(&model).unwrap();
        fs::write(model.join("config.json"), "{}").unwrap();
        let header = br#"{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
        let mut weights = (header.len() as u64).to_le_bytes().to_vec();
        weights.extend(header);
        fs::write(model.join("1.safetensors"), weights).unwrap();
        let index = model.join("model.safetensors.index.json");
        fs::write(&index, r#"{"weight_map":{"w":"1.safetensors"}}"#).unwrap();
        let index = fs::File::options().write(true).open(index).unwrap();
        index.set_modified(std::time::UNIX_EPOCH).unwrap();
        let model = starting_point(&model, None).unwrap();
        assert!(!model.manifest.proven);
        // A safetensors file that is cut off.
        let torn = root.path().join("model.safetensors");
        fs::write(&torn, [200, 0, 0, 0, 0, 0, 0, 0, b'{']).unwrap();
        let torn = starting_point(&torn, None).unwrap_err();
        assert!(matches!(torn, StartingPointError::Partial { .. }), "{torn}");
    }
}
