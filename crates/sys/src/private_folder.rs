//! Folders that are one user's alone.

use rustix::fs::{Mode, OFlags};
use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How many names are tried where other users have taken the first ones.
const NAMES: u32 = 100;

/// Why a folder is not private.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFolderError {
    /// Another user's, or no folder at all.
    #[error("{} {problem}", path.display())]
    NotOurs {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// What the system says.
    #[error("{}: {source}", path.display())]
    System {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Makes the folder, and what is missing above it, for this user alone. One that is there is
/// closed to others; a link is not followed.
///
/// # Errors
/// It belongs to another user, is no folder, or can't be made.
pub fn make(path: &Path) -> Result<(), PrivateFolderError> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            let path = path.to_owned();
            Err(PrivateFolderError::System { path, source })
        }
        _ => close(path),
    }
}

/// Closes a folder that is there to others; a link is not followed.
///
/// # Errors
/// It belongs to another user, is no folder, or is not there.
pub fn close(path: &Path) -> Result<(), PrivateFolderError> {
    let system = |source: io::Error| PrivateFolderError::System {
        path: path.to_owned(),
        source,
    };
    let flags =
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let folder = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(folder) => File::from(folder),
        // A link or a file in its place, or a folder that another user has closed.
        Err(error) => {
            let facts = std::fs::symlink_metadata(path).map_err(system)?;
            return Err(not_ours(path, &facts).unwrap_or_else(|| system(error.into())));
        }
    };
    let facts = folder.metadata().map_err(system)?;
    if let Some(error) = not_ours(path, &facts) {
        return Err(error);
    }
    if facts.mode() & 0o077 != 0 {
        let mode = PermissionsExt::from_mode(facts.mode() & 0o7700);
        folder.set_permissions(mode).map_err(system)?;
    }
    Ok(())
}

/// The folder `name` in `parent`, where every user may write, or one with a number after that name
/// where another user took it. The same for every process of this user: one that is there is
/// preferred, so that a name which is given back later is not taken instead.
#[must_use]
pub fn of_user(parent: &Path, name: &str) -> PathBuf {
    let names = (0..NAMES).map(|number| match number {
        0 => parent.join(name),
        number => parent.join(format!("{name}.{number}")),
    });
    let mut free = None;
    for path in names {
        match std::fs::symlink_metadata(&path) {
            Ok(facts) if not_ours(&path, &facts).is_none() => return path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Names are taken in order: behind a free one there is none of ours, unless it was
                // given back.
                if free.is_some() {
                    break;
                }
                free = Some(path);
            }
            _ => {}
        }
    }
    free.unwrap_or_else(|| parent.join(name))
}

/// Takes from others the right to replace what lies in `folder`, if it is this user's own. One with
/// the sticky bit, like `/tmp`, stays as it is.
///
/// # Errors
/// What the system says.
pub fn keep_names(folder: &Path) -> io::Result<()> {
    let facts = std::fs::metadata(folder)?;
    if is_replaceable(&facts) && facts.uid() == crate::process::user() {
        let mode = PermissionsExt::from_mode(facts.mode() & 0o7775);
        std::fs::set_permissions(folder, mode)?;
    }
    Ok(())
}

/// The first folder from `path` upwards in which every user can replace what lies there.
#[must_use]
pub fn replaceable(path: &Path) -> Option<PathBuf> {
    let is_open = |folder: &&Path| std::fs::metadata(folder).is_ok_and(|it| is_replaceable(&it));
    path.ancestors().find(is_open).map(Path::to_owned)
}

/// With the sticky bit everybody may add names but not replace those of others.
fn is_replaceable(facts: &Metadata) -> bool {
    facts.mode() & 0o002 != 0 && facts.mode() & 0o1000 == 0
}

fn not_ours(path: &Path, facts: &Metadata) -> Option<PrivateFolderError> {
    let problem = if !facts.is_dir() {
        "is not a folder".to_owned()
    } else if facts.uid() != crate::process::user() {
        format!("belongs to user {}", facts.uid())
    } else {
        return None;
    };
    Some(PrivateFolderError::NotOurs {
        path: path.to_owned(),
        problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn made_or_closed_to_others() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        make(&path).unwrap();
        assert_eq!((mode(&root.path().join("a")), mode(&path)), (0o700, 0o700));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        make(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn links_and_files_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let (file, link) = (root.path().join("file"), root.path().join("link"));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(root.path(), &link).unwrap();
        for path in [file, link] {
            let error = make(&path).unwrap_err().to_string();
            assert!(error.ends_with("is not a folder"), "{error}");
        }
    }

    #[test]
    fn a_name_that_another_took_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let name = |suffix: &str| root.path().join(format!("trainyard-7{suffix}"));
        assert_eq!(of_user(root.path(), "trainyard-7"), name(""));
        // A file stands for another user's folder, which only root could make here.
        std::fs::write(name(""), "").unwrap();
        assert_eq!(of_user(root.path(), "trainyard-7"), name(".1"));
        make(&name(".1")).unwrap();
        // The name is free again: what is there stays in use.
        std::fs::remove_file(name("")).unwrap();
        assert_eq!(of_user(root.path(), "trainyard-7"), name(".1"));
    }

    #[test]
    fn folders_where_anyone_replaces_names_are_found() {
        let root = tempfile::tempdir().unwrap();
        let (open, inner) = (root.path().join("open"), root.path().join("open/inner"));
        make(&inner).unwrap();
        assert_eq!(replaceable(&inner), None);
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(replaceable(&inner), Some(open.clone()));
        keep_names(&open).unwrap();
        assert_eq!((replaceable(&inner), mode(&open)), (None, 0o775));
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o1777)).unwrap();
        keep_names(&open).unwrap();
        assert_eq!((replaceable(&inner), mode(&open)), (None, 0o1777));
    }
}
