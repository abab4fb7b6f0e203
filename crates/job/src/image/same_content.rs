//! Images of a registry that have the same content under several names: the first is fetched, and kept once.

use crate::cache::lock_of;
use crate::made_once::{CacheError, entries};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use sys::lock::FileLock;

/// Beside the image: what its name named when it was fetched, and the machine that it is for, a line each.
const DIGEST: &str = "digest";

/// Writes down which content an image has.
pub fn write_down(place: &Path, digest: &str) -> Result<(), CacheError> {
    let path = place.join(DIGEST);
    let text = format!("{digest}\n{}\n", sys::machine());
    sys::atomic::write(&path, text.as_bytes()).map_err(|source| CacheError { path, source })
}

/// Which content an image has.
pub fn digest(place: &Path) -> Option<String> {
    let text = fs::read_to_string(place.join(DIGEST)).ok()?;
    text.lines().next().map(str::to_owned)
}

/// An image that is there; nothing removes it meanwhile.
pub struct There {
    image: PathBuf,
    _held: FileLock,
}

/// The image `file` of any name, where one with this content is whole; `folder` has those of a cache.
pub fn find(folder: &Path, file: &str, digest: &str) -> Option<There> {
    let wanted = format!("{digest}\n{}\n", sys::machine());
    let has_it = |place: &PathBuf| {
        let text = fs::read_to_string(place.join(DIGEST));
        text.is_ok_and(|text| text == wanted) && place.join(file).exists()
    };
    let mut places = entries(folder).into_iter().map(|entry| entry.place());
    let image = places.find(has_it)?.join(file);
    let held = FileLock::share(&lock_of(&image)?).ok()?;
    // It may have been removed until the lock was there.
    let is_there = lock_of(&image).is_some();
    is_there.then_some(There { image, _held: held })
}

impl There {
    /// Has it under another name too, with the same files: nothing writes to an image.
    pub fn link_to(&self, place: &Path) -> io::Result<()> {
        let status = Command::new("cp")
            .args(["--archive", "--link"])
            .args([&self.image, place])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if status.success() {
            return Ok(());
        }
        // What came is no use: it is fetched then.
        if place.is_dir() {
            fs::remove_dir_all(place)?;
        } else if place.exists() {
            fs::remove_file(place)?;
        }
        Err(io::Error::other(status.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn one_of_the_same_content_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let make = |key: &str, digest: &str, is_whole: bool| {
            let place = folder.path().join(key);
            fs::create_dir_all(place.join("image/etc")).unwrap();
            fs::write(place.join("image/etc/mark"), key).unwrap();
            write_down(&place, digest).unwrap();
            if is_whole {
                fs::write(place.join(folder::MADE_MARKER), "made").unwrap();
            }
        };
        make("one", "sha256:1", true);
        make("two", "sha256:2", false);
        assert_eq!(digest(&folder.path().join("one")).unwrap(), "sha256:1");
        let find = |digest: &str, file: &str| find(folder.path(), file, digest);
        assert!(find("sha256:2", "image").is_none(), "it is half made");
        assert!(find("sha256:3", "image").is_none());
        assert!(find("sha256:1", "image.sif").is_none());
        let new = folder.path().join("image");
        find("sha256:1", "image").unwrap().link_to(&new).unwrap();
        let number = |path: PathBuf| fs::metadata(path).unwrap().ino();
        let first = number(folder.path().join("one/image/etc/mark"));
        assert_eq!(number(new.join("etc/mark")), first);
    }
}
