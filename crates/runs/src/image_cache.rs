//! Where images of containers are kept.

use std::path::{Path, PathBuf};
use sys::Places;

/// The folder below which a run on a cluster keeps its images: the user's cache, unless the cluster's
/// file names a folder for images (`[containers] images`).
#[must_use]
pub fn image_cache(facts: &model::ClusterFacts, places: &Places) -> PathBuf {
    let Some(shared) = &facts.containers.images else {
        return places.cache.clone();
    };
    let shared = shared.display().to_string();
    let shared = shared.replace("$USER", &crate::run_request::user().unwrap_or_default());
    // One that is not there is another machine's.
    if Path::new(&shared).is_dir() {
        Path::new(&shared).join("trainyard")
    } else {
        places.cache.clone()
    }
}
