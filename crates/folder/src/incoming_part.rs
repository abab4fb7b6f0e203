//! A part of a checkpoint on its way: `<incoming>/<part>/` with the bytes and the list of them.

use crate::{Contents, FolderError, Manifest, RunFolder, json_file};
use std::fs;
use std::path::{Path, PathBuf};

/// A part's place in the run folder.
#[derive(Clone, Debug)]
pub struct IncomingPart {
    folder: PathBuf,
}

impl IncomingPart {
    /// The part of that name.
    #[must_use]
    pub fn new(run: &RunFolder, name: &str) -> IncomingPart {
        IncomingPart {
            folder: run.incoming().join(name),
        }
    }

    /// The part's own folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The entry's bytes: a file or a folder.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Where what stood under the checkpoint's name is moved to, to be removed with the part.
    #[must_use]
    pub fn replaced(&self) -> PathBuf {
        self.folder.join("replaced")
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join("manifest.json")
    }

    /// Writes the manifest of the checkpoint that is about to be published from here.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), FolderError> {
        json_file::write(&self.manifest(), manifest)
    }

    /// The manifest of the checkpoint that was about to be published from here.
    ///
    /// # Errors
    /// It can't be read; it is missing where publishing had not begun.
    pub fn read_manifest(&self) -> Result<Manifest, FolderError> {
        json_file::read(&self.manifest())
    }

    fn list(&self) -> PathBuf {
        self.folder.join("part.json")
    }

    /// Writes what the part holds: the last thing that its maker does.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_list(&self, contents: &Contents) -> Result<(), FolderError> {
        json_file::write(&self.list(), contents)
    }

    /// What it holds.
    ///
    /// # Errors
    /// It can't be read; it is missing where the part is not whole.
    pub fn read_list(&self) -> Result<Contents, FolderError> {
        json_file::read(&self.list())
    }

    /// Removes all of it.
    pub fn remove(&self) {
        // What stays is removed at the next start of a job of the run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
