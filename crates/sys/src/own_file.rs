//! Files that this user alone may have written.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Reads a file that is this user's, and no other's to read or to write; `None` where there is none.
/// Follows no link and waits for nothing.
///
/// # Errors
/// It is another user's, open to others or no regular file; what the system says.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file: File = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => file.into(),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let facts = file.metadata()?;
    let is_own = facts.uid() == rustix::process::geteuid().as_raw();
    if !facts.is_file() || !is_own || facts.mode() & 0o077 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_others_may_have_written_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        assert_eq!(read(&path).unwrap(), None);
        fs::write(&path, "x").unwrap();
        symlink(&path, &link).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path).unwrap(), Some(b"x".to_vec()));
        assert!(read(&link).is_err());
        for mode in [0o620, 0o602, 0o604] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(read(&path).is_err(), "{mode:o}");
        }
    }
}
