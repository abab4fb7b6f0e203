//! What stands in `{checkpoints}` at this moment.

use super::recognise::{Recognised, recognise};
use super::tree::{Tree, tree};
use super::watcher::{Fingerprint, Inside, Marked, Shape, looks_temporary};
use folder::Pointer;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// In which what is being written changes.
const MOMENT: Duration = Duration::from_millis(500);

/// What stands in a folder at this moment.
#[derive(Debug, Default)]
pub struct Scanned {
    /// The entries with their fingerprints, by name.
    pub entries: Vec<(String, Fingerprint)>,
    /// What names the newest of them, and is none.
    pub pointers: Vec<Pointer>,
    /// Names that no message can carry, as they can be shown.
    pub unspeakable: Vec<String>,
    /// Names of entries that can't be looked at, with what the system says.
    pub unreadable: Vec<(String, io::Error)>,
}

/// Looks at the top-level entries. One that vanishes meanwhile is left out.
///
/// # Errors
/// The folder itself can't be read.
pub fn scan(folder: &Path) -> io::Result<Scanned> {
    let mut scanned = Scanned::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_name().into_string() {
            Ok(name) if !name.chars().any(char::is_control) => {
                if let Some(pointer) = Pointer::read(folder, &name, |name| !looks_temporary(name)) {
                    scanned.pointers.push(pointer);
                    continue;
                }
                match fingerprint(&entry.path()) {
                    Ok(print) => scanned.entries.push((name, print)),
                    // Some of it was removed or replaced during the look.
                    Err(error) if is_gone(&error) => {}
                    Err(error) => scanned.unreadable.push((name, error)),
                }
            }
            Ok(name) => scanned.unspeakable.push(name.escape_debug().to_string()),
            Err(name) => scanned
                .unspeakable
                .push(name.to_string_lossy().into_owned()),
        }
    }
    scanned.entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(scanned)
}

fn is_gone(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::NotFound || kind == io::ErrorKind::NotADirectory
}

/// Whether something in `{checkpoints}` changes, or a process has a file of it open for writing. Takes a moment.
#[must_use]
pub(crate) fn is_being_written(folder: &Path) -> bool {
    let look = || scan(folder).map_or_else(|_| Vec::new(), |there| there.entries);
    let before = look();
    let mut inside = FolderInside::new(folder);
    let mut is_open =
        |entries: &[(String, Fingerprint)]| entries.iter().any(|(name, _)| inside.open(name));
    is_open(&before) || {
        std::thread::sleep(MOMENT);
        look() != before
    }
}

/// The fingerprint of a file or of all that is below a folder.
///
/// # Errors
/// What the system says.
pub fn fingerprint(path: &Path) -> io::Result<Fingerprint> {
    let tree = tree(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut bytes = 0;
    for (place, facts) in &tree.files {
        hasher.update(place.as_os_str().as_encoded_bytes());
        for number in [
            facts.len(),
            facts.ino(),
            facts.mtime().unsigned_abs(),
            facts.mtime_nsec().unsigned_abs(),
        ] {
            hasher.update(&number.to_le_bytes());
        }
        bytes += facts.len();
    }
    let links = tree
        .links
        .iter()
        .flat_map(|link| [&link.path, &link.target]);
    for path in links.chain(&tree.folders) {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(&[0]);
    }
    let digest = hasher.finalize();
    let first = digest
        .as_bytes()
        .first_chunk()
        .expect("invariant: a digest has 32 bytes");
    Ok(Fingerprint {
        bytes,
        digest: u64::from_le_bytes(*first),
    })
}

/// [`Inside`] for entries of a real folder, as they are during one look.
#[derive(Debug)]
pub struct FolderInside<'a> {
    /// The watched folder.
    folder: &'a Path,
    /// What is open for writing, once it is needed: to look through all processes is dear.
    written: Option<BTreeSet<(u64, u64)>>,
}

impl<'a> FolderInside<'a> {
    /// Nothing was asked yet.
    pub fn new(folder: &'a Path) -> FolderInside<'a> {
        FolderInside {
            folder,
            written: None,
        }
    }
}

impl Inside for FolderInside<'_> {
    fn recognised(&mut self, name: &str) -> Recognised {
        // An entry that can't be read now is looked at again at the next turn.
        recognise(&self.folder.join(name)).unwrap_or(Recognised::Unknown)
    }

    fn marked(&mut self, name: &str, marker: &str) -> Marked {
        let entry = self.folder.join(name);
        let places = [
            self.folder.join(format!("{name}.{marker}")),
            entry.join(marker),
        ];
        let marks = places.iter().filter_map(|place| fs::metadata(place).ok());
        let Some(mark) = marks.filter_map(|facts| facts.modified().ok()).max() else {
            return Marked::Not;
        };
        let is_later = |facts: &fs::Metadata| facts.modified().is_ok_and(|changed| changed > mark);
        let tree = tree(&entry).unwrap_or_default();
        if tree.files.iter().any(|(_, facts)| is_later(facts)) {
            Marked::Before
        } else {
            Marked::Last
        }
    }

    fn open(&mut self, name: &str) -> bool {
        let tree = tree(&self.folder.join(name)).unwrap_or_default();
        let written = self.written.get_or_insert_with(open_for_writing);
        let is_written = |facts: &fs::Metadata| written.contains(&(facts.dev(), facts.ino()));
        tree.files.iter().any(|(_, facts)| is_written(facts))
    }

    fn shape(&mut self, name: &str) -> Shape {
        shape(&tree(&self.folder.join(name)).unwrap_or_default())
    }
}

/// What an entry consists of, to be compared with others.
pub fn shape(tree: &Tree) -> Shape {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let files = tree.files.iter();
    let files = files.map(|(place, facts)| (text(place), facts.len()));
    let links = tree.links.iter().map(|link| (text(&link.path), 0));
    let folders = tree.folders.iter().map(|place| (text(place), 0));
    files.chain(links).chain(folders).collect()
}

/// The files (device, inode) that one of our processes has open for writing. Other users' processes
/// can't be looked into; they don't write our checkpoints.
fn open_for_writing() -> BTreeSet<(u64, u64)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes.filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let descriptors = numbered.flat_map(|process| {
        let all = fs::read_dir(process.path().join("fd"));
        all.into_iter().flatten().flatten()
    });
    // The owner's write bit of the link tells how it was opened.
    let writes =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|link| link.mode() & 0o200 != 0);
    let written = descriptors.filter_map(|descriptor| {
        let path = descriptor.path();
        let facts = writes(&path)
            .then(|| fs::metadata(path))
            .and_then(Result::ok)?;
        facts.is_file().then(|| (facts.dev(), facts.ino()))
    });
    written.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn first(seen: &Scanned) -> (&str, u64) {
        let (name, print) = &seen.entries[0];
        (name, print.bytes)
    }

    #[test]
    fn a_change_of_any_file_changes_the_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step-5/deep");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("a"), b"12").unwrap();
        let one = scan(folder.path()).unwrap();
        assert_eq!(one.entries, scan(folder.path()).unwrap().entries);
        assert_eq!(first(&one), ("step-5", 2));
        fs::write(path.join("b"), b"").unwrap();
        let two = scan(folder.path()).unwrap();
        assert_ne!(one.entries, two.entries);
        fs::remove_file(path.join("b")).unwrap();
        fs::write(path.join("new"), b"34").unwrap();
        fs::rename(path.join("new"), path.join("a")).unwrap();
        assert_ne!(
            one.entries,
            scan(folder.path()).unwrap().entries,
            "another inode of the same size"
        );
    }

    #[test]
    fn a_link_to_nothing_hides_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step-5");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a"), b"12").unwrap();
        std::os::unix::fs::symlink("/nonexistent", path.join("link")).unwrap();
        let seen = scan(folder.path()).unwrap();
        assert_eq!(first(&seen), ("step-5", 2));
    }

    /// It was dropped without a message. To root no folder is closed: a link to itself is one that the
    /// system refuses to follow.
    #[test]
    fn an_entry_that_can_not_be_read_is_told_apart_from_one_that_vanishes() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        symlink("/nonexistent", folder.path().join("gone")).unwrap();
        symlink("loop", folder.path().join("loop")).unwrap();
        let seen = scan(folder.path()).unwrap();
        assert_eq!(seen.entries.len(), 0);
        let names: Vec<&str> = seen.unreadable.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(names, ["loop"]);
    }

    #[test]
    fn names_that_no_message_can_carry_are_told_apart() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let odd = std::ffi::OsStr::from_bytes(b"a\xff");
        for name in [odd, "b\nc".as_ref(), "ü".as_ref()] {
            fs::write(folder.path().join(name), b"").unwrap();
        }
        let mut seen = scan(folder.path()).unwrap();
        seen.unspeakable.sort();
        assert_eq!(first(&seen), ("ü", 0));
        assert_eq!(seen.unspeakable, ["a\u{fffd}", "b\\nc"]);
    }

    #[test]
    fn sees_who_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pkl");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(b"x").unwrap();
        assert!(FolderInside::new(folder.path()).open("a.pkl"));
        drop(file);
        let reader = fs::File::open(&path).unwrap();
        assert!(!FolderInside::new(folder.path()).open("a.pkl"));
        drop(reader);
    }

    #[test]
    fn markers_beside_and_inside() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("b"), b"").unwrap();
        let mut inside = FolderInside::new(folder.path());
        let mut seen = |name: &str| inside.marked(name, "done");
        assert_eq!([seen("a"), seen("b")], [Marked::Not; 2]);
        fs::write(folder.path().join("a/done"), b"").unwrap();
        fs::write(folder.path().join("b.done"), b"").unwrap();
        assert_eq!([seen("a"), seen("b")], [Marked::Last; 2]);
        // The next one is being written over it.
        for name in ["a/weights", "b"] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
            file.set_modified(later).unwrap();
        }
        assert_eq!([seen("a"), seen("b")], [Marked::Before; 2]);
    }

    /// Nothing at all was kept of what is only found through a link, or is named `latest` itself.
    #[test]
    fn a_link_to_what_does_not_count_is_an_entry_and_one_to_a_checkpoint_is_none() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for folder in [".v80", "step-80"] {
            fs::create_dir(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("weights"), "w").unwrap();
        }
        symlink(".v80", root.join("current")).unwrap();
        symlink("step-80", root.join("last")).unwrap();
        let names = |latest: &str| {
            let seen = scan(root).unwrap();
            let entries = seen.entries.into_iter().map(|(name, _)| name);
            let entries: Vec<String> = entries.filter(|name| !looks_temporary(name)).collect();
            let pointers = seen.pointers.into_iter().map(|pointer| pointer.name);
            let mut pointers: Vec<String> = pointers.collect();
            pointers.sort();
            assert!(entries.contains(&"current".to_owned()), "{latest}");
            (entries.join(" "), pointers.join(" "))
        };
        fs::write(root.join("latest"), "step-80").unwrap();
        let (entries, pointers) = names("a file");
        assert_eq!(entries, "current step-80");
        assert_eq!(pointers, "last latest");
        fs::remove_file(root.join("latest")).unwrap();
        fs::create_dir(root.join("latest")).unwrap();
        fs::write(root.join("latest/weights"), "w").unwrap();
        let (entries, pointers) = names("a folder");
        assert_eq!(entries, "current latest step-80");
        assert_eq!(pointers, "last");
    }

    /// A rank was killed while it saved.
    #[test]
    fn what_is_open_or_changes_is_being_written() {
        let root = tempfile::tempdir().unwrap();
        assert!(!is_being_written(root.path()));
        let mut file = fs::File::create(root.path().join("step-5")).unwrap();
        file.write_all(b"weights").unwrap();
        assert!(is_being_written(root.path()));
        drop(file);
        assert!(!is_being_written(root.path()));
        assert!(!is_being_written(&root.path().join("gone")));
    }
}
