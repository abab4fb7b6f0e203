//! Where other users' `srun`s listen: in the engine's folder, so that a supervisor reaches those that run on
//! an isolated node, which has a `/tmp` of its own.

use api::EngineFolder;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};

/// Makes that of a user, where it is missing and this process may.
pub(crate) fn make(folder: &EngineFolder, uid: u32, gid: u32) {
    if sys::process::user() != 0 || uid == 0 {
        return;
    }
    if let Err(error) = try_make(folder, uid, gid) {
        tracing::warn!(uid, "no folder for the user's srun: {error}");
    }
}

fn try_make(folder: &EngineFolder, uid: u32, gid: u32) -> io::Result<()> {
    let own = folder.srun_of(uid);
    // One of another owner was not given away before its maker was killed.
    if fs::symlink_metadata(&own).is_ok_and(|facts| facts.uid() == uid) {
        return Ok(());
    }
    let all = folder.srun_of_users();
    DirBuilder::new().recursive(true).mode(0o711).create(&all)?;
    // Whatever the umask.
    fs::set_permissions(&all, Permissions::from_mode(0o711))?;
    // Nobody else writes in the folder above: what is made under this name is what is given away.
    match DirBuilder::new().mode(0o700).create(&own) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    std::os::unix::fs::lchown(&own, Some(uid), Some(gid))
}
