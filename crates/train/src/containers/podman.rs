//! Podman.

use super::ContainerStart;

/// `podman run OPTIONS --rootfs IMAGE:O`: the image is a folder, with what is written to it apart.
/// Network and processes are the node's, so that ranks meet and are seen by the agent.
pub(super) fn start(container: &ContainerStart, variables: &[String]) -> Vec<String> {
    let mut words = [
        "podman",
        "run",
        "--rm",
        "--network=host",
        "--pid=host",
        "--ipc=host",
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(name) = &container.name {
        words.push(format!("--name={name}"));
    }
    if container.gpus {
        words.push("--device=nvidia.com/gpu=all".to_owned());
    }
    let devices = container.network_devices.iter();
    words.extend(devices.map(|folder| format!("--device={folder}")));
    if !container.network_devices.is_empty() {
        // What such a network sends is locked in memory, of which a container may lock little by itself.
        words.push("--ulimit=host".to_owned());
    }
    if !container.writable {
        words.push("--read-only".to_owned());
    }
    let volumes = container.mounts.iter();
    words.extend(volumes.map(|mount| format!("--volume={}", mount.colons())));
    if container.puts_over_image() {
        // What the rank brings holds over these.
        words.push(format!("--env-file={}/ch/environment", container.image));
    }
    let names = variables.iter();
    words.extend(names.map(|name| format!("--env={name}")));
    if !container.home.is_empty() {
        words.push(format!("--env=HOME={}", container.home));
    }
    words.push(format!("--workdir={}", container.workdir));
    words.extend(container.options.iter().cloned());
    words.push("--rootfs".to_owned());
    words.push(if container.is_own {
        container.image.clone()
    } else {
        format!("{}:O", container.image)
    });
    words
}

/// A container is no child of `podman run`, and goes on where that is killed. What the first command ends the second
/// removes, where nothing else has.
pub(super) fn end(name: &str) -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    vec![
        words(&["podman", "kill", name]),
        words(&["podman", "rm", "--force", name]),
    ]
}
