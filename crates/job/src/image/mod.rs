//! The image of a run's container, fetched, built or checked before the job is submitted.
//!
//! One in a registry and a recipe become what the runtime starts, in a cache that the nodes share,
//! once for each content: a `.sif` file, a `.sqsh` file or a folder. Several makers at once wait for
//! one another; a half-made one is made anew.

mod digest;
mod ignored;
mod image_error;
mod make;
mod maker;
mod recipe;
mod same_content;
mod source;

pub use image_error::ImageError;
pub use make::folder_in;

use crate::Waiter;
use crate::cache;
use folder::{MakingPlace, ReadyImage, RunJson};
use model::Internet;
use std::fs;
use std::path::{Path, PathBuf};
use sys::lock::FileLock;
use train::{ContainerPlan, Image};

/// Makes sure that the image of a container is there; returns it, and whether something had to be
/// made now. `modules` are loaded before a maker runs, `waiter` hears each line that it prints. What the
/// place leaves to a job of its own [`make_left`] makes.
///
/// # Errors
/// It is not there or can't be made; see [`ImageError`].
pub fn prepare(
    plan: &ContainerPlan,
    modules: &[String],
    place: &MakingPlace,
    waiter: &mut dyn Waiter,
) -> Result<(ReadyImage, bool), ImageError> {
    let image = &plan.image.value;
    if let Some(path) = image.path()
        && !image.is_recipe()
        && !path.exists()
    {
        return Err(ImageError::NotThere {
            image: image.to_string(),
        });
    }
    if plan.is_made() && place.in_job {
        return Ok((make::find(plan, place)?, false));
    }
    if plan.is_made() {
        return make::make(plan, modules, place, None, waiter);
    }
    Ok((ready(image.path(), None), false))
}

/// Copies what a recipe is built of, as it is now, for the job that it is left to: the files may change until that
/// starts. Returns the copy, below a scratch folder; none where they are too many, or where the copy would make
/// another image: the job finds them where they lie then, and refuses those that have changed.
///
/// # Errors
/// The recipe can't be read, or a file not be copied.
pub fn keep_source(image: &Image, scratch: &Path) -> Result<Option<PathBuf>, ImageError> {
    let Some(source) = source::Source::of(image)? else {
        return Ok(None);
    };
    let all = scratch.join(".yard/sources");
    let copy = all.join(sys::unique());
    let lock = copy.with_extension("lock");
    let copied = fs::create_dir_all(&all).and_then(|()| {
        remove_left(&all);
        cache::keep_until_end(&lock);
        source.copy_to(&copy, folder::CODE_LIMIT)
    });
    let is_same = match copied {
        Ok(false) => return Ok(None),
        // Some disks keep whole seconds only, by which a long file is another.
        Ok(true) => source::Source::copied_in(image, &copy)
            .map(|copied| copied.is_some_and(|copied| copied.is_same(&source))),
        Err(source) => Err(ImageError::Source {
            path: copy.clone(),
            source,
        }),
    };
    if !matches!(is_same, Ok(true)) {
        let _ = fs::remove_dir_all(&copy);
    }
    Ok(is_same?.then_some(copy))
}

/// What commands left that were killed: no process holds its lock.
fn remove_left(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_lock = path
            .extension()
            .is_some_and(|extension| extension == "lock");
        if is_lock && let Ok(Some(_held)) = FileLock::try_acquire(&path) {
            let _ = fs::remove_dir_all(path.with_extension(""));
            let _ = fs::remove_file(&path);
        }
    }
}

/// Makes what was left to this job, and returns it; none where nothing was. `copy` may have what it is built of.
/// `waiter` hears each line that the makers print.
///
/// # Errors
/// It can't be made; see [`ImageError`].
pub fn make_left(
    json: &RunJson,
    copy: &Path,
    waiter: &mut dyn Waiter,
) -> Result<Option<ReadyImage>, ImageError> {
    let environment = &json.plan.environment;
    let left = json.image.as_ref().filter(|image| image.to_make);
    let (Some(plan), Some(left)) = (&environment.container, left) else {
        return Ok(None);
    };
    let modules = &environment.modules.value;
    // CACHE/images/KEY/FILE
    let cache = left
        .path
        .as_deref()
        .and_then(|path| path.ancestors().nth(3));
    let cache = cache.unwrap_or(Path::new("/"));
    let place = MakingPlace::here(cache, Internet::Compute);
    let (image, _) = make::make(plan, modules, &place, Some(copy), waiter)?;
    if image.path != left.path {
        return Err(ImageError::Changed {
            image: plan.image.value.to_string(),
        });
    }
    Ok(Some(image))
}

/// The digest that the tag of a kept image names now, where that is another than the image's.
#[must_use]
pub fn moved_tag(plan: &ContainerPlan, kept: &ReadyImage, internet: Internet) -> Option<String> {
    let own = kept.digest.as_ref()?;
    if internet == Internet::None {
        return None;
    }
    make::tag_names(&plan.image.value).filter(|now| now != own)
}

fn ready(path: Option<&Path>, digest: Option<String>) -> ReadyImage {
    ReadyImage {
        path: path.map(Path::to_owned),
        has_environment: path.is_some_and(|path| path.join("ch/environment").is_file()),
        digest,
        to_make: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_which_an_image_were_another_is_not_kept() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("Dockerfile"), "FROM a\nCOPY data /data\n").unwrap();
        fs::write(at("data"), "1").unwrap();
        let image = Image::Dockerfile(at("Dockerfile"));
        let kept = || keep_source(&image, &at("scratch")).unwrap();
        assert!(kept().unwrap().join("files/data").is_file());
        // What is named is in the key, and ignored it is not in the copy.
        fs::write(at(".dockerignore"), "data\n").unwrap();
        let copies = || {
            let all = fs::read_dir(at("scratch/.yard/sources")).unwrap();
            all.filter(|entry| entry.as_ref().unwrap().path().is_dir())
                .count()
        };
        let before = copies();
        assert_eq!(kept(), None);
        assert_eq!(copies(), before);
    }
}
