//! Doing something with another user's rights, and no more than those.

use super::User;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::io;

/// Does `work` with the rights of `user`, then has its own back. This thread alone changes: threads
/// that it starts meanwhile keep the user's rights. Without a user `work` is done as it is.
///
/// The real and the saved user stay, so the user can send this process no signals.
///
/// # Errors
/// This process may not become the user.
pub fn as_user<T>(user: Option<&User>, work: impl FnOnce() -> T) -> io::Result<T> {
    let Some(user) = user else {
        return Ok(work());
    };
    let own_groups = rustix::process::getgroups()?;
    let own = Own {
        uid: rustix::process::geteuid(),
        gid: rustix::process::getegid(),
        groups: own_groups,
    };
    let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    // From here on the rights come back however this ends.
    let own = Restored(own);
    set_thread_groups(&groups)?;
    set_thread_res_gid(None, Gid::from_raw(user.gid), None)?;
    set_thread_res_uid(None, Uid::from_raw(user.uid), None)?;
    let done = work();
    drop(own);
    Ok(done)
}

struct Own {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

struct Restored(Own);

impl Drop for Restored {
    fn drop(&mut self) {
        let Own { uid, gid, groups } = &self.0;
        let restored = set_thread_res_uid(None, *uid, None)
            .and_then(|()| set_thread_res_gid(None, *gid, None))
            .and_then(|()| set_thread_groups(groups));
        if restored.is_err() {
            // The saved user is our own, so this can't be; with another's rights nothing may go on.
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn files_are_the_user_s_and_closed_folders_stay_closed() {
        if super::super::user() != 0 {
            let text = "skipped: only root can become another user\n";
            io::Write::write_all(&mut io::stderr(), text.as_bytes()).unwrap();
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let user = User {
            uid: 65_534,
            gid: 65_534,
            groups: vec![65_534],
        };
        let (open, closed) = (folder.path().join("open"), folder.path().join("closed"));
        for (path, mode) in [(folder.path(), 0o755), (&open, 0o777), (&closed, 0o700)] {
            std::fs::create_dir_all(path).unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let write = |path| as_user(Some(&user), || std::fs::write(path, "x")).unwrap();
        write(open.join("file")).unwrap();
        let facts = open.join("file").metadata().unwrap();
        assert_eq!((facts.uid(), facts.gid()), (65_534, 65_534));
        let error = write(closed.join("file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        // Its own rights are back.
        std::fs::write(closed.join("file"), "x").unwrap();
        assert_eq!(super::super::user(), 0);
    }
}
