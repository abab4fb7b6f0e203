//! A part of a checkpoint on its way: `<incoming>/<part>/` with the bytes and the list of them.

use folder::{FileHash, RunFolder};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A part's place in the run folder.
#[derive(Clone, Debug)]
pub struct PartPlace {
    folder: PathBuf,
}

impl PartPlace {
    /// The part of that name.
    #[must_use]
    pub fn new(run: &RunFolder, name: &str) -> PartPlace {
        PartPlace {
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

    /// The manifest of the checkpoint that is about to be published from here.
    #[must_use]
    pub fn manifest(&self) -> PathBuf {
        self.folder.join("manifest.json")
    }

    fn list(&self) -> PathBuf {
        self.folder.join("part.json")
    }

    /// Writes which files the part has: the last thing that its maker does.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_list(&self, files: &[FileHash]) -> io::Result<()> {
        sys::atomic::write(&self.list(), &serde_json::to_vec(files)?)
    }

    /// Which files it has.
    ///
    /// # Errors
    /// What the system says; the list is missing where the part is not whole.
    pub fn read_list(&self) -> io::Result<Vec<FileHash>> {
        Ok(serde_json::from_slice(&fs::read(self.list())?)?)
    }

    /// Removes all of it.
    pub fn remove(&self) {
        // What stays is removed at the next start of a job of the run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
