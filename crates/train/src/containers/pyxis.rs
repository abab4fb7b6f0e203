//! Pyxis: `srun` itself starts the containers.

use super::ContainerStart;
use crate::EnvChange;
use std::collections::BTreeMap;

/// The options of `srun`. The home folder of the user is not mounted.
pub(super) fn options(container: &ContainerStart) -> Vec<String> {
    let mounts: Vec<String> = container.mounts.iter().map(super::Mount::colons).collect();
    let entrypoint = if container.entrypoint {
        "--container-entrypoint"
    } else {
        "--no-container-entrypoint"
    };
    let mut options = vec![
        format!("--container-image={}", container.image),
        format!("--container-mounts={}", mounts.join(",")),
        format!("--container-workdir={}", container.workdir),
        "--no-container-mount-home".to_owned(),
        entrypoint.to_owned(),
    ];
    if container.writable {
        options.push("--container-writable".to_owned());
    }
    options.extend(container.options.iter().cloned());
    options
}

/// The home folder that the image has, or that comes from the node, is not the run's.
pub(super) fn environment(
    container: &ContainerStart,
    _: &BTreeMap<String, String>,
) -> BTreeMap<String, EnvChange> {
    BTreeMap::from([("HOME".to_owned(), EnvChange::Set(container.home.clone()))])
}

/// An address as Enroot has it: a `#` after the registry's name, which is one where it has a dot, a
/// colon or is `localhost`.
#[must_use]
pub fn address(address: &str) -> String {
    match address.split_once('/') {
        Some((registry, rest)) if registry.contains(['.', ':']) || registry == "localhost" => {
            format!("{registry}#{rest}")
        }
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_set_off() {
        let check = |text: &str, want: &str| assert_eq!(address(text), want);
        check(
            "nvcr.io/nvidia/pytorch:24.01",
            "nvcr.io#nvidia/pytorch:24.01",
        );
        check("localhost:5000/a", "localhost:5000#a");
        check("ubuntu:22.04", "ubuntu:22.04");
        check("library/ubuntu", "library/ubuntu");
    }
}
