//! A rank inside a container: the wrapper stays outside.

use super::{Variables, change, image_on_node, image_variables, mount_points, program};
use crate::cache;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use train::{ContainerStart, RankCommand, is_passed};

/// Why a container can't be started on this node.
#[derive(Debug, Error)]
pub enum ContainerError {
    /// The runtime's program is not there.
    #[error(
        "[environment.container] runs with {runtime}, and {program:?} is not on PATH of this node; name a module that brings it in [environment] modules, or another runtime"
    )]
    NoRuntime {
        /// Its word.
        runtime: &'static str,
        /// What was looked for.
        program: String,
    },
    /// The image is not there.
    #[error(
        "[environment.container] starts from {image:?}, which is not there on this node; put the image on a file system that the nodes share, which /tmp is not"
    )]
    NoImage {
        /// Its file or folder.
        image: PathBuf,
    },
    /// The image's places for mounts can't be looked at, or made in a copy of it.
    #[error("what {image:?} has to mount on can't be found or made")]
    ImagePlaces {
        /// The image's folder.
        image: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The image has no place for a mount, and none can be shown beside what it has.
    #[error(
        "the image {image:?} has no {place:?} to mount on, and this system can't show one there without a change to the image; make it in the image, or set copy_to_node = true in [environment.container], which makes it in the node's copy"
    )]
    MountPoints {
        /// The image's folder.
        image: PathBuf,
        /// Seen from inside, one of those that it lacks.
        place: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The image can't be copied, or its copy not be saved.
    #[error("the copy of the image that the container writes to failed: {words}")]
    Copy {
        /// The program with its words.
        words: String,
        /// How it ended.
        source: io::Error,
    },
    /// The image's own variables can't be read, or can't be handed to the runtime.
    #[error("the variables of the image in {file:?} can't be read")]
    ImageVariables {
        /// Where it has them.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The image can't be copied to the node.
    #[error(
        "copy_to_node = true in [environment.container]: {image:?} can't be copied to {to:?}; make room on the node's disk, or leave it out"
    )]
    OnNode {
        /// The image.
        image: PathBuf,
        /// Its copy.
        to: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder that the container gets can't be made.
    #[error("{folder:?} can't be made for the container")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A rank that starts inside a container.
pub struct Inside<'a> {
    pub container: &'a ContainerStart,
    pub rank: &'a RankCommand,
    /// Variables that it gets beside those of its job.
    pub secrets: &'a BTreeMap<String, String>,
    /// What the container is called, where its runtime keeps a list and another process may have to end it.
    pub name: Option<String>,
    /// Which of its variables hold where the image has another value.
    pub over_image: OverImage<'a>,
}

/// Which of the variables that come from outside hold over those of the image.
#[derive(Clone, Copy)]
pub enum OverImage<'a> {
    /// All: a run's ranks are started with them.
    All,
    /// Those of these names.
    Named(&'a [String]),
}

impl Inside<'_> {
    /// The runtime's program and its words. `variables`, the rank's, become those of the runtime.
    pub fn start(
        &self,
        cwd: &Path,
        variables: &mut Variables,
    ) -> Result<(PathBuf, Vec<String>), ContainerError> {
        let container = self.container;
        for folder in container.made.iter().map(PathBuf::from) {
            std::fs::create_dir_all(&folder)
                .map_err(|source| ContainerError::Folder { folder, source })?;
        }
        if let Some(lock) = &container.in_use {
            cache::keep_for_programs(lock);
        }
        let image = PathBuf::from(&container.image);
        // One of a registry, which Pyxis fetches, is no path.
        if image.is_absolute() && !image.exists() {
            return Err(ContainerError::NoImage { image });
        }
        let image = match &container.on_node {
            Some(place) => {
                let place = PathBuf::from(place);
                image_on_node::copy(&image, &place).map_err(|source| ContainerError::OnNode {
                    image: image.clone(),
                    to: place.clone(),
                    source,
                })?;
                place
            }
            None => image,
        };
        let no_places = |source| ContainerError::ImagePlaces {
            image: image.clone(),
            source,
        };
        let missing = if container.needs_mount_points() {
            let mut mounts = mount_points::of_charliecloud();
            mounts.extend(container.mounts.iter().cloned());
            mount_points::missing(&image, &mounts).map_err(no_places)?
        } else {
            Vec::new()
        };
        let is_copy = container.is_own || container.on_node.is_some();
        if is_copy {
            mount_points::make(&image, &missing).map_err(no_places)?;
        }
        // One that is no text can't be handed on by a name and a value.
        let texts = variables.iter();
        let texts = texts.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let inside: BTreeMap<String, String> = texts
            .filter(|(name, _)| is_passed(name, self.rank) || self.secrets.contains_key(*name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        change(variables, &container.environment(&inside));
        let mut names: Vec<String> = inside.into_keys().collect();
        if container.puts_over_image()
            && let OverImage::Named(named) = self.over_image
        {
            let is_of_image = image_variables::set_by(&image)?;
            names.retain(|name| named.contains(name) || !is_of_image(name));
        }
        let mut container = container.clone();
        container.network_devices = network_devices(Path::new("/dev"));
        container.name.clone_from(&self.name);
        if container.sets_image_variables() {
            let holds = |name: &&String| match self.over_image {
                OverImage::All => true,
                OverImage::Named(named) => named.contains(name),
            };
            let over_image: Vec<&str> = names.iter().filter(holds).map(String::as_str).collect();
            container.image_variables = image_variables::without(&image, &over_image)?;
        }
        let words = container.words(&names, &self.rank.argv);
        let program = program::find(&words, cwd, variables);
        let program = program.map_err(|_| ContainerError::NoRuntime {
            runtime: container.runtime.word(),
            program: words.first().cloned().unwrap_or_default(),
        })?;
        if is_copy || missing.is_empty() {
            return Ok((program, words));
        }
        mount_points::shown_to((program, words), &image, &missing).map_err(no_places)
    }
}

/// The folders of devices of a faster network that a node has: InfiniBand's, and what else speaks its verbs.
fn network_devices(devices: &Path) -> Vec<String> {
    let folder = devices.join("infiniband");
    let there = folder.is_dir().then(|| folder.display().to_string());
    there.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::network_devices;

    #[test]
    fn a_fast_network_of_the_node_is_shown_inside() {
        let devices = tempfile::tempdir().unwrap();
        assert!(network_devices(devices.path()).is_empty());
        let folder = devices.path().join("infiniband");
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(
            network_devices(devices.path()),
            [folder.display().to_string()]
        );
    }
}
