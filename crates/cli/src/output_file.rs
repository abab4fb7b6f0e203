//! Writing files that a person names.

use crate::exit_code;
use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Puts another text into a file that holds `old`: behind a link into the file that is meant, and
/// who owns it, who may do what with it and its other names stay. A file that nobody may write stays
/// as it is.
pub fn write(path: &Path, old: &[u8], new: &[u8]) -> Result<(), Failure> {
    let trouble = |error: io::Error| {
        Failure::new(
            exit_code::IO,
            format!("{} can't be written: {error}", path.display()),
        )
        .there("it is as it was")
    };
    let facts = fs::metadata(path).map_err(trouble)?;
    if facts.permissions().mode() & 0o222 == 0 {
        return Err(Failure::new(
            exit_code::IO,
            format!("{} is read-only and is not changed", path.display()),
        )
        .todo("chmod u+w, or --diff to see what would change"));
    }
    let written = match is_replaceable(path, &facts) {
        true => sys::atomic::write_named(path, new),
        false => write_into(path, old, new),
    };
    written.map_err(trouble)
}

/// Whether a new file in its place would be the same to everybody: it has no other name, and a file
/// of ours would have its owner and group.
fn is_replaceable(path: &Path, facts: &fs::Metadata) -> bool {
    let folder = path.canonicalize().ok();
    let folder = folder.as_deref().and_then(Path::parent);
    let inherits = folder
        .and_then(|folder| fs::metadata(folder).ok())
        .is_none_or(|folder| folder.mode() & 0o2000 != 0);
    let ours = fs::metadata("/proc/self")
        .is_ok_and(|ours| (ours.uid(), ours.gid()) == (facts.uid(), facts.gid()));
    facts.nlink() == 1 && ours && !inherits
}

/// Writes over what a file holds; what was there comes back when that fails.
fn write_into(path: &Path, old: &[u8], new: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    let mut fill = |bytes: &[u8]| {
        file.rewind()?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    };
    fill(new).inspect_err(|_| {
        let _ = fill(old);
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
