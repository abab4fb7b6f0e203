//! Folders that stay seen below one that a view replaces by a folder where another user writes.
//!
//! Neither side can be trusted: what the user names is opened with that user's rights, so that it leads
//! nowhere that the user could not go, and is attached without following a link, so that it hides nothing
//! but a folder of the user's.

use crate::process::{User, as_user};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How many a view can have.
const MOST: usize = 32;
/// How they are opened.
const FOLDER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Those of one view.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptFolders {
    /// With whose rights they are opened; none are this process's.
    user: Option<User>,
    groups: Vec<Gid>,
    /// Where they are, and stay seen.
    paths: Vec<CString>,
}

/// Mounts that are attached nowhere yet, in the order of the paths; none where there is no such folder.
pub(super) struct Detached([Option<OwnedFd>; MOST]);

impl KeptFolders {
    pub(super) fn opened_by(user: Option<&User>) -> KeptFolders {
        KeptFolders {
            user: user.cloned(),
            groups: user.map_or_else(Vec::new, |user| {
                user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect()
            }),
            paths: Vec::new(),
        }
    }

    /// Keeps the folder `name` of `target`, if there is one, seen in `source`, where a folder for it is made.
    ///
    /// # Errors
    /// Something else has its name in `source`; there are too many; what the system says.
    pub(super) fn add(&mut self, name: &OsStr, target: &Path, source: &Path) -> io::Result<()> {
        let path = target.join(name);
        let user = self.user.as_ref();
        if !as_user(user, || is_folder(&path))? {
            return Ok(());
        }
        if self.paths.len() == MOST {
            return Err(io::Error::other(format!(
                "more than {MOST} folders are to stay seen"
            )));
        }
        // The folders above are closed to the user.
        let folder = rustix::fs::open(source, FOLDER, Mode::empty())?;
        match as_user(user, || rustix::fs::mkdirat(&folder, name, Mode::RWXU))? {
            Err(Errno::EXIST) if is_folder(&source.join(name)) => {}
            Err(Errno::EXIST) => {
                let why = format!("{} on the node is not a folder", path.display());
                return Err(io::Error::other(why));
            }
            made => made?,
        }
        self.paths.push(CString::new(path.as_os_str().as_bytes())?);
        Ok(())
    }

    /// Takes hold of the folders before they are hidden. Makes system calls alone: it runs in a child that
    /// shares its parent's memory.
    pub(super) fn detach(&self) -> Result<Detached, Errno> {
        let mut found = [const { None }; MOST];
        let own = (geteuid(), getegid());
        if let Some(user) = &self.user {
            set_thread_groups(&self.groups)?;
            set_thread_res_gid(None, Gid::from_raw(user.gid), None)?;
            set_thread_res_uid(None, Uid::from_raw(user.uid), None)?;
        }
        for (found, path) in found.iter_mut().zip(&self.paths) {
            *found = rustix::fs::open(path.as_c_str(), FOLDER, Mode::empty()).ok();
        }
        if self.user.is_some() {
            // The groups stay the user's, who the process becomes soon.
            set_thread_res_uid(None, own.0, None)?;
            set_thread_res_gid(None, own.1, None)?;
        }
        // With what is mounted below, such as a working folder's own disk.
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::AT_RECURSIVE;
        for found in found.iter_mut() {
            if let Some(folder) = found.take() {
                *found = Some(open_tree(&folder, c"", flags)?);
            }
        }
        Ok(Detached(found))
    }

    /// Shows the folders where they were; makes system calls alone.
    pub(super) fn attach(&self, detached: &Detached) -> Result<(), Errno> {
        let found = detached.0.iter().zip(&self.paths);
        for (tree, path) in found.filter_map(|(tree, path)| Some((tree.as_ref()?, path))) {
            // Without MOVE_MOUNT_T_SYMLINKS a link in the folder's place is not followed.
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            move_mount(tree, c"", CWD, path.as_c_str(), flags)?;
        }
        Ok(())
    }
}

/// Takes hold of a folder and lets it go.
pub(super) fn try_to_detach() -> io::Result<()> {
    open_tree(
        CWD,
        c"/",
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC,
    )?;
    Ok(())
}

/// A link is none.
fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}
