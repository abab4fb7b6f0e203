//! The image of a run's container, fetched, built or checked before the job is submitted.
//!
//! One in a registry and a recipe become what the runtime starts, in a cache that the nodes share,
//! once for each content: a `.sif` file, a `.sqsh` file or a folder. Several makers at once wait for
//! one another; a half-made one is made anew.

mod digest;
mod image_error;
mod make;
mod recipe;
mod same_content;

pub use image_error::ImageError;
pub use make::folder_in;

use folder::{ReadyImage, RunJson};
use model::Internet;
use std::path::Path;
use train::ContainerPlan;

/// Makes sure that the image of a container is there; returns it, and whether something had to be
/// made now. `modules` are loaded before a maker runs, `progress` gets each line that it prints. `in_job`
/// leaves it to a job of its own, which [`make_left`] is for.
///
/// # Errors
/// It is not there or can't be made; see [`ImageError`].
pub fn prepare(
    plan: &ContainerPlan,
    modules: &[String],
    cache: &Path,
    internet: Internet,
    in_job: bool,
    progress: &mut dyn FnMut(&str),
) -> Result<(ReadyImage, bool), ImageError> {
    let image = &plan.image.value;
    if plan.is_made() && in_job {
        return Ok((make::find(plan, cache)?, false));
    }
    if plan.is_made() {
        return make::make(plan, modules, cache, internet, progress);
    }
    if let Some(path) = image.path()
        && !path.exists()
    {
        return Err(ImageError::NotThere {
            image: image.to_string(),
        });
    }
    Ok((ready(image.path(), None), false))
}

/// Makes what was left to this job, and returns it; none where nothing was. `progress` gets each line that
/// the makers print.
///
/// # Errors
/// It can't be made; see [`ImageError`].
pub fn make_left(
    json: &RunJson,
    progress: &mut dyn FnMut(&str),
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
    let (image, _) = make::make(plan, modules, cache, Internet::Compute, progress)?;
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
