//! The binary that a run's nodes execute: a copy on the run's own storage, so that a run that comes
//! back tomorrow still finds the program that it began with.

use crate::failure::{Failure, FailureKind, unusable as at};
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
    let own = own_folder(scratch)?;
    let place = own.join(name);
    let pinned = place.join("yard");
    make(&place).map_err(at(&place))?;
    refuse_if_others_write(&place)?;
    if pinned.symlink_metadata().is_ok() {
        refuse_if_others_write(&pinned)?;
        return Ok(pinned);
    }
    let beside = place.join(format!("yard.{}", sys::unique()));
    let copied = sys::copy::file(&program, &beside)
        .and_then(|_bytes| fs::set_permissions(&beside, PermissionsExt::from_mode(0o755)))
        .and_then(|()| publish(&beside, &pinned));
    // Gone where it was renamed.
    let _ = fs::remove_file(&beside);
    copied.map_err(at(&pinned))?;
    Ok(pinned)
}

/// Whoever could write here could replace what the jobs run.
fn make(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(folder)
}

/// The folder of this user's copies. Where `scratch` is shared the first user has the short name.
fn own_folder(scratch: &Path) -> Result<PathBuf, Failure> {
    let me = sys::process::user();
    let shared = scratch.join(".yard");
    make(&shared).map_err(at(&shared))?;
    let facts = fs::symlink_metadata(&shared).map_err(at(&shared))?;
    let own = if facts.uid() == me {
        shared
    } else {
        scratch.join(format!(".yard-{me}"))
    };
    make(&own).map_err(at(&own))?;
    // Folders further up are a matter of the site's.
    if sys::private_folder::replaceable(scratch).as_deref() == Some(scratch) {
        return Err(refused(
            scratch,
            "every user of this machine can replace what lies there",
        ));
    }
    refuse_if_others_write(&own)?;
    Ok(own)
}

/// A program that another user can change is not run.
fn refuse_if_others_write(path: &Path) -> Result<(), Failure> {
    let facts = fs::symlink_metadata(path).map_err(at(path))?;
    if facts.is_symlink() {
        return Err(refused(path, "it is a link"));
    }
    if facts.uid() != sys::process::user() {
        return Err(refused(path, &format!("it is of user {}", facts.uid())));
    }
    // It is made without these.
    if facts.mode() & 0o022 != 0 {
        return Err(refused(path, "other users can write there"));
    }
    Ok(())
}

fn refused(path: &Path, there: &str) -> Failure {
    Failure::new(
        FailureKind::Io,
        format!("{} can't hold the program that jobs run", path.display()),
    )
    .there(there)
    .todo("remove it, close it to others (chmod go-w), or set TRAINYARD_HOME to a folder of yours")
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
    fn a_program_that_another_user_can_change_is_not_run() {
        let root = tempfile::tempdir().unwrap();
        let scratch = root.path().join("scratch");
        let pinned = pin_program(&scratch).unwrap();
        assert_eq!(pin_program(&scratch).unwrap(), pinned);
        let place = pinned.parent().unwrap().to_owned();
        let mode = |path: &Path, mode: u32| {
            fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        let check = |open: &Path, closed: u32, opened: u32| {
            mode(open, opened);
            let said = pin_program(&scratch).unwrap_err().line();
            assert!(said.contains(&open.display().to_string()), "{said}");
            mode(open, closed);
            pin_program(&scratch).unwrap();
        };
        check(&pinned, 0o755, 0o777);
        check(&place, 0o755, 0o757);
        check(&scratch, 0o755, 0o777);
        mode(&scratch, 0o1777);
        pin_program(&scratch).unwrap();
        let planted = root.path().join("planted");
        fs::rename(&pinned, &planted).unwrap();
        std::os::unix::fs::symlink(&planted, &pinned).unwrap();
        assert!(pin_program(&scratch).is_err());
    }

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
