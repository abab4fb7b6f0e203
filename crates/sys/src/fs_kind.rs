//! Whether a folder lies on a disk of this machine or on the network.

use crate::env_vars;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The kind of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FsKind {
    /// A disk of this machine, or its memory.
    Local,
    /// Shared with other machines: locks and SQLite can't be trusted there. Its name, as `mount`
    /// says it.
    Network(String),
}

/// `statfs` magic numbers of network file systems (statfs(2); Lustre's, GPFS's and BeeGFS's are in
/// their own sources).
const NETWORK: &[(i64, &str)] = &[
    (0x6969, "nfs"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x517b, "smb"),
    (0x00c3_6400, "ceph"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "kafs"),
    (0x7375_7245, "coda"),
    (0x7461_636f, "ocfs2"),
    (0x0116_1970, "gfs2"),
    (0x2003_0528, "orangefs"),
    (0xaad7_aaea, "panfs"),
];

/// FUSE says nothing by its number; the mount table names the program.
const FUSE: i64 = 0x6573_5546;
/// FUSE file systems that lie on this machine's disks.
const LOCAL_FUSE: &[&str] = &[
    "fuseblk",
    "fuse.fuse-overlayfs",
    "fuse.squashfuse",
    "fuse.ntfs-3g",
    "fuse.lxcfs",
];

/// The kind of the file system at `path`, or at its nearest ancestor that is there.
///
/// # Errors
/// What the system says.
pub fn of(path: &Path) -> io::Result<FsKind> {
    let path = nearest(path)?;
    if let Some(kind) = pretended(&path) {
        return Ok(kind);
    }
    let magic = magic(&path)?;
    if magic == FUSE {
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        return Ok(match mount_type(&table, &path) {
            Some(kind) if LOCAL_FUSE.contains(&kind) => FsKind::Local,
            Some(kind) => FsKind::Network(kind.to_owned()),
            None => FsKind::Network("fuse".to_owned()),
        });
    }
    Ok(match NETWORK.iter().find(|(number, _)| *number == magic) {
        Some((_, name)) => FsKind::Network((*name).to_owned()),
        None => FsKind::Local,
    })
}

fn magic(path: &Path) -> io::Result<i64> {
    // The field's type differs between architectures; the number has 32 bits everywhere.
    let number = rustix::fs::statfs(path)?.f_type as i64;
    Ok(number & 0xffff_ffff)
}

fn nearest(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    loop {
        match std::fs::canonicalize(&path) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !path.pop() {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn pretended(path: &Path) -> Option<FsKind> {
    let hook = std::env::var(env_vars::TRAINYARD_TEST_FS).ok()?;
    let (kind, prefix) = hook.split_once(':')?;
    let prefix = std::fs::canonicalize(prefix).unwrap_or_else(|_| PathBuf::from(prefix));
    path.starts_with(prefix).then(|| match kind {
        "local" => FsKind::Local,
        kind => FsKind::Network(kind.to_owned()),
    })
}

/// The type of the mount that holds `path`: the longest mount point that is a prefix, the last of
/// equal ones (a later mount covers an earlier).
fn mount_type<'a>(table: &'a str, path: &Path) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for line in table.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let (Some(point), Some(kind)) = (left.split(' ').nth(4), right.split(' ').next()) else {
            continue;
        };
        let point = point.replace("\\040", " ");
        let length = point.len();
        if path.starts_with(Path::new(std::ffi::OsStr::from_bytes(point.as_bytes())))
            && best.is_none_or(|(longest, _)| length >= longest)
        {
            best = Some((length, kind));
        }
    }
    best.map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_mount_point_wins() {
        let table = "22 1 8:1 / / rw - ext4 /dev/sda rw\n\
                     30 22 0:5 / /home/a\\040b rw shared:1 - fuse.sshfs x rw\n";
        assert_eq!(
            mount_type(table, Path::new("/home/a b/c")),
            Some("fuse.sshfs")
        );
        assert_eq!(mount_type(table, Path::new("/home/a")), Some("ext4"));
    }

    #[test]
    fn a_folder_not_made_yet_has_its_ancestors_kind() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            of(&folder.path().join("a/b/c")).unwrap(),
            of(folder.path()).unwrap()
        );
    }
}
