//! Apptainer, and Singularity, from which it comes.

use super::ContainerStart;
use crate::EnvChange;
use std::collections::BTreeMap;

/// `apptainer exec OPTIONS IMAGE`. Nothing of the node is seen but what is named, as `--contain` and
/// `--cleanenv` have it; with a variable's prefix it is set inside all the same.
pub(super) fn start(container: &ContainerStart, _: &[String]) -> Vec<String> {
    let action = if container.entrypoint { "run" } else { "exec" };
    let mut words = [container.runtime.word(), action, "--cleanenv", "--contain"]
        .map(str::to_owned)
        .to_vec();
    if container.gpus {
        words.push("--nv".to_owned());
    }
    if container.is_own {
        words.push("--writable".to_owned());
    } else if container.writable {
        words.push("--writable-tmpfs".to_owned());
    }
    if container.root {
        words.push("--fakeroot".to_owned());
    }
    words.push(if container.home.is_empty() {
        "--no-home".to_owned()
    } else {
        format!("--home={}", container.home)
    });
    // `--contain` leaves a few devices, and a small memory of each container's own where the ranks of a node
    // exchange what they don't send over the network.
    words.push("--bind=/dev/shm".to_owned());
    let devices = container.network_devices.iter();
    words.extend(devices.map(|folder| format!("--bind={folder}")));
    let binds = container.mounts.iter();
    words.extend(binds.map(|mount| format!("--bind={}", mount.colons())));
    words.push(format!("--pwd={}", container.workdir));
    words.extend(container.options.iter().cloned());
    words.push(container.image.clone());
    words
}

/// Singularity knows its own prefix alone, and Apptainer both.
pub(super) fn environment(
    container: &ContainerStart,
    variables: &BTreeMap<String, String>,
) -> BTreeMap<String, EnvChange> {
    let prefix = container.runtime.word().to_uppercase();
    let inside = variables.iter();
    inside
        .map(|(name, value)| {
            let name = format!("{prefix}ENV_{name}");
            // It evaluates what it sets inside as a shell does between double quotes.
            let plain = value
                .replace('\\', "\\\\")
                .replace('$', "\\$")
                .replace('`', "\\`");
            (name, EnvChange::Set(plain))
        })
        .collect()
}
