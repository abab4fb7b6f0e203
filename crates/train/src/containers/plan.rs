//! The container of a plan.

use super::{Image, Mount};
use crate::{Resolved, Source};
use model::{ContainerRuntime, RuntimeCache};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The container that the ranks run in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerPlan {
    /// Its image.
    pub image: Resolved<Image>,
    /// What runs it.
    pub runtime: Resolved<ContainerRuntime>,
    /// What of the node is seen inside, beside what a run needs.
    pub mounts: Resolved<Vec<Mount>>,
    /// Where the ranks start; `None`: in the copy of the code.
    pub workdir: Option<Resolved<PathBuf>>,
    /// The home folder inside; `None`: an empty one on the node's disk.
    pub home: Option<Resolved<PathBuf>>,
    /// Whether the image's entry point starts the ranks.
    pub entrypoint: Resolved<bool>,
    /// Whether the root file system can be written to, until the container ends.
    pub writable: Resolved<bool>,
    /// Whether the ranks start from a copy of the image on the node's own disk; what plans had before
    /// there was the key: no.
    #[serde(default = "from_where_it_lies")]
    pub copy_to_node: Resolved<bool>,
    /// Further options of the runtime's own command line.
    pub options: Resolved<Vec<String>>,
    /// The cache in which the image is kept that is made; `None` where none is, or where that isn't known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<Resolved<PathBuf>>,
    /// Where what makes it keeps what it fetches, where the cluster says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_to: Option<Resolved<RuntimeCache>>,
}

pub(super) fn from_where_it_lies() -> Resolved<bool> {
    Resolved::new(false, Source::default("it starts from where it lies"))
}

impl ContainerPlan {
    /// Whether the image has to be fetched, built or unpacked before: Pyxis fetches by itself, and what starts from a
    /// folder can't mount a file.
    #[must_use]
    pub fn is_made(&self) -> bool {
        match &self.image.value {
            Image::Registry(_) => self.runtime.value != ContainerRuntime::Pyxis,
            Image::Definition(_) | Image::Dockerfile(_) => true,
            Image::Squashfs(_) => matches!(
                self.runtime.value,
                ContainerRuntime::Charliecloud | ContainerRuntime::Podman
            ),
            Image::Sif(_) | Image::Folder(_) => false,
        }
    }

    /// Folders of the run's own folder on a node's disk, `{local}`, that are mounted: they have to be there before.
    pub fn own_folders(&self, local: &Path) -> impl Iterator<Item = PathBuf> {
        let sources = self.mounts.value.iter().map(|mount| &mount.source);
        // Other placeholders are whole paths.
        let below = sources.filter_map(|source| source.strip_prefix("{local}"));
        below.map(|below| local.join(below.trim_start_matches('/')))
    }
}
