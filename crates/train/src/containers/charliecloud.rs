//! Charliecloud.

use super::ContainerStart;
use super::passed::{MISLEADING, PATH};
use crate::EnvChange;
use std::collections::BTreeMap;

/// `ch-run OPTIONS IMAGE --`. It hands on all variables of the node: those that would lead the image's
/// programs astray are removed, before the image's own are set.
pub(super) fn start(container: &ContainerStart, variables: &[String]) -> Vec<String> {
    let is_own = |name: &str| variables.iter().any(|own| own == name);
    let mut words = vec!["ch-run".to_owned()];
    let misleading = MISLEADING.into_iter().filter(|name| !is_own(name));
    words.extend(misleading.map(|name| format!("--unset-env={name}")));
    if !is_own("PATH") {
        words.push(format!("--set-env=PATH={PATH}"));
    }
    match &container.image_variables {
        Some(file) => words.push(format!("--set-env={}", file.display())),
        None if container.has_environment => words.push("--set-env".to_owned()),
        None => {}
    }
    if container.root {
        words.extend(["--uid=0", "--gid=0"].map(str::to_owned));
    }
    if container.is_own {
        words.push("--write".to_owned());
    }
    if !container.home.is_empty() && !is_own("HOME") {
        words.push(format!("--set-env=HOME={}", container.home));
    }
    let binds = container.mounts.iter();
    words.extend(binds.map(|mount| format!("--bind={}", mount.colons())));
    words.push(format!("--cd={}", container.workdir));
    words.extend(container.options.iter().cloned());
    words.push(container.image.clone());
    words.push("--".to_owned());
    words
}

/// It ends without a name of the user.
pub(super) fn environment(
    _: &ContainerStart,
    _: &BTreeMap<String, String>,
) -> BTreeMap<String, EnvChange> {
    BTreeMap::from([("USER".to_owned(), EnvChange::Default("user".to_owned()))])
}
