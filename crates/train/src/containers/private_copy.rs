//! A container whose changes are kept: it runs in a copy of its image, which is saved or removed.

use super::Image;
use model::ContainerRuntime;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The programs that make a copy of an image before a container starts, and save it when it has
/// ended. In their words [`PrivateCopy::PLACE`] stands for where the copy is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateCopy {
    /// Make it.
    pub before: Vec<Vec<String>>,
    /// Save it; empty where changes are lost with the container.
    pub after: Vec<Vec<String>>,
    /// Remove what the runtime itself keeps of it.
    pub last: Vec<Vec<String>>,
}

impl PrivateCopy {
    /// What stands for the copy's folder, a name on the node that no other container has.
    pub const PLACE: &str = "{copy}";

    /// The words with the copy's place; a runtime that keeps containers by name gets its last part.
    #[must_use]
    pub fn placed(words: &[String], place: &str) -> Vec<String> {
        let words = words.iter();
        words
            .map(|word| word.replace(PrivateCopy::PLACE, place))
            .collect()
    }

    /// Of an image that is kept in `save`, where that is set.
    ///
    /// # Errors
    /// The runtime can't save such an image; in words what it saves.
    pub fn of(
        runtime: ContainerRuntime,
        image: &str,
        save: Option<&Image>,
    ) -> Result<PrivateCopy, &'static str> {
        let place = PrivateCopy::PLACE;
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let saved = |save: &Path| save.display().to_string();
        let into_folder =
            |save: &Path| words(&["mv", "--no-target-directory", place, &saved(save)]);
        let before = copy(runtime, image, place);
        let (after, last) = match (runtime, save) {
            (ContainerRuntime::Pyxis, _) => return Err("srun saves it, by --container-save"),
            (ContainerRuntime::Enroot, None) => (
                Vec::new(),
                vec![words(&["enroot", "remove", "--force", place])],
            ),
            (ContainerRuntime::Enroot, Some(Image::Squashfs(save))) => (
                vec![words(&[
                    "enroot",
                    "export",
                    "--output",
                    &saved(save),
                    place,
                ])],
                vec![words(&["enroot", "remove", "--force", place])],
            ),
            (ContainerRuntime::Enroot, Some(_)) => return Err("enroot saves a .sqsh file"),
            (_, None) => (Vec::new(), Vec::new()),
            (
                ContainerRuntime::Apptainer | ContainerRuntime::Singularity,
                Some(Image::Sif(save)),
            ) => (
                vec![words(&[runtime.word(), "build", &saved(save), place])],
                Vec::new(),
            ),
            (_, Some(Image::Folder(save))) => (vec![into_folder(save)], Vec::new()),
            (ContainerRuntime::Apptainer | ContainerRuntime::Singularity, Some(_)) => {
                return Err("it saves a .sif file or a folder");
            }
            (
                ContainerRuntime::Charliecloud | ContainerRuntime::Podman,
                Some(Image::Squashfs(save)),
            ) => (
                vec![words(&[
                    "mksquashfs",
                    place,
                    &saved(save),
                    "-noappend",
                    "-quiet",
                    "-no-progress",
                ])],
                Vec::new(),
            ),
            (ContainerRuntime::Charliecloud | ContainerRuntime::Podman, Some(_)) => {
                return Err("it saves a folder or a .sqsh file");
            }
        };
        Ok(PrivateCopy {
            before: vec![before],
            after,
            last,
        })
    }
}

/// The program that copies an image to a place where a container can write to it.
#[must_use]
pub fn copy(runtime: ContainerRuntime, image: &str, place: &str) -> Vec<String> {
    let words: &[&str] = match runtime {
        ContainerRuntime::Apptainer | ContainerRuntime::Singularity => {
            &[runtime.word(), "build", "--sandbox", place, image]
        }
        ContainerRuntime::Enroot | ContainerRuntime::Pyxis => {
            &["enroot", "create", "--name", place, image]
        }
        ContainerRuntime::Charliecloud | ContainerRuntime::Podman => {
            &["cp", "-a", "--reflink=auto", image, place]
        }
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}
