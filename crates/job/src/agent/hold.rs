//! Keeps a complete entry from vanishing before it is copied: programs rotate their own.

use super::tree::{Tree, make_rest, tree};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Links every file of `entry` to the same place below `held` (a single file to `held` itself), so
/// that removing or replacing the entry leaves the bytes. Nothing is copied. Returns what it
/// consists of.
///
/// # Errors
/// What the system says, such as a file system without hard links; nothing is left at `held` then.
pub fn hold(entry: &Path, held: &Path) -> io::Result<Tree> {
    let linked = link_all(entry, held);
    if linked.is_err() {
        release(held);
    }
    linked
}

fn link_all(entry: &Path, held: &Path) -> io::Result<Tree> {
    let parts = tree(entry)?;
    for (place, _) in &parts.files {
        // The empty place is the entry itself; joining it would add a slash.
        let (from, to) = if place.as_os_str().is_empty() {
            (entry.to_owned(), held.to_owned())
        } else {
            (entry.join(place), held.join(place))
        };
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        // What a symbolic link stands for is linked, not the link.
        fs::hard_link(resolved(from)?, to)?;
    }
    make_rest(held, &parts.links, &parts.folders)?;
    Ok(parts)
}

fn resolved(path: PathBuf) -> io::Result<PathBuf> {
    if fs::symlink_metadata(&path)?.is_symlink() {
        fs::canonicalize(path)
    } else {
        Ok(path)
    }
}

/// Gives up what [`hold`] made; what is not there is fine.
pub fn release(held: &Path) {
    // A failure leaves links in a folder that is removed with the job.
    let _ = if held.is_dir() {
        fs::remove_dir_all(held)
    } else {
        fs::remove_file(held)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_outlives_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let (entry, held) = (folder.path().join("step-1"), folder.path().join("held/1"));
        fs::create_dir_all(entry.join("deep")).unwrap();
        fs::write(entry.join("a"), b"1").unwrap();
        fs::write(entry.join("deep/b"), b"2").unwrap();
        hold(&entry, &held).unwrap();
        fs::remove_dir_all(&entry).unwrap();
        assert_eq!(fs::read(held.join("a")).unwrap(), b"1");
        assert_eq!(fs::read(held.join("deep/b")).unwrap(), b"2");
        release(&held);
        assert!(!held.exists());
    }

    #[test]
    fn a_single_file_and_one_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (entry, held) = (folder.path().join("a.pt"), folder.path().join("held/2"));
        fs::write(&entry, b"1").unwrap();
        hold(&entry, &held).unwrap();
        fs::remove_file(&entry).unwrap();
        assert_eq!(fs::read(&held).unwrap(), b"1");
        assert!(hold(&entry, &folder.path().join("held/3")).is_err());
        release(&held);
        assert!(!held.exists());
    }
}
