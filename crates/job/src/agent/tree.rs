//! What an entry of `{checkpoints}` consists of: files, links, empty folders, and what can't be
//! kept.

use folder::LinkInside;
use model::{Timestamp, one_line};
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// The parts of an entry, each with its place below it.
#[derive(Debug, Default)]
pub struct Tree {
    /// Its files, by place; a single file has the empty place. A link that leads out of the entry
    /// to a file on the same disk counts as that file: the disk is not there next time.
    pub files: Vec<(PathBuf, Metadata)>,
    /// Its other links, by place.
    pub links: Vec<LinkInside>,
    /// Its folders that hold nothing, by place.
    pub folders: Vec<PathBuf>,
    /// What can't be kept, in words.
    pub left_out: Vec<String>,
    /// What is kept in another way than it stands, in words.
    pub said: Vec<String>,
}

/// What there is that has no contents to keep.
fn odd_kind(kind: FileType) -> Option<&'static str> {
    if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_block_device() || kind.is_char_device() {
        Some("a device")
    } else {
        None
    }
}

/// Walks an entry: a file, a folder, or a link to one.
///
/// # Errors
/// It is neither; what the system says.
pub fn tree(path: &Path) -> io::Result<Tree> {
    let mut tree = Tree::default();
    let facts = fs::metadata(path)?;
    if let Some(what) = odd_kind(facts.file_type()) {
        return Err(io::Error::other(format!("it is {what}")));
    }
    if !facts.is_dir() {
        tree.files.push((PathBuf::new(), facts));
        return Ok(tree);
    }
    let disk = facts.dev();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let mut empty = true;
        for entry in fs::read_dir(path.join(&folder))? {
            let entry = entry?;
            empty = false;
            let place = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if entry.file_name().to_str().is_none() {
                tree.left_out
                    .push(format!("{} has a name that is not UTF-8", shown(&place)));
            } else if kind.is_dir() {
                folders.push(place);
            } else if kind.is_symlink() {
                tree.add_link(path, place, disk)?;
            } else if let Some(what) = odd_kind(kind) {
                tree.left_out.push(format!("{} is {what}", shown(&place)));
            } else {
                tree.files.push((place, entry.metadata()?));
            }
        }
        if empty {
            tree.folders.push(folder);
        }
    }
    tree.files.sort_by(|a, b| a.0.cmp(&b.0));
    tree.links.sort_by(|a, b| a.path.cmp(&b.path));
    tree.folders.sort();
    Ok(tree)
}

impl Tree {
    /// When the last of its files was written.
    #[must_use]
    pub fn written(&self) -> Option<Timestamp> {
        let millis = |facts: &Metadata| facts.mtime() * 1000 + facts.mtime_nsec() / 1_000_000;
        let times = self.files.iter().map(|(_, facts)| millis(facts));
        times.max().map(Timestamp)
    }

    fn add_link(&mut self, root: &Path, place: PathBuf, disk: u64) -> io::Result<()> {
        let target = fs::read_link(root.join(&place))?;
        let shown = format!("{} -> {}", shown(&place), shown(&target));
        let is_text = target.to_str().is_some();
        match fs::metadata(root.join(&place)) {
            _ if stays_within(&place, &target) && is_text => {}
            Ok(facts) if facts.is_file() && facts.dev() == disk => {
                self.said
                    .push(format!("{shown} leads out of it and is kept as a file"));
                self.files.push((place, facts));
                return Ok(());
            }
            Ok(facts) if facts.dev() != disk && is_text => {
                self.said
                    .push(format!("{shown} leads out of it and is kept as a link"));
            }
            Ok(_) | Err(_) => {
                self.left_out.push(format!("{shown} leads out of it"));
                return Ok(());
            }
        }
        let path = place;
        self.links.push(LinkInside { path, target });
        Ok(())
    }
}

/// A path for a sentence, which is one line.
fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy()).into_owned()
}

/// Whether a link at `place` says something that is true of every copy of the entry.
pub fn stays_within(place: &Path, target: &Path) -> bool {
    let mut depth = place.components().count() - 1;
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// Makes the links and the empty folders of an entry below `root`.
///
/// # Errors
/// What the system says.
pub fn make_rest(root: &Path, links: &[LinkInside], folders: &[PathBuf]) -> io::Result<()> {
    for folder in folders {
        fs::create_dir_all(root.join(folder))?;
    }
    for link in links {
        let at = root.join(&link.path);
        if let Some(folder) = at.parent() {
            fs::create_dir_all(folder)?;
        }
        match std::os::unix::fs::symlink(&link.target, &at) {
            // Two nodes may bring the same one.
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && fs::read_link(&at).is_ok_and(|there| there == link.target) => {}
            made => made?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    #[track_caller]
    fn check_within(place: &str, target: &str, want: bool) {
        assert_eq!(
            stays_within(Path::new(place), Path::new(target)),
            want,
            "{place} -> {target}"
        );
    }

    /// A pipe without a writer would be waited for, and a device has no end.
    #[test]
    fn a_pipe_or_a_device_is_no_entry_and_is_never_read() {
        use crate::agent::recognise::recognise;
        use crate::hashed_copy;
        let root = tempfile::tempdir().unwrap();
        let (pipe, device) = (root.path().join("step-2"), root.path().join("step-3"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        symlink("/dev/zero", &device).unwrap();
        for (odd, want) in [(&pipe, "it is a pipe"), (&device, "it is a device")] {
            assert_eq!(tree(odd).unwrap_err().to_string(), want);
            assert!(recognise(odd).is_err());
            let to = root.path().join("copy");
            assert!(hashed_copy::copy(odd, &to).is_err());
            assert!(!to.exists());
        }
    }

    #[test]
    fn links_that_hold_for_every_copy() {
        check_within("last", "step-5", true);
        check_within("a/last", "../b/./c", true);
        check_within("last", "../other", false);
        check_within("a/last", "b/../../../x", false);
        check_within("last", "/data/base.bin", false);
    }

    #[test]
    fn what_is_said_of_an_entry_is_one_line_whatever_its_name() {
        assert_eq!(shown(Path::new("a\nb/\u{1b}ü \"c")), "a\\nb/\\x1bü \"c");
    }

    #[test]
    fn everything_is_kept_or_said() {
        let root = tempfile::tempdir().unwrap();
        let entry = root.path().join("step-5");
        fs::create_dir_all(entry.join("deep/empty")).unwrap();
        fs::write(entry.join("deep/a"), b"1").unwrap();
        fs::write(root.path().join("base"), b"22").unwrap();
        symlink("deep/a", entry.join("last")).unwrap();
        symlink("gone", entry.join("dangling")).unwrap();
        symlink("../base", entry.join("base")).unwrap();
        symlink(root.path(), entry.join("out")).unwrap();
        symlink("/proc/version", entry.join("other-disk")).unwrap();
        let odd = OsStr::from_bytes(b"odd-\xff");
        fs::write(entry.join(odd), b"x").unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(entry.join("pipe"))
            .status();
        assert!(made.unwrap().success());
        let mut tree = tree(&entry).unwrap();
        tree.left_out.sort();
        let names = |files: &[(PathBuf, Metadata)]| -> Vec<String> {
            let shown = files.iter().map(|(place, _)| place.display().to_string());
            shown.collect()
        };
        assert_eq!(names(&tree.files), ["base", "deep/a"]);
        let links: Vec<_> = tree
            .links
            .iter()
            .map(|link| link.path.to_str().unwrap())
            .collect();
        assert_eq!(links, ["dangling", "last", "other-disk"]);
        assert_eq!(tree.folders, [PathBuf::from("deep/empty")]);
        assert_eq!(tree.said.len(), 2, "{:?}", tree.said);
        let [odd, out, pipe] = &tree.left_out[..] else {
            panic!("{:?}", tree.left_out)
        };
        assert!(odd.contains("not UTF-8") && out.contains("leads out") && pipe == "pipe is a pipe");
        let copy = root.path().join("copy");
        make_rest(&copy, &tree.links, &tree.folders).unwrap();
        make_rest(&copy, &tree.links, &tree.folders).unwrap();
        assert_eq!(
            fs::read_link(copy.join("last")).unwrap(),
            Path::new("deep/a")
        );
        assert!(copy.join("deep/empty").is_dir());
    }
}
