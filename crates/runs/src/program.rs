//! The binary that a run's nodes execute: a copy on the run's own storage, so that a run that comes
//! back tomorrow still finds the program that it began with.

use crate::failure::{Failure, unusable as at};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Copies this program below `scratch`, once a version of its file, and returns the copy's path.
///
/// # Errors
/// The copy can't be made.
pub fn pin_program(scratch: &Path) -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().map_err(at(Path::new("/proc/self/exe")))?;
    let facts = fs::metadata(&program).map_err(at(&program))?;
    // Size and time of change tell one build from another; reading megabytes would tell no more.
    let name = format!(
        "{}-{:x}-{:x}",
        env!("CARGO_PKG_VERSION"),
        facts.size(),
        facts.mtime_nsec() ^ (facts.mtime() << 30)
    );
    let place = scratch.join(".yard").join(name);
    let pinned = place.join("yard");
    if pinned.exists() {
        return Ok(pinned);
    }
    // Whoever could write here could replace what the jobs run.
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(&place)
        .map_err(at(&place))?;
    let beside = place.join(format!("yard.{}", sys::unique()));
    let copied = sys::copy::file(&program, &beside)
        .and_then(|_bytes| fs::set_permissions(&beside, PermissionsExt::from_mode(0o755)))
        .and_then(|()| publish(&beside, &pinned));
    // Gone where it was renamed.
    let _ = fs::remove_file(&beside);
    copied.map_err(at(&pinned))?;
    Ok(pinned)
}

/// Gives the copy its name, unless another client was quicker: jobs may run from that one already,
/// and would find no program at their own path any more.
fn publish(copy: &Path, pinned: &Path) -> std::io::Result<()> {
    match fs::hard_link(copy, pinned) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // Some file systems know no second name.
        Err(_) => fs::rename(copy, pinned),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_pinned_already_stays_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let pinned = folder.path().join("yard");
        for copy in [&first, &second] {
            fs::write(copy, "program").unwrap();
            publish(copy, &pinned).unwrap();
        }
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        assert_eq!(inode(&pinned), inode(&first));
    }
}
