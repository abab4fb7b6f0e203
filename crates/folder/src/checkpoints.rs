//! The whole checkpoints of a run.

use crate::manifest::step_of;
use crate::{FolderError, Manifest, RunFolder, json_file};
use std::cmp::Reverse;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// A file is not there, or can't be read.
    #[error("{} can't be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A file has another size.
    #[error("{} has {there} bytes, its manifest says {asked}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// By the manifest.
        asked: u64,
        /// On the disk.
        there: u64,
    },
    /// A file has other bytes.
    #[error("{} has other bytes than its manifest says", path.display())]
    Bytes {
        /// The file.
        path: PathBuf,
    },
}

impl RunFolder {
    /// The whole checkpoints, the newest first: by step, then by when they came; what has no step
    /// comes after what has one. Sizes are compared, bytes are not.
    ///
    /// # Errors
    /// The manifests can't be listed. One that can't be read is no whole checkpoint.
    pub fn whole_checkpoints(&self) -> Result<Vec<Manifest>, FolderError> {
        let folder = self.manifests();
        let entries = fs::read_dir(&folder).map_err(|source| FolderError::Read {
            path: folder.clone(),
            source,
        })?;
        let mut whole: Vec<Manifest> = entries
            .flatten()
            .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
            .filter_map(|entry| json_file::read(&entry.path()).ok())
            .filter(|manifest| self.check_sizes(manifest).is_ok())
            .collect();
        whole.sort_by_key(|manifest| Reverse((manifest.step, manifest.at, manifest.name.clone())));
        Ok(whole)
    }

    /// Writes a manifest: from then on its checkpoint counts as whole.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), FolderError> {
        json_file::write(&self.manifest(&manifest.name), manifest)
    }

    /// Compares the sizes of a checkpoint's files with its manifest.
    ///
    /// # Errors
    /// The first file that differs.
    pub fn check_sizes(&self, manifest: &Manifest) -> Result<(), Damage> {
        for file in &manifest.files {
            let path = self.file_of(manifest, &file.path);
            let there = fs::metadata(&path).map_err(unreadable(&path))?.len();
            if there != file.bytes {
                return Err(Damage::Size {
                    path,
                    asked: file.bytes,
                    there,
                });
            }
        }
        Ok(())
    }

    /// Compares sizes and bytes of a checkpoint's files with its manifest: reads all of them.
    ///
    /// # Errors
    /// The first file that differs.
    pub fn check_bytes(&self, manifest: &Manifest) -> Result<(), Damage> {
        self.check_sizes(manifest)?;
        for file in &manifest.files {
            let path = self.file_of(manifest, &file.path);
            if hash(&path).map_err(unreadable(&path))? != file.blake3 {
                return Err(Damage::Bytes { path });
            }
        }
        Ok(())
    }

    fn file_of(&self, manifest: &Manifest, path: &Path) -> PathBuf {
        let entry = self.checkpoint(&manifest.name);
        if path.as_os_str().is_empty() {
            entry
        } else {
            entry.join(path)
        }
    }
}

impl Manifest {
    /// Bytes of all its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// A manifest of these files for the checkpoint of that name.
    #[must_use]
    pub fn new(
        name: &str,
        at: model::Timestamp,
        proven: bool,
        mut files: Vec<crate::FileHash>,
    ) -> Manifest {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Manifest {
            name: name.to_owned(),
            step: step_of(name),
            at,
            proven,
            files,
        }
    }
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Damage {
    let path = path.to_owned();
    move |error| Damage::Unreadable {
        path,
        why: error.to_string(),
    }
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileHash;
    use model::Timestamp;

    fn publish(folder: &RunFolder, name: &str, at: i64, bytes: &[u8]) -> Manifest {
        fs::write(folder.checkpoint(name), bytes).unwrap();
        let file = FileHash {
            path: PathBuf::new(),
            bytes: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
        };
        let manifest = Manifest::new(name, Timestamp(at), true, vec![file]);
        folder.write_manifest(&manifest).unwrap();
        manifest
    }

    #[test]
    fn the_newest_whole_one_comes_first() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        publish(&folder, "step-90.npz", 4, b"ninety");
        publish(&folder, "step-260.npz", 2, b"later");
        publish(&folder, "step-300.npz", 3, b"cut in half");
        publish(&folder, "last", 9, b"no step");
        fs::write(folder.checkpoint("step-300.npz"), b"cut in").unwrap();
        fs::write(folder.checkpoint("step-999.npz"), b"never published").unwrap();
        fs::write(folder.manifest("step-998.npz"), b"{ garbled").unwrap();
        let names: Vec<String> = folder
            .whole_checkpoints()
            .unwrap()
            .into_iter()
            .map(|manifest| manifest.name)
            .collect();
        assert_eq!(names, ["step-260.npz", "step-90.npz", "last"]);
    }

    #[test]
    fn damage_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        let manifest = publish(&folder, "5", 0, b"weights");
        assert_eq!(folder.check_bytes(&manifest), Ok(()));
        fs::write(folder.checkpoint("5"), b"wEights").unwrap();
        assert_eq!(folder.check_sizes(&manifest), Ok(()));
        let path = folder.checkpoint("5");
        assert_eq!(folder.check_bytes(&manifest), Err(Damage::Bytes { path }));
        fs::write(folder.checkpoint("5"), b"wei").unwrap();
        assert!(matches!(
            folder.check_sizes(&manifest),
            Err(Damage::Size { there: 3, .. })
        ));
        fs::remove_file(folder.checkpoint("5")).unwrap();
        assert!(matches!(
            folder.check_sizes(&manifest),
            Err(Damage::Unreadable { .. })
        ));
    }
}
