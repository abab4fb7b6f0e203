//! The file that a command's name means.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Looks for an executable file in the folders of `path`, parted by colons; a name with a slash is the
/// file itself, whether it is there or not. `None` where no folder has it.
#[must_use]
pub fn find_program(name: &OsStr, path: &str) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name));
    }
    path.split(':')
        .map(|folder| Path::new(if folder.is_empty() { "." } else { folder }).join(name))
        .find(|file| {
            let facts = std::fs::metadata(file);
            facts.is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
        })
}
