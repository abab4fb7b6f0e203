//! Containers: what starts a rank inside one, a row for each runtime.
//!
//! A further runtime is a variant of [`ContainerRuntime`], a row of [`ROWS`] and a file with the words
//! that it is started by.

mod apptainer;
mod charliecloud;
mod enroot;
mod image;
mod mount;
mod of_step;
mod passed;
mod plan;
mod podman;
mod private_copy;
mod pyxis;
mod resolve;
mod start;

pub use image::Image;
pub use mount::Mount;
pub use of_step::StepPlace;
pub use passed::{is_misleading, is_passed};
pub use plan::ContainerPlan;
pub use private_copy::{PrivateCopy, copy as copy_words};
pub use pyxis::address as enroot_address;
pub(crate) use resolve::resolve;
pub use start::{ContainerPlace, ContainerStart};

use crate::EnvChange;
use model::ContainerRuntime;
use std::collections::BTreeMap;

/// A runtime.
struct Row {
    runtime: ContainerRuntime,
    /// What it does, in a sentence.
    doc: &'static str,
    /// Whether it can run an image, or make what it runs of it.
    takes: fn(&Image) -> bool,
    /// What it can run, in words.
    images: &'static str,
    /// Whether it knows an image's entry point.
    has_entrypoint: bool,
    /// Whether a container's root file system can be written to, without a change to the image.
    is_writable: bool,
    /// Whether a mount can be for reading alone.
    mounts_read_only: bool,
    /// The words before the rank's command.
    start: fn(&ContainerStart, &[String]) -> Vec<String>,
    /// What changes in the runtime's own environment, by the variables that are set inside.
    environment: fn(&ContainerStart, &BTreeMap<String, String>) -> BTreeMap<String, EnvChange>,
    /// The commands that end a container of a name where it goes on though what started it was killed.
    end: fn(&str) -> Vec<Vec<String>>,
}

const APPTAINER: Row = Row {
    runtime: ContainerRuntime::Apptainer,
    doc: "`apptainer exec` starts each rank, with nothing of the node inside but what is mounted.",
    takes: |image| !matches!(image, Image::Dockerfile(_)),
    images: "an image in a registry, .sif, .sqsh, a folder or a .def file",
    has_entrypoint: true,
    is_writable: true,
    mounts_read_only: true,
    start: apptainer::start,
    environment: apptainer::environment,
    end: |_| Vec::new(),
};

/// All of them, in the order of [`ContainerRuntime::ALL`].
const ROWS: [Row; ContainerRuntime::ALL.len()] = [
    APPTAINER,
    Row {
        runtime: ContainerRuntime::Singularity,
        doc: "As with Apptainer, by the program `singularity`.",
        ..APPTAINER
    },
    Row {
        runtime: ContainerRuntime::Pyxis,
        doc: "`srun` starts the containers by its plugin Pyxis, and the rank wrapper inside them.",
        takes: |image| matches!(image, Image::Registry(_) | Image::Squashfs(_)),
        images: "an image in a registry or .sqsh",
        has_entrypoint: true,
        is_writable: true,
        mounts_read_only: true,
        start: |_, _| Vec::new(),
        environment: pyxis::environment,
        end: |_| Vec::new(),
    },
    Row {
        runtime: ContainerRuntime::Enroot,
        doc: "`enroot start` starts each rank. An image's own start script, `/etc/rc`, always runs.",
        takes: |image| matches!(image, Image::Registry(_) | Image::Squashfs(_)),
        images: "an image in a registry or .sqsh",
        has_entrypoint: true,
        is_writable: true,
        mounts_read_only: true,
        start: enroot::start,
        environment: enroot::environment,
        end: |_| Vec::new(),
    },
    Row {
        runtime: ContainerRuntime::Charliecloud,
        doc: "`ch-run` starts each rank from a folder. It knows no entry points.",
        takes: |image| {
            matches!(
                image,
                Image::Registry(_) | Image::Squashfs(_) | Image::Folder(_) | Image::Dockerfile(_)
            )
        },
        images: "an image in a registry, .sqsh, a folder or a Dockerfile",
        has_entrypoint: false,
        is_writable: false,
        mounts_read_only: false,
        start: charliecloud::start,
        environment: charliecloud::environment,
        end: |_| Vec::new(),
    },
    Row {
        runtime: ContainerRuntime::Podman,
        doc: "`podman run` starts each rank from a folder, in the node's network.",
        takes: |image| {
            matches!(
                image,
                Image::Registry(_) | Image::Squashfs(_) | Image::Folder(_) | Image::Dockerfile(_)
            )
        },
        images: "an image in a registry, .sqsh, a folder or a Dockerfile",
        has_entrypoint: false,
        is_writable: true,
        mounts_read_only: true,
        start: podman::start,
        environment: |_, _| BTreeMap::new(),
        end: podman::end,
    },
];

impl Row {
    fn of(runtime: ContainerRuntime) -> &'static Row {
        static TABLE: [Row; ROWS.len()] = ROWS;
        let row = TABLE.iter().find(|row| row.runtime == runtime);
        row.expect("every runtime has a row: a test walks them")
    }
}

/// What a runtime does, in a sentence; and what it can run.
#[must_use]
pub fn about(runtime: ContainerRuntime) -> (&'static str, &'static str) {
    let row = Row::of(runtime);
    (row.doc, row.images)
}

/// The words of a run file, each with its runtime.
pub(crate) const WORDS: [(&str, ContainerRuntime); ContainerRuntime::ALL.len()] = [
    ("apptainer", ContainerRuntime::Apptainer),
    ("singularity", ContainerRuntime::Singularity),
    ("pyxis", ContainerRuntime::Pyxis),
    ("enroot", ContainerRuntime::Enroot),
    ("charliecloud", ContainerRuntime::Charliecloud),
    ("podman", ContainerRuntime::Podman),
];

#[cfg(test)]
mod tests;
