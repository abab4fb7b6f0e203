//! A checkpoint at which a new run starts.

use crate::{FolderError, Manifest, Pointer, RunFolder};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A complete checkpoint, which is copied into the folder of a run before its first start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartingPoint {
    /// Where it stands: a file or a folder.
    pub entry: PathBuf,
    /// What it consists of.
    pub manifest: Manifest,
    /// What goes with it, such as the optimizer of its step: where each stands, and what it consists of.
    pub with: Vec<(PathBuf, Manifest)>,
    /// The run whose checkpoint it is, or its path.
    pub of: String,
    /// Whether a start of that run resumed from it.
    pub was_resumed: bool,
    /// What the program of the run that it is of finds its newest by.
    pub pointers: Vec<Pointer>,
}

/// Of a run, at which checkpoint it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedFrom {
    /// Its name.
    pub checkpoint: String,
    /// The run whose checkpoint it was, or its path.
    pub of: String,
}

impl StartingPoint {
    /// As the run's record has it.
    #[must_use]
    pub fn record(&self) -> StartedFrom {
        StartedFrom {
            checkpoint: self.manifest.name.clone(),
            of: self.of.clone(),
        }
    }

    /// Copies it into a run that has no checkpoint yet. It gets no step there, so that whatever the
    /// run saves itself counts as newer.
    ///
    /// # Errors
    /// It can't be copied.
    pub fn copy_into(&self, run: &RunFolder) -> Result<(), FolderError> {
        let with = self.with.iter().map(|(entry, manifest)| (entry, manifest));
        for (entry, manifest) in with.chain([(&self.entry, &self.manifest)]) {
            if !manifest.stays_within() {
                let source = "the manifest names a place outside of the checkpoint";
                return Err(FolderError::Read {
                    path: entry.clone(),
                    source: io::Error::other(source),
                });
            }
            let to = run.checkpoint(&manifest.name);
            copy_files(entry, manifest, &to)
                .map_err(|source| FolderError::Write { path: to, source })?;
            run.write_manifest(&Manifest {
                step: None,
                ..manifest.clone()
            })?;
        }
        for pointer in &self.pointers {
            run.add_pointer(pointer.clone())?;
        }
        Ok(())
    }
}

fn copy_files(entry: &Path, manifest: &Manifest, to: &Path) -> io::Result<()> {
    let contents = &manifest.contents;
    let above = |path: &Path| path.parent().map_or(Ok(()), fs::create_dir_all);
    for file in &contents.files {
        let target = file.below(to);
        above(&target)?;
        let bytes = sys::copy::file(&file.below(entry), &target)?;
        if bytes != file.bytes {
            let what = format!("{} has changed", file.below(entry).display());
            return Err(io::Error::other(what));
        }
    }
    for link in &contents.links {
        let path = to.join(&link.path);
        above(&path)?;
        std::os::unix::fs::symlink(&link.target, path)?;
    }
    for folder in &contents.folders {
        fs::create_dir_all(to.join(folder))?;
    }
    Ok(())
}
