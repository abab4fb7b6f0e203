//! What runs containers.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// What runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerRuntime {
    /// `apptainer exec IMAGE …`
    Apptainer,
    /// `singularity exec IMAGE …`
    Singularity,
    /// `srun --container-image=IMAGE …`
    Pyxis,
    /// `enroot start NAME …`
    Enroot,
    /// `podman run IMAGE …`
    Podman,
    /// `ch-run IMAGE -- …`
    Charliecloud,
}

impl ContainerRuntime {
    /// All of them, in the order in which one is chosen where a machine has several.
    pub const ALL: [ContainerRuntime; 6] = [
        ContainerRuntime::Apptainer,
        ContainerRuntime::Singularity,
        ContainerRuntime::Pyxis,
        ContainerRuntime::Enroot,
        ContainerRuntime::Charliecloud,
        ContainerRuntime::Podman,
    ];

    /// The word in cluster files and run files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ContainerRuntime::Apptainer => "apptainer",
            ContainerRuntime::Singularity => "singularity",
            ContainerRuntime::Pyxis => "pyxis",
            ContainerRuntime::Enroot => "enroot",
            ContainerRuntime::Podman => "podman",
            ContainerRuntime::Charliecloud => "charliecloud",
        }
    }

    /// The program that starts a container; `None` of Pyxis, which is a part of `srun`.
    #[must_use]
    pub fn program(self) -> Option<&'static str> {
        match self {
            ContainerRuntime::Pyxis => None,
            ContainerRuntime::Charliecloud => Some("ch-run"),
            other => Some(other.word()),
        }
    }
}

impl fmt::Display for ContainerRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a cluster has for containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerFacts {
    /// What runs them, the preferred one first; empty where none is known.
    pub runtimes: Vec<ContainerRuntime>,
    /// The environment module that brings it.
    pub module: Option<String>,
    /// The shared folder in which images are kept; `None`: the user's cache.
    pub images: Option<PathBuf>,
    /// Where what runs them keeps what it fetches, as it knows; `None`: where it likes.
    #[serde(default)]
    pub cache: Option<RuntimeCache>,
}

/// A folder for what a container runtime fetches, which its own program knows by a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeCache {
    /// The variable, such as `APPTAINER_CACHEDIR`.
    pub variable: String,
    /// The folder, perhaps with `$USER` in it.
    pub folder: String,
}

impl fmt::Display for RuntimeCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.variable, self.folder)
    }
}
