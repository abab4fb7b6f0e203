//! Writing files that a person names.

use crate::failure::{Failure, FailureKind};
use std::cell::Cell;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Puts another text into a file that holds `old`, whole or not at all: behind a link into the file
/// that it names, and who owns it and who may do what with it stay. A file that no one may write, that
/// has another name or that was changed meanwhile stays as it is.
pub fn write(path: &Path, old: &[u8], new: &[u8]) -> Result<(), Failure> {
    let name = path.display();
    let left =
        |why: &str| Failure::new(FailureKind::Io, format!("{name} {why} and is not changed"));
    let failure = |error: io::Error| {
        Failure::new(FailureKind::Io, format!("{name} can't be written: {error}"))
            .there("it is as it was")
    };
    let target = path.canonicalize().map_err(failure)?;
    let facts = fs::metadata(&target).map_err(failure)?;
    if facts.permissions().mode() & 0o222 == 0 {
        return Err(left("is read-only").todo("chmod u+w, or --diff to see what would change"));
    }
    if facts.nlink() > 1 {
        return Err(left("has another name")
            .there("a hard link: a new file in its place would part the two")
            .todo("write to another file, or take one of the names away"));
    }
    let changed = Cell::new(false);
    let still = || {
        changed.set(fs::read(&target)? != old || fs::metadata(&target)?.ino() != facts.ino());
        if changed.get() {
            Err(io::Error::other("it changed"))
        } else {
            Ok(())
        }
    };
    sys::atomic::write_in_place_of(&target, new, &facts, still).map_err(|error| {
        let ours = fs::metadata("/proc/self").is_ok_and(|ours| ours.uid() == facts.uid());
        match error.kind() {
            _ if changed.get() => {
                left("was changed by another while it was read").todo("once more")
            }
            io::ErrorKind::PermissionDenied if !ours => left("belongs to another user")
                .there("a new file in its place would be yours")
                .todo("write to another file"),
            _ => failure(error),
        }
    })
}

/// Puts a text where there may be one already, which stays what it is as with [`write()`]: a link
/// to a file that is still missing makes that file.
pub fn replace(path: &Path, new: &[u8]) -> io::Result<Result<(), Failure>> {
    match fs::metadata(path) {
        Ok(facts) if facts.is_file() => Ok(write(path, &fs::read(path)?, new)),
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            fs::write(path, new).map(Ok)
        }
        _ => sys::atomic::write_named(path, new).map(Ok),
    }
}
