//! What files of this machine hold, for the keys of what is made of them: an image whose recipe copies them, an
//! environment with a package that lies in a folder.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Of a longer file its size and the time of its last change count instead of what it holds.
const READ: u64 = 1 << 20;
/// So many files of one folder count; what comes after them doesn't.
const MOST: usize = 50_000;

/// What changes without anyone's doing: other files are the same then.
const LEFT_OUT: [&str; 2] = [".git", "__pycache__"];

/// Which of the paths below a folder are left out, and whether each is a folder.
pub type LeftOut<'a> = &'a dyn Fn(&Path, bool) -> bool;

/// Whether a file or folder of this name never counts.
pub fn is_never_counted(name: &OsStr) -> bool {
    LEFT_OUT.iter().any(|never| *never == name)
}

/// Adds a file, or all that is in a folder, to a key. A missing file is another than an empty one.
pub fn add(hasher: &mut blake3::Hasher, path: &Path, is_left_out: LeftOut<'_>) {
    let mut left = MOST;
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => {
            folder(hasher, path, Path::new(""), is_left_out, &mut left);
        }
        Ok(facts) => file(hasher, path, &facts),
        Err(_) => part(hasher, b"not there"),
    }
}

fn folder(
    hasher: &mut blake3::Hasher,
    root: &Path,
    below: &Path,
    is_left_out: LeftOut<'_>,
    left: &mut usize,
) {
    let entries = fs::read_dir(root.join(below))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let below = below.join(&name);
        let path = root.join(&below);
        let facts = fs::symlink_metadata(&path);
        let is_folder = facts.as_ref().is_ok_and(Metadata::is_dir);
        if is_never_counted(&name) || is_left_out(&below, is_folder) {
            continue;
        }
        if *left == 0 {
            return;
        }
        *left -= 1;
        part(hasher, name.as_bytes());
        match facts {
            Ok(facts) if facts.is_dir() => {
                part(hasher, b"folder");
                folder(hasher, root, &below, is_left_out, left);
                part(hasher, b"its end");
            }
            Ok(facts) if facts.is_symlink() => {
                let target = fs::read_link(&path).unwrap_or_default();
                part(hasher, target.as_os_str().as_bytes());
            }
            Ok(facts) => file(hasher, &path, &facts),
            Err(_) => part(hasher, b"not there"),
        }
    }
}

fn file(hasher: &mut blake3::Hasher, path: &Path, facts: &Metadata) {
    part(hasher, &facts.len().to_le_bytes());
    // A program that becomes executable is another one.
    part(hasher, &[u8::from(facts.mode() & 0o100 != 0)]);
    if facts.is_file() && facts.len() <= READ {
        let mut bytes = Vec::new();
        // What can't be read fails where it is copied.
        let read = fs::File::open(path).and_then(|file| file.take(READ).read_to_end(&mut bytes));
        part(hasher, if read.is_ok() { &bytes } else { b"unreadable" });
    } else {
        part(hasher, &facts.mtime().to_le_bytes());
        part(hasher, &facts.mtime_nsec().to_le_bytes());
    }
}

/// With its length, so that two parts are never taken for one.
fn part(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn key(path: &Path) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        add(&mut hasher, path, &|path, _| path == Path::new("build"));
        hasher.finalize()
    }

    #[test]
    fn what_makes_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, bytes: &[u8]| {
            let path: PathBuf = at(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        let root = folder.path().to_owned();
        let mut last = key(&at("a"));
        write("a", b"one");
        let mut check = |path: &Path, changes: bool| {
            let now = key(path);
            assert_eq!(now != last, changes, "{path:?}");
            last = now;
        };
        check(&at("a"), true);
        check(&root, true);
        write("a", b"two");
        check(&root, true);
        write("deep/er/b", b"");
        check(&root, true);
        for left_out in [".git/HEAD", "build/x", "deep/__pycache__/m.pyc"] {
            write(left_out, b"changed");
            check(&root, false);
        }
        // Only what lies directly in the folder is left out by its caller.
        write("deep/build/x", b"");
        check(&root, true);
        fs::remove_file(at("deep/er/b")).unwrap();
        check(&root, true);
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        check(&root, true);
        // A long one is not read: it changes with its time.
        write("long", &vec![0; 2 << 20]);
        check(&root, true);
        check(&root, false);
        let long = fs::File::options().write(true).open(at("long")).unwrap();
        long.set_modified(std::time::UNIX_EPOCH).unwrap();
        check(&root, true);
    }
}
