//! Enroot without Pyxis.

use super::ContainerStart;
use crate::EnvChange;
use std::collections::BTreeMap;

/// `enroot start OPTIONS IMAGE`. It knows no working folder, so a shell of the image goes there.
pub(super) fn start(container: &ContainerStart, variables: &[String]) -> Vec<String> {
    let mut words = ["enroot", "start"].map(str::to_owned).to_vec();
    if container.writable {
        words.push("--rw".to_owned());
    }
    if container.root {
        words.push("--root".to_owned());
    }
    for mount in &container.mounts {
        let read_only = if mount.read_only { ",ro" } else { "" };
        words.push("--mount".to_owned());
        words.push(format!(
            "{}:{}:none:x-create=auto,rbind{read_only}",
            mount.source, mount.target
        ));
    }
    let home = (!container.home.is_empty()).then(|| format!("HOME={}", container.home));
    for variable in variables.iter().chain(&home) {
        words.extend(["--env".to_owned(), variable.clone()]);
    }
    words.extend(container.options.iter().cloned());
    words.push(container.image.clone());
    let there = ["/bin/sh", "-c", r#"cd "$0" && exec "$@""#].map(str::to_owned);
    words.extend(there);
    words.push(container.workdir.clone());
    words
}

/// Its hook for GPUs asks these.
pub(super) fn environment(
    container: &ContainerStart,
    _: &BTreeMap<String, String>,
) -> BTreeMap<String, EnvChange> {
    let visible = if container.gpus { "all" } else { "void" };
    let default = |name: &str, value: &str| (name.to_owned(), EnvChange::Default(value.to_owned()));
    BTreeMap::from([
        default("NVIDIA_VISIBLE_DEVICES", visible),
        default("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),
    ])
}
