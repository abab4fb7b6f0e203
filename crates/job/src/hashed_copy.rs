//! Copies with a hash of what was read, in one pass.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// How much is read at once: large enough for parallel file systems, small enough for memory.
const CHUNK: usize = 4 << 20;

/// Copies a file, making the folders above `to`; durable when it returns. Returns its length and
/// the blake3 hash of the bytes, in hexadecimal.
///
/// # Errors
/// What the system says; `to` may then be there in part.
pub fn copy(from: &Path, to: &Path) -> io::Result<(u64, String)> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut target = File::create(to)?;
    let found = read_all(&mut File::open(from)?, |bytes| target.write_all(bytes))?;
    target.sync_all()?;
    Ok(found)
}

/// The length and hash of a file, in hexadecimal.
#[cfg(test)]
pub fn hash(path: &Path) -> io::Result<(u64, String)> {
    read_all(&mut File::open(path)?, |_| Ok(()))
}

fn read_all(
    source: &mut File,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    let mut chunk = vec![0; CHUNK];
    let mut hasher = blake3::Hasher::new();
    let mut length = 0u64;
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok((length, hasher.finalize().to_hex().to_string())),
            Ok(read) => {
                hasher.update(&chunk[..read]);
                each(&chunk[..read])?;
                length += u64::try_from(read).unwrap_or(0);
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
}
