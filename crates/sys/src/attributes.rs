//! What a file has beside its bytes, owner and mode: access lists, labels, notes (xattr(7)).

use rustix::fs::{XattrFlags, flistxattr, fremovexattr, fsetxattr, getxattr, listxattr};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// The kernel's bound for a list of names and for a value (`XATTR_SIZE_MAX`).
const LONGEST: usize = 64 << 10;

/// Those that say who may do what, or that a person gave: a file that can't have them is another.
const NEEDED: [&[u8]; 2] = [b"system.", b"user."];

/// Gives a new file what the one at `from` has, and takes away what its folder gave it. Labels that
/// only the system may give are as the folder has them.
///
/// # Errors
/// What the system says where an access list or a person's note can't be given.
pub(crate) fn copy(from: &Path, to: &File) -> io::Result<()> {
    let mut buffer = vec![0; LONGEST];
    let length = none_where_unknown(listxattr(from, &mut buffer[..]))?;
    let wanted = names(&buffer[..length]);
    let length = none_where_unknown(flistxattr(to, &mut buffer[..]))?;
    let given = names(&buffer[..length]);
    for name in given.iter().filter(|name| !wanted.contains(name)) {
        settled(name, fremovexattr(to, &name[..]))?;
    }
    for name in &wanted {
        let length = getxattr(from, &name[..], &mut buffer[..])?;
        settled(
            name,
            fsetxattr(to, &name[..], &buffer[..length], XattrFlags::empty()),
        )?;
    }
    Ok(())
}

/// Names stand behind each other, each with a zero byte at its end.
fn names(list: &[u8]) -> Vec<Vec<u8>> {
    let names = list.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

fn none_where_unknown(length: rustix::io::Result<usize>) -> io::Result<usize> {
    match length {
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(0),
        length => Ok(length?),
    }
}

fn settled(name: &[u8], result: rustix::io::Result<()>) -> io::Result<()> {
    let needed = NEEDED.iter().any(|space| name.starts_with(space));
    match result {
        Err(error) if needed => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::setxattr;

    #[test]
    fn a_new_file_gets_what_the_old_one_has() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        let (_, file) = (File::create(&old).unwrap(), File::create(&new).unwrap());
        let set = |path: &Path, name: &str, value: &[u8]| {
            setxattr(path, name, value, XattrFlags::empty())
        };
        // A file system without them has nothing to lose.
        if set(&old, "user.note", b"keep").is_err() {
            return;
        }
        set(&new, "user.other", b"gone").unwrap();
        // Owner rw, user 1 r, group none, mask r, others none: version 2, then tag, rights and id.
        let mut list = vec![2, 0, 0, 0];
        for (tag, rights, id) in [
            (1_u16, 6_u16, u32::MAX),
            (2, 4, 1),
            (4, 0, u32::MAX),
            (16, 4, u32::MAX),
            (32, 0, u32::MAX),
        ] {
            list.extend(tag.to_le_bytes());
            list.extend(rights.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        let has_lists = set(&old, "system.posix_acl_access", &list).is_ok();
        copy(&old, &file).unwrap();
        let mut value = [0; 256];
        let length = getxattr(&new, "user.note", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"keep");
        assert_eq!(
            getxattr(&new, "user.other", &mut value[..]),
            Err(Errno::NODATA)
        );
        if has_lists {
            let length = getxattr(&new, "system.posix_acl_access", &mut value[..]).unwrap();
            assert_eq!(&value[..length], list);
        }
    }
}
