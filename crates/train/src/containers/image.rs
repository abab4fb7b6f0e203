//! The image of a container, as a run file names it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// What an address of a registry begins with.
const REGISTRY: &str = "docker://";

/// The image of a container; paths are absolute. Its kind follows from its name, since the disk that
/// has it may be another machine's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Image {
    /// In a registry: what follows `docker://`.
    Registry(String),
    /// Apptainer's format, `.sif`.
    Sif(PathBuf),
    /// Enroot's format, `.sqsh` or `.squashfs`.
    Squashfs(PathBuf),
    /// A folder that holds a root file system.
    Folder(PathBuf),
    /// Apptainer's recipe, `.def`.
    Definition(PathBuf),
    /// The recipe of Podman and Charliecloud, `Dockerfile` or `Containerfile`.
    Dockerfile(PathBuf),
}

impl Image {
    /// The image that a text names; a path is put into a folder.
    pub(crate) fn named(text: &str, absolute: impl Fn(&str) -> PathBuf) -> Image {
        if let Some(address) = text.strip_prefix(REGISTRY) {
            return Image::Registry(address.to_owned());
        }
        let path = absolute(text);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_recipe = |word: &str| name.starts_with(word) || name.ends_with(&format!(".{word}"));
        let ends = |ending: &str| name.ends_with(ending);
        if ends(".sif") {
            Image::Sif(path)
        } else if ends(".sqsh") || ends(".squashfs") {
            Image::Squashfs(path)
        } else if ends(".def") {
            Image::Definition(path)
        } else if ["Dockerfile", "Containerfile", "dockerfile"]
            .into_iter()
            .any(is_recipe)
        {
            Image::Dockerfile(path)
        } else {
            Image::Folder(path)
        }
    }

    /// Whether it has to be built.
    #[must_use]
    pub fn is_recipe(&self) -> bool {
        matches!(self, Image::Definition(_) | Image::Dockerfile(_))
    }

    /// Its file or folder; none of one in a registry.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Image::Registry(_) => None,
            Image::Sif(path)
            | Image::Squashfs(path)
            | Image::Folder(path)
            | Image::Definition(path)
            | Image::Dockerfile(path) => Some(path),
        }
    }

    /// What kind it is, in words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Image::Registry(_) => "an image in a registry",
            Image::Sif(_) => "a .sif file",
            Image::Squashfs(_) => "a .sqsh file",
            Image::Folder(_) => "a folder",
            Image::Definition(_) => "a .def file",
            Image::Dockerfile(_) => "a Dockerfile",
        }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.path()) {
            (Image::Registry(address), _) => write!(f, "{REGISTRY}{address}"),
            (_, Some(path)) => write!(f, "{}", path.display()),
            (_, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_it_is() {
        let check = |text: &str, kind: &str, shown: &str| {
            let image = Image::named(text, |path| Path::new("/home/me").join(path));
            assert_eq!((image.kind(), image.to_string().as_str()), (kind, shown));
        };
        check(
            "docker://nvcr.io/nvidia/pytorch:24.01-py3",
            "an image in a registry",
            "docker://nvcr.io/nvidia/pytorch:24.01-py3",
        );
        check("torch.sif", "a .sif file", "/home/me/torch.sif");
        check("/i/torch.sqsh", "a .sqsh file", "/i/torch.sqsh");
        check("images/torch", "a folder", "/home/me/images/torch");
        check("torch.def", "a .def file", "/home/me/torch.def");
        check("Dockerfile.gpu", "a Dockerfile", "/home/me/Dockerfile.gpu");
        check("gpu.dockerfile", "a Dockerfile", "/home/me/gpu.dockerfile");
    }
}
