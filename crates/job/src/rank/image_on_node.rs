//! The copy of an image on the node's own disk, which all ranks of the node start from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use sys::lock::FileLock;

/// Copies the image where it is not there yet: the first rank of a node that comes does, and the others wait
/// for it. What was half copied when a rank was killed is copied anew.
pub fn copy(image: &Path, place: &Path) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = |ending: &str| {
        let mut name = place.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let _held = FileLock::acquire(&beside(".lock"))?;
    if place.exists() {
        return Ok(());
    }
    let partial = beside(".partial");
    if image.is_dir() {
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        sys::copy_tree::folder_with_links(image, &partial).map_err(|error| error.source)?;
    } else {
        fs::copy(image, &partial)?;
    }
    fs::rename(&partial, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_by_whoever_comes_first_and_anew_where_it_was_cut_off() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("a.sif"), b"image").unwrap();
        fs::create_dir(at("node")).unwrap();
        fs::write(at("node/a.sif.partial"), b"im").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| copy(&at("a.sif"), &at("node/a.sif")).unwrap());
            }
        });
        assert_eq!(fs::read(at("node/a.sif")).unwrap(), b"image");
        // Later ranks need no source.
        fs::remove_file(at("a.sif")).unwrap();
        copy(&at("a.sif"), &at("node/a.sif")).unwrap();
        assert!(copy(&at("b.sif"), &at("node/b.sif")).is_err());
        fs::create_dir(at("root")).unwrap();
        fs::write(at("root/bin"), b"sh").unwrap();
        // Its links are for those who are in it.
        std::os::unix::fs::symlink("/of/the/image", at("root/etc")).unwrap();
        copy(&at("root"), &at("node/root")).unwrap();
        let link = fs::read_link(at("node/root/etc")).unwrap();
        assert_eq!(link, Path::new("/of/the/image"));
        assert_eq!(fs::read(at("node/root/bin")).unwrap(), b"sh");
    }
}
