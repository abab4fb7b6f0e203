//! Copies that share blocks where the file system can.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Copies a file's bytes and permissions: by reflink where the file system has them, else inside
/// the kernel, else by reading and writing. Returns the bytes copied.
///
/// # Errors
/// What the system says; `to` may then be there in part.
pub fn file(from: &Path, to: &Path) -> io::Result<u64> {
    let source = File::open(from)?;
    let facts = source.metadata()?;
    let target = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        // Not the mode it gets in the end: of a file that others may not read they see no part.
        .mode(0o600)
        .open(to)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_ok() {
        target.set_permissions(facts.permissions())?;
        return Ok(facts.len());
    }
    // The standard library tries copy_file_range and sendfile before it reads and writes.
    let (mut source, mut target) = (source, target);
    let bytes = io::copy(&mut source, &mut target)?;
    target.set_permissions(facts.permissions())?;
    Ok(bytes)
}

/// Has what is read of a file come from its disk again and not from memory, as far as the system does so.
pub fn forget_cached(file: &File) {
    // A file system that keeps it reads it from memory.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn copies_bytes_and_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&from, b"program").unwrap();
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(file(&from, &to).unwrap(), 7);
        assert_eq!(std::fs::read(&to).unwrap(), b"program");
        assert_eq!(to.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    }
}
