//! What an image is built of: a recipe, and the files beside it that it copies, without those that its ignore file
//! leaves out.

use super::ignored::Ignored;
use super::image_error::ImageError;
use super::recipe;
use crate::local_files;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use train::Image;

/// Where a copy has the recipe, and the files: `COPY .` must not find the recipe twice.
const RECIPE: &str = "recipe";
const FILES: &str = "files";

/// A recipe with its files, where they lie or in a copy.
#[derive(Debug)]
pub struct Source {
    /// The recipe that is read.
    pub recipe: PathBuf,
    /// The folder to which what it copies is relative.
    pub beside: PathBuf,
    image: Image,
    content: Vec<u8>,
    ignored: Ignored,
}

impl Source {
    /// Of a recipe, where it lies; none of an image that is not built.
    ///
    /// # Errors
    /// It can't be read.
    pub fn of(image: &Image) -> Result<Option<Source>, ImageError> {
        let Some(path) = path_of(image) else {
            return Ok(None);
        };
        let beside = path.parent().unwrap_or(Path::new("/"));
        let ignored = match image {
            Image::Dockerfile(_) => Ignored::of(beside, &name_of(path)),
            // No other maker knows such a file.
            _ => Ignored::default(),
        };
        Source::read(image, path.to_owned(), beside.to_owned(), ignored).map(Some)
    }

    /// Of a recipe that [`Source::copy_to`] copied, where there is such a copy.
    ///
    /// # Errors
    /// It can't be read.
    pub fn copied_in(image: &Image, copy: &Path) -> Result<Option<Source>, ImageError> {
        let Some(path) = path_of(image) else {
            return Ok(None);
        };
        let recipe = copy.join(RECIPE).join(name_of(path));
        if !recipe.exists() {
            return Ok(None);
        }
        Source::read(image, recipe, copy.join(FILES), Ignored::default()).map(Some)
    }

    /// Of a recipe that is nowhere.
    #[cfg(test)]
    pub fn at(image: &Image) -> Option<Source> {
        let path = path_of(image)?;
        Some(Source {
            recipe: path.to_owned(),
            beside: path.parent()?.to_owned(),
            image: image.clone(),
            content: Vec::new(),
            ignored: Ignored::default(),
        })
    }

    fn read(
        image: &Image,
        recipe: PathBuf,
        beside: PathBuf,
        ignored: Ignored,
    ) -> Result<Source, ImageError> {
        let content = fs::read(&recipe).map_err(|source| ImageError::Recipe {
            path: recipe.clone(),
            source,
        })?;
        Ok(Source {
            recipe,
            beside,
            image: image.clone(),
            content,
            ignored,
        })
    }

    /// Whether what is beside it has to be copied for a maker to leave out what is ignored: not every one knows how.
    pub fn leaves_out(&self) -> bool {
        !self.ignored.is_empty()
    }

    /// Adds the recipe and all that it copies to a key. A copy has the same, where its disk keeps what a key is of.
    pub fn add(&self, hasher: &mut blake3::Hasher) {
        // Names in it are relative to where it lies, which `./` in its path doesn't change.
        let lies: PathBuf = path_of(&self.image)
            .into_iter()
            .flat_map(Path::components)
            .collect();
        hasher.update(lies.as_os_str().as_encoded_bytes());
        hasher.update(&self.content);
        for copied in self.copied() {
            local_files::add(hasher, &copied, &|path, is_folder| {
                self.is_left_out(&copied.join(path), is_folder)
            });
        }
    }

    /// Whether an image of both is the same.
    pub fn is_same(&self, other: &Source) -> bool {
        self.key() == other.key()
    }

    fn key(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        self.add(&mut hasher);
        hasher.finalize()
    }

    /// Copies the recipe and all beside it that it copies into a new folder; `false`, and nothing is there, where
    /// they are more than `limit` bytes or not all beside it.
    ///
    /// # Errors
    /// One of them can't be read or written.
    pub fn copy_to(&self, folder: &Path, limit: u64) -> io::Result<bool> {
        let mut left = limit;
        let copied = self.copied();
        let is_outside = |path: &PathBuf| {
            let leads_up = path.components().any(|part| part == Component::ParentDir);
            leads_up && path.starts_with(&self.beside)
        };
        let has_all = if copied.iter().any(is_outside) {
            false
        } else {
            let recipe = folder.join(RECIPE).join(name_of(&self.recipe));
            fs::create_dir_all(folder.join(RECIPE))?;
            fs::create_dir_all(folder.join(FILES))?;
            fs::copy(&self.recipe, recipe)?;
            // What lies elsewhere is read there.
            let mut beside = copied
                .iter()
                .filter_map(|path| path.strip_prefix(&self.beside).ok());
            beside.try_fold(true, |has_all, path| {
                let to = folder.join(FILES);
                let named = fs::metadata(self.beside.join(path));
                Ok::<bool, io::Error>(has_all && self.copy(path, named, &to, &mut left)?)
            })?
        };
        if !has_all && folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        Ok(has_all)
    }

    /// `facts` are what is known of it: of what a recipe names those of what a link leads to, as in its key.
    fn copy(
        &self,
        path: &Path,
        facts: io::Result<Metadata>,
        to: &Path,
        left: &mut u64,
    ) -> io::Result<bool> {
        let (from, to_path) = (self.beside.join(path), to.join(path));
        let facts = match facts {
            // Its maker says so.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            facts => facts?,
        };
        if self.is_left_out(&from, facts.is_dir()) {
            return Ok(true);
        }
        if facts.is_dir() {
            fs::create_dir_all(&to_path)?;
            for entry in fs::read_dir(&from)? {
                let name = entry?.file_name();
                if local_files::is_never_counted(&name) {
                    continue;
                }
                let path = path.join(name);
                let facts = fs::symlink_metadata(self.beside.join(&path));
                if !self.copy(&path, facts, to, left)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let Some(rest) = left.checked_sub(facts.len()) else {
            return Ok(false);
        };
        *left = rest;
        if let Some(folder) = to_path.parent() {
            fs::create_dir_all(folder)?;
        }
        // Of two names that a recipe copies one may be in the other.
        let is_there = fs::symlink_metadata(&to_path).is_ok();
        if facts.is_symlink() && !is_there {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to_path)?;
        } else if facts.is_file() && !is_there {
            fs::copy(&from, &to_path)?;
            // By it a long one is known. The copy is its owner's, whether it may be written or not.
            fs::File::open(&to_path)?.set_modified(facts.modified()?)?;
        }
        Ok(true)
    }

    fn copied(&self) -> Vec<PathBuf> {
        let text = String::from_utf8_lossy(&self.content);
        recipe::copied(&self.image, &text, &self.beside)
    }

    fn is_left_out(&self, path: &Path, is_folder: bool) -> bool {
        let below = path.strip_prefix(&self.beside);
        let below: Option<PathBuf> = below.ok().map(|below| below.components().collect());
        below.is_some_and(|below| self.ignored.leaves_out(&below, is_folder))
    }
}

fn path_of(image: &Image) -> Option<&Path> {
    match image {
        Image::Dockerfile(path) | Image::Definition(path) => Some(path),
        _ => None,
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().map(OsStr::to_string_lossy);
    name.unwrap_or_default().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_copy_is_the_same_and_stays_so() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("app/Dockerfile", "FROM a\nCOPY . /app\n");
        write("app/.dockerignore", "data\nDockerfile\n");
        write("app/src/x.py", "1");
        write("app/data/large", "1");
        std::os::unix::fs::symlink("src", root.path().join("app/link")).unwrap();
        let long = vec![0; (1 << 20) + 1];
        let path = root.path().join("app/long");
        fs::write(&path, &long).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let image = Image::Dockerfile(root.path().join("app/Dockerfile"));
        let source = || Source::of(&image).unwrap().unwrap();
        let first = source().key();
        let copy = root.path().join("copy");
        assert!(!source().copy_to(&copy, 100).unwrap());
        assert!(!copy.exists());
        assert!(source().copy_to(&copy, 10 << 20).unwrap());
        // What is ignored is no part of it.
        write("app/data/large", "2");
        assert_eq!(source().key(), first);
        assert!(!copy.join("files/data").exists());
        assert!(!copy.join("files/Dockerfile").exists());
        write("app/src/x.py", "2");
        assert_ne!(source().key(), first);
        let copied = Source::copied_in(&image, &copy).unwrap().unwrap();
        assert_eq!(copied.key(), first);
        assert_eq!(copied.recipe, copy.join("recipe/Dockerfile"));
        assert!(Source::copied_in(&image, root.path()).unwrap().is_none());
    }

    #[test]
    fn a_name_that_is_a_link_is_copied_as_what_it_leads_to() {
        let root = tempfile::tempdir().unwrap();
        let app = root.path().join("app");
        for folder in ["app", "elsewhere"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("elsewhere/x"), "1").unwrap();
        std::os::unix::fs::symlink("../elsewhere", app.join("data")).unwrap();
        fs::write(app.join("Dockerfile"), "FROM a\nCOPY data /data\n").unwrap();
        let image = Image::Dockerfile(app.join("Dockerfile"));
        let source = Source::of(&image).unwrap().unwrap();
        let copy = root.path().join("copy");
        assert!(source.copy_to(&copy, u64::MAX).unwrap());
        assert_eq!(fs::read(copy.join("files/data/x")).unwrap(), b"1");
        let copied = Source::copied_in(&image, &copy).unwrap().unwrap();
        assert!(source.is_same(&copied));
    }

    #[test]
    fn what_leads_out_of_its_folder_is_not_copied() {
        let root = tempfile::tempdir().unwrap();
        let recipe = root.path().join("a.def");
        fs::write(&recipe, "Bootstrap: docker\n%files\n ../x /x\n").unwrap();
        let source = Source::of(&Image::Definition(recipe)).unwrap().unwrap();
        let copy = root.path().join("copy");
        assert!(!source.copy_to(&copy, u64::MAX).unwrap());
        assert!(!copy.exists());
    }
}
