//! The whole checkpoints of a run.

use crate::whole_checkpoints::best_first;
use crate::{
    Age, Contents, FileHash, FolderError, Manifest, Parts, RunFolder, WholeCheckpoints, json_file,
    step_of,
};
use std::fs;
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
    #[error("{} has {there} bytes, and its manifest says {asked}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// By the manifest.
        asked: u64,
        /// On the disk.
        there: u64,
    },
}

/// The checkpoints of a run.
#[derive(Debug, Default)]
pub struct CheckpointsThere {
    /// The whole ones, the best to resume from first: what lacks no node's part before what does, and of
    /// each the newest first.
    pub whole: Vec<Manifest>,
    /// What is wrong with the others.
    pub unusable: Vec<Unusable>,
}

/// Why a checkpoint that has a manifest is not whole.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// Its manifest tells nothing.
    #[error("a checkpoint is passed over: {0}")]
    Manifest(FolderError),
    /// Its files are not those of its manifest.
    #[error("checkpoint {name} is damaged in the run folder and is passed over: {damage}")]
    Damaged {
        /// Its name.
        name: String,
        /// The first file that differs.
        damage: Damage,
    },
}

impl RunFolder {
    /// Makes the folders that checkpoints go through.
    ///
    /// # Errors
    /// They can't be made.
    pub fn make_checkpoint_folders(&self) -> Result<(), FolderError> {
        for path in [self.incoming(), self.manifests()] {
            fs::create_dir_all(&path).map_err(|source| FolderError::Write { path, source })?;
        }
        Ok(())
    }

    /// Looks at all checkpoints. Sizes are compared here, bytes when one is brought back.
    ///
    /// # Errors
    /// The manifests can't be listed. One that can't be read is no whole checkpoint.
    pub fn look_at_checkpoints(&self) -> Result<CheckpointsThere, FolderError> {
        let folder = self.manifests();
        let entries = fs::read_dir(&folder).map_err(|source| FolderError::Read {
            path: folder.clone(),
            source,
        })?;
        let mut there = CheckpointsThere::default();
        for entry in entries.flatten() {
            // What is being written stands beside, under a name that begins with a dot.
            let path = entry.path();
            if path.extension().is_none_or(|end| end != "json")
                || entry.file_name().as_encoded_bytes().starts_with(b".")
            {
                continue;
            }
            match json_file::read::<Manifest>(&path) {
                Ok(manifest) => match manifest.check_sizes(&self.checkpoint(&manifest.name)) {
                    Ok(()) => there.whole.push(manifest),
                    Err(damage) => there.unusable.push(Unusable::Damaged {
                        name: manifest.name,
                        damage,
                    }),
                },
                Err(error) => there.unusable.push(Unusable::Manifest(error)),
            }
        }
        there.whole = best_first(there.whole, Manifest::age, |manifest| {
            manifest.parts.lacks > 0
        });
        Ok(there)
    }

    /// The manifest of the checkpoint of that name.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read_manifest(&self, name: &str) -> Result<Manifest, FolderError> {
        json_file::read(&self.manifest(name))
    }

    /// Has the checkpoint of that name, whose bytes are not those of its manifest, count no more. Its files stay
    /// until the training saves one of that name again.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn set_aside(&self, name: &str) -> Result<(), FolderError> {
        let path = self.manifest(name);
        fs::rename(&path, path.with_extension("damaged"))
            .map_err(|source| FolderError::Write { path, source })
    }

    /// Writes a manifest: from then on its checkpoint counts as whole.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), FolderError> {
        json_file::write(&self.manifest(&manifest.name), manifest)
    }
}

impl CheckpointsThere {
    /// What decides between the whole ones.
    #[must_use]
    pub fn known(&self) -> WholeCheckpoints {
        WholeCheckpoints::new(self.whole.iter().map(Manifest::known).collect())
    }
}

impl Manifest {
    /// Compares the sizes of the files at `entry`, published or not, with the manifest.
    ///
    /// # Errors
    /// The first file that differs.
    pub fn check_sizes(&self, entry: &Path) -> Result<(), Damage> {
        let there = |path: PathBuf, is: fn(&fs::Metadata) -> bool, what: &str| {
            let why = match fs::symlink_metadata(&path) {
                Ok(facts) if is(&facts) => return Ok(()),
                Ok(_) => format!("it is no {what}"),
                Err(error) => error.to_string(),
            };
            Err(Damage::Unreadable { path, why })
        };
        for link in &self.contents.links {
            there(entry.join(&link.path), fs::Metadata::is_symlink, "link")?;
        }
        for folder in &self.contents.folders {
            // The empty path is the entry itself; joining it would add a slash.
            let path = if folder.as_os_str().is_empty() {
                entry.to_owned()
            } else {
                entry.join(folder)
            };
            there(path, fs::Metadata::is_dir, "folder")?;
        }
        for file in &self.contents.files {
            let path = file.below(entry);
            let there = match fs::metadata(&path) {
                Ok(facts) => facts.len(),
                Err(error) => {
                    let why = error.to_string();
                    return Err(Damage::Unreadable { path, why });
                }
            };
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

    /// What tells whether another one is newer.
    #[must_use]
    pub fn age(&self) -> Age {
        self.known().age()
    }

    /// Bytes of all its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.contents.files.iter().map(|file| file.bytes).sum()
    }

    /// A manifest for the checkpoint of that name.
    #[must_use]
    pub fn new(
        name: &str,
        at: model::Timestamp,
        proven: bool,
        contents: impl Into<Contents>,
    ) -> Manifest {
        let mut contents = contents.into();
        contents.files.sort_by(|a, b| a.path.cmp(&b.path));
        contents.links.sort_by(|a, b| a.path.cmp(&b.path));
        contents.folders.sort();
        Manifest {
            name: name.to_owned(),
            step: step_of(name),
            at,
            proven,
            parts: Parts::default(),
            contents,
        }
    }
}

impl FileHash {
    /// The file's place in the entry that stands at `entry`.
    #[must_use]
    pub fn below(&self, entry: &Path) -> PathBuf {
        // Joining nothing would add a slash, and a file is no folder.
        if self.path.as_os_str().is_empty() {
            entry.to_owned()
        } else {
            entry.join(&self.path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let there = folder.look_at_checkpoints().unwrap();
        assert_eq!(there.unusable.len(), 2, "{:?}", there.unusable);
        let names: Vec<String> = there
            .whole
            .into_iter()
            .map(|manifest| manifest.name)
            .collect();
        assert_eq!(names, ["step-260.npz", "step-90.npz", "last"]);
    }

    #[test]
    fn a_name_as_long_as_names_can_be() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        let name = format!("{}-7", "ü".repeat(126));
        publish(&folder, &name, 0, b"weights");
        let whole = folder.look_at_checkpoints().unwrap().whole;
        assert_eq!((whole[0].name.as_str(), whole[0].step), (&*name, Some(7)));
        assert_eq!(folder.read_manifest(&name).unwrap(), whole[0]);
        assert_ne!(folder.manifest(&name), folder.manifest(&name[2..]));
    }

    #[test]
    fn links_and_empty_folders_are_part_of_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        let entry = folder.checkpoint("step-5");
        fs::create_dir_all(entry.join("empty")).unwrap();
        let contents = Contents {
            files: vec![],
            links: vec![crate::LinkInside {
                path: "last".into(),
                target: "a".into(),
            }],
            folders: vec!["empty".into()],
            written: None,
        };
        let manifest = Manifest::new("step-5", Timestamp(0), true, contents);
        assert!(manifest.check_sizes(&entry).is_err(), "the link is missing");
        std::os::unix::fs::symlink("a", entry.join("last")).unwrap();
        assert_eq!(manifest.check_sizes(&entry), Ok(()));
        fs::remove_dir(entry.join("empty")).unwrap();
        assert!(manifest.check_sizes(&entry).is_err());
    }

    #[test]
    fn damage_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        let manifest = publish(&folder, "5", 0, b"weights");
        let check = || manifest.check_sizes(&folder.checkpoint("5"));
        assert_eq!(check(), Ok(()));
        fs::write(folder.checkpoint("5"), b"wei").unwrap();
        assert!(matches!(check(), Err(Damage::Size { there: 3, .. })));
        fs::remove_file(folder.checkpoint("5")).unwrap();
        assert!(matches!(check(), Err(Damage::Unreadable { .. })));
    }
}
