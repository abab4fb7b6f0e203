//! Where images of containers are kept.

use std::path::{Path, PathBuf};
use sys::users::this_user;
use sys::{Places, private_folder};

/// The folder below which a run on a cluster keeps its images: the user's cache, unless the cluster's
/// file names a folder for images (`[containers] images`).
#[must_use]
pub fn image_cache(facts: &model::ClusterFacts, places: &Places) -> PathBuf {
    let named = facts.containers.images.as_deref();
    let own = named.and_then(|images| own_folder(images, this_user()));
    own.unwrap_or_else(|| places.cache.clone())
}

/// The user's folder in that one for images; `None` where that is not there, as one of another machine's.
fn own_folder(images: &Path, user: &str) -> Option<PathBuf> {
    let is_there = of_that_user(images, user).is_dir();
    is_there.then(|| image_folder(images, user, &private_folder::of_user))
}

/// The user's folder in that one for images, whether it is there or not. `of_user` names it where users share one.
pub(crate) fn image_folder(
    images: &Path,
    user: &str,
    of_user: &dyn Fn(&Path, &str) -> PathBuf,
) -> PathBuf {
    let folder = of_that_user(images, user);
    if folder != images {
        folder.join("trainyard")
    } else {
        // One that all users share holds a folder of each, which is closed to others.
        of_user(&folder, &format!("trainyard-{user}"))
    }
}

fn of_that_user(images: &Path, user: &str) -> PathBuf {
    PathBuf::from(images.display().to_string().replace("$USER", user))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first user's folder was everybody's, and closed to the others.
    #[test]
    fn users_who_share_a_folder_for_images_have_one_each_in_it() {
        let root = tempfile::tempdir().unwrap();
        let shared = root.path().join("images");
        std::fs::create_dir_all(shared.join("ada")).unwrap();
        let check = |images: PathBuf, want: Option<PathBuf>| {
            assert_eq!(own_folder(&images, "ada"), want, "{}", images.display());
        };
        check(shared.clone(), Some(shared.join("trainyard-ada")));
        check(shared.join("$USER"), Some(shared.join("ada/trainyard")));
        check(root.path().join("elsewhere"), None);
    }
}
