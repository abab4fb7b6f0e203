//! Places in an image's folder on which something is mounted.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use train::Mount;

/// As many links a path may have.
const LINKS: u32 = 40;

/// Makes those that are missing, empty, in the image itself: its runtime mounts over what is there
/// alone. What lies inside of another mount is not the image's.
pub fn make(image: &Path, mounts: &[Mount]) -> io::Result<()> {
    for (at, mount) in mounts.iter().enumerate() {
        let target = Path::new(&mount.target);
        let is_below =
            |other: &Mount| target.starts_with(&other.target) && mount.target != other.target;
        if !mounts[..at].iter().any(is_below) {
            make_one(image, target, Path::new(&mount.source).is_dir())?;
        }
    }
    Ok(())
}

/// Links are followed as the container will see them: an absolute one begins at the image.
fn make_one(image: &Path, target: &Path, is_dir: bool) -> io::Result<()> {
    let mut rest = names(target);
    let mut here = PathBuf::new();
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = image.join(&here).join(&name);
        match fs::symlink_metadata(&next) {
            Ok(facts) if facts.is_symlink() => {
                links += 1;
                if links > LINKS {
                    return Err(io::Error::from(io::ErrorKind::TooManyLinks));
                }
                let link = fs::read_link(&next)?;
                if link.is_absolute() {
                    here = PathBuf::new();
                }
                let mut path = names(&link);
                path.append(&mut rest);
                rest = path;
                continue;
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = if is_dir || !rest.is_empty() {
                    fs::create_dir(&next)
                } else {
                    fs::File::create_new(&next).map(drop)
                };
                // Another rank of the node may have been first.
                if let Err(error) = made
                    && error.kind() != io::ErrorKind::AlreadyExists
                {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        here.push(name);
    }
    Ok(())
}

fn names(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mount(source: &Path, target: &str) -> Mount {
        Mount {
            source: source.display().to_string(),
            target: target.to_owned(),
            read_only: false,
        }
    }

    #[test]
    fn made_inside_of_the_image_whatever_its_links_say() {
        let folder = tempfile::tempdir().unwrap();
        let (image, outside) = (folder.path().join("image"), folder.path().join("outside"));
        fs::create_dir_all(image.join("run")).unwrap();
        fs::create_dir_all(image.join("var")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(folder.path().join("file"), b"").unwrap();
        symlink("/run", image.join("var/run")).unwrap();
        symlink(&outside, image.join("out")).unwrap();
        symlink("../../../x", image.join("up")).unwrap();
        let source = folder.path();
        let mounts = [
            mount(source, "/a/b/c"),
            mount(source, "/a/b/c/d"),
            mount(source, "/var/run/x"),
            mount(source, "/out/y"),
            mount(source, "/up"),
            mount(&source.join("file"), "/etc/file"),
        ];
        make(&image, &mounts).unwrap();
        make(&image, &mounts).unwrap();
        assert!(image.join("a/b/c").is_dir() && !image.join("a/b/c/d").exists());
        assert!(image.join("run/x").is_dir() && image.join("x").is_dir());
        assert!(image.join("etc/file").is_file());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        symlink("loop", image.join("loop")).unwrap();
        assert!(make(&image, &[mount(source, "/loop/z")]).is_err());
    }
}
