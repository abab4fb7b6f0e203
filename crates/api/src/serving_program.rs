//! The program of the engine that serves a folder, as it leaves its name there: a program of an older
//! protocol, such as a job's that began before an upgrade, has to go on as that one to be answered.
//!
//! The name is a link in the folder of pinned programs, so that a command that is no older finds that
//! out by one call of the system.

use crate::reach_engine::greet;
use crate::{EngineFolder, PROTOCOL, VERSION};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// The name of the folder of a pinned program of this version: `0.1.0-20-5e0c6f2b1d3a`.
#[must_use]
pub fn pinned_name(hash: &str) -> String {
    format!("{VERSION}-{PROTOCOL}-{hash}")
}

/// The protocol of the program in a folder of such a name; earlier ones had none in it.
fn protocol_of(name: &str) -> Option<u32> {
    let mut parts = name.rsplitn(3, '-');
    let (_hash, protocol, _version) = (parts.next()?, parts.next()?, parts.next()?);
    protocol.parse().ok()
}

/// Leaves the name of a pinned program as the one that serves the folder.
///
/// # Errors
/// What the system says.
pub fn leave_serving_program(folder: &EngineFolder, pinned: &Path) -> io::Result<()> {
    let name = pinned.parent().and_then(Path::file_name);
    let name = name.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let link = folder.serving_program();
    let beside = link.with_extension(sys::unique());
    symlink(name, &beside)?;
    fs::rename(&beside, &link)
}

/// The program that last served the folder, where it speaks a newer protocol than this one and may be
/// executed by this user: it is its own or root's, as is the engine's folder.
#[must_use]
pub fn newer_program(folder: &EngineFolder) -> Option<PathBuf> {
    newer_than(PROTOCOL, folder).map(|(program, _)| program)
}

/// The program of the engine that answers in the folder, under the conditions of [`newer_program`].
#[must_use]
pub fn program_of_newer_engine(folder: &EngineFolder) -> Option<PathBuf> {
    let (program, owner) = newer_than(PROTOCOL, folder)?;
    let (stream, engine) = greet(folder, false).ok()?;
    // The link may be left of an engine in whose place an older one came.
    let is_its = engine.protocol > PROTOCOL && sys::socket::peer_uid(&stream).ok()? == owner;
    is_its.then_some(program)
}

/// The program, and whose it is.
fn newer_than(protocol: u32, folder: &EngineFolder) -> Option<(PathBuf, u32)> {
    let name = fs::read_link(folder.serving_program()).ok()?;
    let name = name.to_str().filter(|name| !name.contains('/'))?;
    if protocol_of(name)? <= protocol {
        return None;
    }
    let place = folder.bin().join(name);
    let program = place.join("yard");
    // What a stranger may write, or leads elsewhere by a link of its own, is not executed.
    let owner = fs::metadata(folder.root()).ok()?.uid();
    let is_ours = owner == sys::process::user() || owner == 0;
    let is_closed = [folder.bin(), place, program.clone()].iter().all(|path| {
        fs::symlink_metadata(path).is_ok_and(|facts| {
            !facts.is_symlink() && facts.uid() == owner && facts.mode() & 0o022 == 0
        })
    });
    (is_ours && is_closed).then_some((program, owner))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]

    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    /// A folder whose engine's program speaks that protocol; nothing answers there.
    fn served(place: &Path, protocol: u32) -> EngineFolder {
        let folder = EngineFolder::new(place);
        let program = folder.bin().join(format!("0.1.0-rc-1-{protocol}-abc/yard"));
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        for path in [&folder.bin(), program.parent().unwrap(), &program] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        leave_serving_program(&folder, &program).unwrap();
        folder
    }

    #[test]
    fn only_a_newer_program_is_gone_on_as() {
        let place = tempfile::tempdir().unwrap();
        let folder = served(place.path(), 7);
        let program = folder.bin().join("0.1.0-rc-1-7-abc/yard");
        let found = |protocol| newer_than(protocol, &folder).map(|(program, _)| program);
        assert_eq!(found(6), Some(program));
        assert_eq!(found(7), None);
        // The next engine is of an older one again, and then of one that had no protocol in its name.
        served(place.path(), 5);
        assert_eq!(found(6), None);
        let former = folder.bin().join("0.1.0-abc/yard");
        leave_serving_program(&folder, &former).unwrap();
        assert_eq!(found(6), None);
    }

    #[test]
    fn a_program_that_others_may_write_is_not_gone_on_as() {
        let place = tempfile::tempdir().unwrap();
        let folder = served(place.path(), 7);
        let program = folder.bin().join("0.1.0-rc-1-7-abc/yard");
        for path in [folder.bin(), program.clone()] {
            fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
            assert_eq!(newer_than(6, &folder), None, "{}", path.display());
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        assert!(newer_than(6, &folder).is_some());
        fs::rename(&program, program.with_file_name("other")).unwrap();
        symlink("other", &program).unwrap();
        assert_eq!(newer_than(6, &folder), None);
    }

    #[test]
    fn a_strangers_program_is_not_gone_on_as() {
        let place = tempfile::tempdir().unwrap();
        let folder = served(place.path(), 7);
        let program = folder.bin().join("0.1.0-rc-1-7-abc/yard");
        // Only root can give a file away.
        if chown(&program, Some(65534), None).is_ok() {
            assert_eq!(newer_than(6, &folder), None);
            for path in [folder.root(), &folder.bin(), program.parent().unwrap()] {
                chown(path, Some(65534), None).unwrap();
            }
            assert_eq!(newer_than(6, &folder), None);
        }
    }
}
