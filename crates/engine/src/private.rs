//! What an engine keeps to its owner, whatever the umask of whoever started it.

use api::EngineFolder;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use sys::private_folder::{self, PrivateFolderError};

/// Folders above an engine's that are made for it: `state/HOST/`.
const OWN_FOLDERS: usize = 2;

/// Makes the folder private, or says why it can't be; makes it where `may_make`. What this process makes from
/// now on is no other user's to write.
pub(crate) fn folder(path: &Path, may_make: bool) -> Result<(), PrivateFolderError> {
    sys::process::set_umask((sys::process::umask() | 0o022) & !0o700);
    if may_make {
        private_folder::make(path)?;
    } else {
        private_folder::close(path)?;
    }
    for above in path.ancestors().skip(1).take(OWN_FOLDERS) {
        // A file system without modes has none to take away.
        let _kept = private_folder::keep_names(above);
    }
    Ok(())
}

/// Makes the store private before it is opened: what SQLite writes beside it gets its mode.
pub(crate) fn files(folder: &EngineFolder) -> io::Result<()> {
    let store = folder.store();
    File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&store)?;
    for name in ["", "-wal", "-journal", "-shm"] {
        let mut path = store.as_os_str().to_owned();
        path.push(name);
        close(Path::new(&path))?;
    }
    close(&folder.log())
}

/// Takes away the rights of all but the owner.
fn close(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(facts) if facts.mode() & 0o077 != 0 => {
            std::fs::set_permissions(path, Permissions::from_mode(0o600))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What the owner should know of the folders above.
pub(crate) fn warning(path: &Path) -> Option<String> {
    let open = private_folder::replaceable(path)?;
    Some(format!(
        "every user can replace what lies in {}: `chmod o-w` it, or set TRAINYARD_HOME to a folder \
         that is yours",
        open.display()
    ))
}
