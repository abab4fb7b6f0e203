//! Copies with a hash of what was read, in one pass.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::named_file::open_regular;

/// How much is read at once: large enough for parallel file systems, small enough for memory.
const CHUNK: usize = 4 << 20;

/// Zeros of a file with holes are left out in pieces of this size, that of most disks' blocks.
const HOLE: usize = 4096;

/// Copies a file, making the folders above `to`; durable when it returns. A file with holes keeps
/// them. Returns its length and the blake3 hash of the bytes, in hexadecimal.
///
/// # Errors
/// What the system says; `to` may then be there in part.
pub fn copy(from: &Path, to: &Path) -> io::Result<(u64, String)> {
    copy_metered(from, to, &mut |_| Ok(()))
}

/// As [`copy`]; `meter` hears how many bytes were copied so far, and ends the copy by an error.
///
/// # Errors
/// As [`copy`], or what `meter` returns.
pub fn copy_metered(
    from: &Path,
    to: &Path,
    meter: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    // A pipe or a device in its place may have no end.
    let mut source = open_regular(File::options().read(true), from)?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut target = File::create(to)?;
    let facts = source.metadata()?;
    // `st_blocks` counts in units of 512 bytes, whatever the disk's own blocks are.
    let has_holes = facts.blocks().saturating_mul(512) < facts.len();
    let found = if has_holes {
        let found = read_all(&mut source, |bytes, so_far| {
            write_with_holes(&mut target, bytes)?;
            meter(so_far)
        })?;
        target.set_len(found.0)?;
        found
    } else {
        read_all(&mut source, |bytes, so_far| {
            target.write_all(bytes)?;
            meter(so_far)
        })?
    };
    // A copy is as old as what it is a copy of; a disk that keeps no times is no reason to lose it.
    if let Ok(written) = facts.modified() {
        let _ = target.set_modified(written);
    }
    target.sync_all()?;
    Ok(found)
}

fn write_with_holes(target: &mut File, bytes: &[u8]) -> io::Result<()> {
    for piece in bytes.chunks(HOLE) {
        if piece.iter().all(|byte| *byte == 0) {
            let length = i64::try_from(piece.len()).expect("invariant: a piece is small");
            target.seek(SeekFrom::Current(length))?;
        } else {
            target.write_all(piece)?;
        }
    }
    Ok(())
}

/// The length and hash of a file, in hexadecimal.
///
/// # Errors
/// What the system says.
pub fn hash(path: &Path) -> io::Result<(u64, String)> {
    let mut file = open_regular(File::options().read(true), path)?;
    read_all(&mut file, |_, _| Ok(()))
}

/// The same, of what the disk has and not the memory.
///
/// # Errors
/// What the system says.
pub fn hash_from_disk(path: &Path) -> io::Result<(u64, String)> {
    let mut file = open_regular(File::options().read(true), path)?;
    sys::copy::forget_cached(&file);
    read_all(&mut file, |_, _| Ok(()))
}

fn read_all(
    source: &mut File,
    mut each: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    let mut chunk = vec![0; CHUNK];
    let mut hasher = blake3::Hasher::new();
    let mut length = 0u64;
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok((length, hasher.finalize().to_hex().to_string())),
            Ok(read) => {
                hasher.update(&chunk[..read]);
                length += u64::try_from(read).unwrap_or(0);
                each(&chunk[..read], length)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_tells_the_hash() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("deep/b"));
        fs::write(&from, vec![7; CHUNK + 5]).unwrap();
        let copied = copy(&from, &to).unwrap();
        assert_eq!(copied, hash(&to).unwrap());
        assert_eq!(copied.0, CHUNK as u64 + 5);
        fs::write(&to, b"x").unwrap();
        assert_ne!(copied.1, hash(&to).unwrap().1);
    }

    #[test]
    fn holes_stay_holes() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        let mut file = File::create(&from).unwrap();
        file.seek(SeekFrom::Start(8 << 20)).unwrap();
        file.write_all(b"end").unwrap();
        file.set_len(16 << 20).unwrap();
        drop(file);
        let copied = copy(&from, &to).unwrap();
        assert_eq!(copied, hash(&from).unwrap());
        assert_eq!(copied, hash(&to).unwrap());
        let facts = fs::metadata(&to).unwrap();
        assert_eq!(facts.len(), 16 << 20);
        // A disk without holes has none to keep.
        if fs::metadata(&from).unwrap().blocks() * 512 < 1 << 20 {
            assert!(facts.blocks() * 512 < 1 << 20, "{}", facts.blocks());
        }
    }
}
