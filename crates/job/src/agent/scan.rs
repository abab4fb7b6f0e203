//! What stands in `{checkpoints}` at this moment.

use super::recognise::{Recognised, recognise};
use super::watcher::{Fingerprint, Inside};
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The top-level entries with their fingerprints, by name. An entry that vanishes while this looks
/// is left out; names that are not UTF-8 are too.
///
/// # Errors
/// The folder itself can't be read.
pub fn scan(folder: &Path) -> io::Result<Vec<(String, Fingerprint)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let (Ok(name), Ok(print)) = (entry.file_name().into_string(), fingerprint(&entry.path()))
        {
            found.push((name, print));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The fingerprint of a file or of all files below a folder.
///
/// # Errors
/// What the system says.
pub fn fingerprint(path: &Path) -> io::Result<Fingerprint> {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = 0;
    for (place, facts) in files(path)? {
        hasher.update(place.as_os_str().as_encoded_bytes());
        for number in [
            facts.len(),
            facts.ino(),
            facts.mtime().unsigned_abs(),
            facts.mtime_nsec().unsigned_abs(),
        ] {
            hasher.update(&number.to_le_bytes());
        }
        bytes += facts.len();
    }
    let digest = hasher.finalize();
    let first = digest
        .as_bytes()
        .first_chunk()
        .expect("invariant: a digest has 32 bytes");
    Ok(Fingerprint {
        bytes,
        digest: u64::from_le_bytes(*first),
    })
}

/// All files of an entry with their places below it, sorted; a single file has the empty place.
/// Symbolic links are followed for files and not for folders.
///
/// # Errors
/// What the system says.
pub fn files(path: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    let facts = fs::metadata(path)?;
    if !facts.is_dir() {
        return Ok(vec![(PathBuf::new(), facts)]);
    }
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(path.join(&folder))? {
            let entry = entry?;
            let place = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(place);
            } else {
                let facts = match fs::metadata(entry.path()) {
                    // A link to nothing holds nothing: it must not keep the rest from coming out.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && is_link(&entry) => {
                        continue;
                    }
                    facts => facts?,
                };
                if facts.is_file() {
                    found.push((place, facts));
                }
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn is_link(entry: &fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_symlink())
}

/// [`Inside`] for entries of a real folder.
#[derive(Debug)]
pub struct FolderInside<'a> {
    /// The watched folder.
    pub folder: &'a Path,
}

impl Inside for FolderInside<'_> {
    fn recognised(&mut self, name: &str) -> Recognised {
        // An entry that can't be read now is looked at again at the next turn.
        recognise(&self.folder.join(name)).unwrap_or(Recognised::Unknown)
    }

    fn marked(&mut self, name: &str, marker: &str) -> bool {
        self.folder.join(format!("{name}.{marker}")).exists()
            || self.folder.join(name).join(marker).exists()
    }

    fn open(&mut self, name: &str) -> bool {
        let files = files(&self.folder.join(name)).unwrap_or_default();
        let wanted: BTreeSet<(u64, u64)> = files
            .iter()
            .map(|(_, facts)| (facts.dev(), facts.ino()))
            .collect();
        open_for_writing(&wanted)
    }
}

/// Whether one of our processes has one of these files (device, inode) open for writing. Other
/// users' processes can't be looked into; they don't write our checkpoints.
fn open_for_writing(wanted: &BTreeSet<(u64, u64)>) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes.filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    });
    numbered.into_iter().any(|process| {
        let descriptors = fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        descriptors.into_iter().any(|descriptor| {
            // The owner's write bit of the link tells how it was opened.
            let writes =
                fs::symlink_metadata(descriptor.path()).is_ok_and(|link| link.mode() & 0o200 != 0);
            writes
                && fs::metadata(descriptor.path())
                    .is_ok_and(|facts| wanted.contains(&(facts.dev(), facts.ino())))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_change_of_any_file_changes_the_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step-5/deep");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("a"), b"12").unwrap();
        let one = scan(folder.path()).unwrap();
        assert_eq!(one, scan(folder.path()).unwrap());
        assert_eq!((one[0].0.as_str(), one[0].1.bytes), ("step-5", 2));
        fs::write(path.join("b"), b"").unwrap();
        let two = scan(folder.path()).unwrap();
        assert_ne!(one, two);
        fs::remove_file(path.join("b")).unwrap();
        fs::write(path.join("new"), b"34").unwrap();
        fs::rename(path.join("new"), path.join("a")).unwrap();
        assert_ne!(
            one,
            scan(folder.path()).unwrap(),
            "another inode of the same size"
        );
    }

    #[test]
    fn a_link_to_nothing_hides_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step-5");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a"), b"12").unwrap();
        std::os::unix::fs::symlink("/nonexistent", path.join("link")).unwrap();
        let seen = scan(folder.path()).unwrap();
        assert_eq!((seen[0].0.as_str(), seen[0].1.bytes), ("step-5", 2));
    }

    #[test]
    fn sees_who_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pkl");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(b"x").unwrap();
        let mut inside = FolderInside {
            folder: folder.path(),
        };
        assert!(inside.open("a.pkl"));
        drop(file);
        let reader = fs::File::open(&path).unwrap();
        assert!(!inside.open("a.pkl"));
        drop(reader);
    }

    #[test]
    fn markers_beside_and_inside() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("b"), b"").unwrap();
        let mut inside = FolderInside {
            folder: folder.path(),
        };
        assert!(!inside.marked("a", "done") && !inside.marked("b", "done"));
        fs::write(folder.path().join("a/done"), b"").unwrap();
        fs::write(folder.path().join("b.done"), b"").unwrap();
        assert!(inside.marked("a", "done") && inside.marked("b", "done"));
    }
}
