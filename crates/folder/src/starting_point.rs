//! A checkpoint at which a new run starts.

use crate::{FolderError, Manifest, Pointer, RunFolder};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A complete checkpoint, which is copied into the folder of a run before its first start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartingPoint {
    /// Where it stands: a file or a folder.
    pub entry: PathBuf,
    /// What it consists of.
    pub manifest: Manifest,
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
        let to = run.checkpoint(&self.manifest.name);
        if !self.manifest.stays_within() {
            let source = io::Error::other("the manifest names a place outside of the checkpoint");
            return Err(FolderError::Read {
                path: self.entry.clone(),
                source,
            });
        }
        self.copy_files(&to)
            .map_err(|source| FolderError::Write { path: to, source })?;
        for pointer in &self.pointers {
            run.add_pointer(pointer.clone())?;
        }
        run.write_manifest(&Manifest {
            step: None,
            ..self.manifest.clone()
        })
    }

    fn copy_files(&self, to: &Path) -> io::Result<()> {
        let contents = &self.manifest.contents;
        let above = |path: &Path| path.parent().map_or(Ok(()), fs::create_dir_all);
        for file in &contents.files {
            let target = file.below(to);
            above(&target)?;
            let bytes = sys::copy::file(&file.below(&self.entry), &target)?;
            if bytes != file.bytes {
                let what = format!("{} has changed", file.below(&self.entry).display());
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
}
