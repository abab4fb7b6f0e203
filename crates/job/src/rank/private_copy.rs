//! The copy of an image that a container runs in, on the node's own disk.

use super::container::ContainerError;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use train::{ContainerStart, PrivateCopy};

/// A copy, removed when it is dropped.
pub struct Copied {
    copy: PrivateCopy,
    folder: PathBuf,
    /// What stands for the copy in words.
    place: String,
}

impl Copied {
    /// Makes it, where the container runs in one: it starts from the copy then.
    pub fn make(container: &mut ContainerStart) -> Result<Option<Copied>, ContainerError> {
        let Some(copy) = container.copy.clone() else {
            return Ok(None);
        };
        let folder = std::env::temp_dir().join(format!("yard-container-{}", sys::unique()));
        let failed = |source| ContainerError::Folder {
            folder: folder.clone(),
            source,
        };
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(failed)?;
        let is_named = container.runtime == model::ContainerRuntime::Enroot;
        let place = if is_named {
            folder.file_name().unwrap_or_default().display().to_string()
        } else {
            folder.join("image").display().to_string()
        };
        let copied = Copied {
            copy,
            folder,
            place,
        };
        copied.run(&copied.copy.before)?;
        container.image = copied.place.clone();
        Ok(Some(copied))
    }

    /// Saves what the container left.
    pub fn save(&self) -> Result<(), ContainerError> {
        self.run(&self.copy.after)
    }

    fn run(&self, programs: &[Vec<String>]) -> Result<(), ContainerError> {
        for words in programs {
            let words = PrivateCopy::placed(words, &self.place);
            let mut command = Command::new(&words[0]);
            command
                .args(&words[1..])
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            let failed = |source| ContainerError::Copy {
                words: words.join(" "),
                source,
            };
            let status = command.status().map_err(failed)?;
            if !status.success() {
                return Err(failed(io::Error::other(status.to_string())));
            }
        }
        Ok(())
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = self.run(&self.copy.last);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
