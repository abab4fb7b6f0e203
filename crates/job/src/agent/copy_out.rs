//! Copies a held entry into the run folder's incoming place.

use super::scan::fingerprint;
use super::tree::{make_rest, tree};
use crate::hashed_copy;
use folder::{Contents, FileHash, IncomingPart};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use train::say_bytes;

/// How far below its run folder a part is: `checkpoints/.incoming/PART`.
const BELOW_RUN: usize = 3;

/// Why a part is not there. Nothing of it was left.
#[derive(Debug, Error)]
pub enum CopyOutError {
    /// The run folder's disk is full.
    #[error(
        "{} are to be copied, {} are free in {folder:?}; free some, or set [checkpoints] keep = N; the training continues, and saved checkpoints stay",
        say_bytes(*asked),
        say_bytes(*there)
    )]
    DiskFull {
        /// What the entry needs.
        asked: u64,
        /// What was free before the copy and is again.
        there: u64,
        /// Where.
        folder: PathBuf,
    },
    /// The run folder is not where it was.
    #[error(
        "the run folder {folder:?} was moved or removed: move it back; until then checkpoints stay on this node"
    )]
    NoFolder {
        /// The run folder.
        folder: PathBuf,
    },
    /// A newer one goes first.
    #[error("a newer checkpoint goes first")]
    BrokenOff,
    /// The program went on writing it.
    #[error("it changed while it was copied; it is looked at again")]
    Changed,
    /// The entry could not be read or the run folder not be written.
    #[error("{source}")]
    System {
        /// What the system says.
        source: io::Error,
    },
}

impl CopyOutError {
    /// Whether the disk refuses it for a while.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            CopyOutError::DiskFull { .. } | CopyOutError::NoFolder { .. } => true,
            CopyOutError::Changed | CopyOutError::BrokenOff => false,
            CopyOutError::System { source } => sys::disk_errors::may_pass(source),
        }
    }
}

/// Has a copy end: its meter returns it.
#[derive(Debug, Error)]
#[error("it is broken off")]
pub struct BrokenOff;

/// Copies `from` with hashes, durably; the list of files is written last. Returns the bytes. `meter` hears
/// how many were copied, and of how many, and may break it off.
pub fn copy_out(
    from: &Path,
    part: &IncomingPart,
    meter: &mut dyn FnMut(u64, u64) -> Result<(), BrokenOff>,
) -> Result<u64, CopyOutError> {
    let result = copy(from, part, meter);
    if result.is_err() {
        part.remove();
    }
    result
}

fn copy(
    from: &Path,
    part: &IncomingPart,
    meter: &mut dyn FnMut(u64, u64) -> Result<(), BrokenOff>,
) -> Result<u64, CopyOutError> {
    let system = |source| CopyOutError::System { source };
    let before = fingerprint(from).map_err(system)?;
    // Another one in its place would hide that, with a checkpoint that its run has not.
    let run = part.folder().ancestors().nth(BELOW_RUN);
    if let Some(run) = run.filter(|run| !run.exists()) {
        let folder = run.to_owned();
        return Err(CopyOutError::NoFolder { folder });
    }
    let each = &mut |bytes| meter(bytes, before.bytes).map_err(io::Error::other);
    let all = copy_files(from, part, each).map_err(|source| {
        if source
            .get_ref()
            .is_some_and(|error| error.is::<BrokenOff>())
        {
            CopyOutError::BrokenOff
        } else if matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ) {
            let folder = part.folder().parent().unwrap_or(part.folder()).to_owned();
            // What came so far would count as taken.
            part.remove();
            let there = sys::disk_free(&folder).unwrap_or(0);
            CopyOutError::DiskFull {
                asked: before.bytes,
                there,
                folder,
            }
        } else {
            CopyOutError::System { source }
        }
    })?;
    if fingerprint(from).map_err(system)? != before {
        return Err(CopyOutError::Changed);
    }
    Ok(all)
}

fn copy_files(
    from: &Path,
    part: &IncomingPart,
    meter: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<u64> {
    std::fs::create_dir_all(part.folder())?;
    let tree = tree(from)?;
    let mut contents = Contents {
        files: Vec::new(),
        written: tree.written(),
        links: tree.links,
        folders: tree.folders,
    };
    let mut all = 0;
    for (path, _) in tree.files {
        let (source, target) = if path.as_os_str().is_empty() {
            (from.to_owned(), part.data())
        } else {
            (from.join(&path), part.data().join(&path))
        };
        let (bytes, blake3) =
            hashed_copy::copy_metered(&source, &target, &mut |bytes| meter(all + bytes))?;
        all += bytes;
        contents.files.push(FileHash {
            path,
            bytes,
            blake3,
        });
    }
    make_rest(&part.data(), &contents.links, &contents.folders)?;
    part.write_list(&contents)?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::RunFolder;
    use std::fs;

    #[test]
    fn a_folder_and_its_list() {
        let root = tempfile::tempdir().unwrap();
        let entry = root.path().join("step-5");
        fs::create_dir_all(entry.join("deep")).unwrap();
        fs::write(entry.join("a"), b"1").unwrap();
        fs::write(entry.join("deep/b"), b"22").unwrap();
        fs::create_dir(entry.join("empty")).unwrap();
        std::os::unix::fs::symlink("deep/b", entry.join("last")).unwrap();
        let part = IncomingPart::new(&RunFolder::at(root.path()), "7.0.0.1");
        assert_eq!(copy_out(&entry, &part, &mut |_, _| Ok(())).unwrap(), 3);
        let list = part.read_list().unwrap();
        let named: Vec<_> = list
            .files
            .iter()
            .map(|file| (file.path.to_str().unwrap(), file.bytes))
            .collect();
        assert_eq!(named, [("a", 1), ("deep/b", 2)]);
        assert_eq!(fs::read(part.data().join("deep/b")).unwrap(), b"22");
        assert_eq!(list.folders, [Path::new("empty")]);
        assert_eq!(
            fs::read_link(part.data().join("last")).unwrap(),
            Path::new("deep/b")
        );
    }

    #[test]
    fn one_that_is_broken_off_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let entry = root.path().join("step-5");
        fs::create_dir(&entry).unwrap();
        for name in ["a", "b"] {
            fs::write(entry.join(name), b"12345").unwrap();
        }
        let part = IncomingPart::new(&RunFolder::at(root.path()), "7.0.0.1");
        let meter = &mut |bytes, of| {
            assert_eq!(of, 10);
            if bytes < 10 { Ok(()) } else { Err(BrokenOff) }
        };
        let error = copy_out(&entry, &part, meter).unwrap_err();
        assert!(matches!(error, CopyOutError::BrokenOff), "{error:?}");
        assert!(!part.folder().exists());
    }

    #[test]
    fn a_full_disk_leaves_nothing_and_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let small = root.path().join("small");
        fs::create_dir(&small).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "none"])
            .arg(&small)
            .stderr(std::process::Stdio::null())
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            let _ = io::Write::write_all(
                &mut io::stderr(),
                b"skipped: no right to mount a small disk\n",
            );
            return;
        }
        let entry = root.path().join("big.pt");
        fs::write(&entry, vec![1; 200_000]).unwrap();
        let part = IncomingPart::new(&RunFolder::at(&small), "7.0.0.1");
        let error = copy_out(&entry, &part, &mut |_, _| Ok(())).unwrap_err();
        let left = part.folder().exists();
        let unmounted = std::process::Command::new("umount")
            .arg(&small)
            .status()
            .unwrap();
        assert!(unmounted.success());
        let CopyOutError::DiskFull { asked, there, .. } = error else {
            panic!("{error:?}")
        };
        assert!(asked == 200_000 && there < asked);
        assert!(!left);
    }

    #[test]
    fn no_run_folder_is_made_in_place_of_one_that_was_moved() {
        let root = tempfile::tempdir().unwrap();
        let entry = root.path().join("step-1");
        std::fs::write(&entry, b"weights").unwrap();
        let run = root.path().join("digits-k3f9");
        let part = IncomingPart::new(&RunFolder::at(&run), "7.0.0.1");
        let error = copy_out(&entry, &part, &mut |_, _| Ok(())).unwrap_err();
        assert!(
            error.may_pass() && error.to_string().contains("was moved or removed"),
            "{error}"
        );
        assert!(!run.exists());
    }
}
