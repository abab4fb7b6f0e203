//! Places in an image's folder on which something is mounted: its runtime mounts over what is there alone.

use super::RankError;
use super::container::ContainerError;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use train::Mount;

/// As many links a path may have.
const LINKS: u32 = 40;

/// A place that an image lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPlace {
    /// Seen from the image's folder, without links.
    path: PathBuf,
    is_folder: bool,
}

impl MissingPlace {
    /// Makes it in a folder, empty.
    fn make(&self, folder: &Path) -> io::Result<()> {
        let place = folder.join(&self.path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        let made = if self.is_folder {
            fs::create_dir(&place)
        } else {
            fs::File::create_new(&place).map(drop)
        };
        // Another rank of the node may have been first.
        made.or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        })
    }
}

/// What `ch-run` mounts by itself, and can't where the image has no such place.
pub fn of_charliecloud() -> Vec<Mount> {
    const PLACES: [&str; 8] = [
        "/dev",
        "/proc",
        "/sys",
        "/tmp",
        "/etc/passwd",
        "/etc/group",
        "/etc/hosts",
        "/etc/resolv.conf",
    ];
    let there = PLACES.into_iter().filter(|place| Path::new(place).exists());
    let mount = |place: &str| Mount {
        source: place.to_owned(),
        target: place.to_owned(),
        read_only: false,
    };
    there.map(mount).collect()
}

/// Those that an image lacks for its mounts, parents first. What lies inside of another mount is not the
/// image's.
pub fn missing(image: &Path, mounts: &[Mount]) -> io::Result<Vec<MissingPlace>> {
    let mut missing = Vec::new();
    for (at, mount) in mounts.iter().enumerate() {
        let target = Path::new(&mount.target);
        let is_below =
            |other: &Mount| target.starts_with(&other.target) && mount.target != other.target;
        if !mounts[..at].iter().any(is_below) {
            let is_folder = Path::new(&mount.source).is_dir();
            find(image, target, is_folder, &mut missing)?;
        }
    }
    Ok(missing)
}

/// Makes them in the image itself.
pub fn make(image: &Path, missing: &[MissingPlace]) -> io::Result<()> {
    missing.iter().try_for_each(|place| place.make(image))
}

/// The words that become a command which sees them in the image's folder, while that stays as it is:
/// [`show`] carries them out.
pub fn shown_to(
    command: (PathBuf, Vec<String>),
    image: &Path,
    missing: &[MissingPlace],
) -> io::Result<(PathBuf, Vec<String>)> {
    let yard = std::env::current_exe()?;
    let view = View {
        image: image.to_owned(),
        missing: missing.to_vec(),
    };
    let (program, words) = command;
    let own = ["yard", "job", SHOW].map(str::to_owned).into_iter();
    let own = own.chain([serde_json::to_string(&view)?, program.display().to_string()]);
    Ok((yard, own.chain(words).collect()))
}

/// What stands for [`show`] after `yard job`.
pub const SHOW: &str = "mount-points";

/// What a command sees.
#[derive(Serialize, Deserialize)]
struct View {
    image: PathBuf,
    missing: Vec<MissingPlace>,
}

/// Becomes a command that sees the places which `text` names: its program, then its words with its name.
///
/// # Errors
/// It could not be started.
pub fn show(text: &str, words: &[String]) -> Result<u8, RankError> {
    let system = |what| move |source| RankError::System { what, source };
    let reading = system("reading what an image lacks");
    let View { image, missing } =
        serde_json::from_str(text).map_err(|error| reading(error.into()))?;
    let [program, name, rest @ ..] = words else {
        return Err(reading(io::Error::from(io::ErrorKind::InvalidInput)));
    };
    sys::mounts::add_to_view(&image, |folder| make(folder, &missing)).map_err(|source| {
        let last = missing.last().map(|place| Path::new("/").join(&place.path));
        ContainerError::MountPoints {
            image,
            place: last.unwrap_or_default(),
            source,
        }
    })?;
    let failed = Command::new(program).arg0(name).args(rest).exec();
    Err(system("starting the container")(failed))
}

/// Links are followed as the container will see them: an absolute one begins at the image.
fn find(
    image: &Path,
    target: &Path,
    is_folder: bool,
    missing: &mut Vec<MissingPlace>,
) -> io::Result<()> {
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
                missing.push(MissingPlace {
                    path: here.join(&name),
                    is_folder: is_folder || !rest.is_empty(),
                });
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

    /// A folder with `bin/` alone, as Busybox is.
    #[test]
    fn an_image_of_programs_alone_gets_what_charliecloud_mounts_by_itself() {
        let image = tempfile::tempdir().unwrap();
        fs::create_dir(image.path().join("bin")).unwrap();
        let lacks = missing(image.path(), &of_charliecloud()).unwrap();
        make(image.path(), &lacks).unwrap();
        assert!(image.path().join("dev").is_dir() && image.path().join("proc").is_dir());
        assert!(image.path().join("etc/passwd").is_file());
        assert_eq!(missing(image.path(), &of_charliecloud()).unwrap(), []);
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
        let missing = |mounts: &[Mount]| super::missing(&image, mounts);
        make(&image, &missing(&mounts).unwrap()).unwrap();
        assert_eq!(missing(&mounts).unwrap(), []);
        assert!(image.join("a/b/c").is_dir() && !image.join("a/b/c/d").exists());
        assert!(image.join("run/x").is_dir() && image.join("x").is_dir());
        assert!(image.join("etc/file").is_file());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        symlink("loop", image.join("loop")).unwrap();
        assert!(missing(&[mount(source, "/loop/z")]).is_err());
    }
}
