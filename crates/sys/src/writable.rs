//! Whether this thread may use a folder.

use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::path::Path;

/// Whether files can be made and found in a folder with the rights that this thread has now.
#[must_use]
pub fn may_write_in(folder: &Path) -> bool {
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, folder, rights, AtFlags::EACCESS).is_ok()
}
