//! Why an image is not there.

use crate::made_once::CacheError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why an image is not there. The text is the sentence; [`ImageError::asked`],
/// [`ImageError::there`] and [`ImageError::todo`] are its three parts.
#[derive(Debug, Error)]
pub enum ImageError {
    /// No such file or folder.
    #[error("the image {image} is not there")]
    NotThere {
        /// As the plan has it.
        image: String,
    },
    /// The registry has no such image, or does not show it to everybody.
    #[error("the registry has no image {image}")]
    Unknown {
        /// As the plan has it.
        image: String,
        /// What the program printed last.
        last: String,
        /// Everything that it printed.
        log: PathBuf,
    },
    /// The registry could not be reached now.
    #[error("the image {image} can't be fetched: its registry does not answer")]
    Unreachable {
        /// As the plan has it.
        image: String,
        /// What the program printed last.
        last: String,
        /// Everything that it printed.
        log: PathBuf,
    },
    /// It has to be fetched and can't be, anywhere.
    #[error("the image {image} has to be fetched, and this cluster reaches no registry")]
    NoInternet {
        /// As the plan has it.
        image: String,
    },
    /// What makes images for the runtime is not here.
    #[error("{program}, which makes the image ready, can't be started")]
    NoProgram {
        /// As the plan has it.
        image: String,
        /// The program.
        program: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// It failed.
    #[error("{program} failed to make the image {image} ready")]
    MakerFailed {
        /// As the plan has it.
        image: String,
        /// The program.
        program: &'static str,
        /// What it printed last.
        last: String,
        /// Everything that it printed.
        log: PathBuf,
    },
    /// The recipe can't be read.
    #[error("the recipe {} can't be read", path.display())]
    Recipe {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What it is built of can't be copied for the job that makes it.
    #[error("the files that the recipe copies can't be copied to {}", path.display())]
    Source {
        /// The copy.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The job that makes it would make another one.
    #[error(
        "the recipe {image} or a file that it copies has changed since the run was submitted, or this node has another architecture"
    )]
    Changed {
        /// As the plan has it.
        image: String,
    },
    /// It would be kept as the image of what was there before.
    #[error("{image} or a file that it copies was edited while its image was made")]
    ChangedMeanwhile {
        /// As the plan has it.
        image: String,
    },
    /// The cache can't be written.
    #[error("the cache of images can't be written")]
    Cache(#[from] CacheError),
}

impl ImageError {
    /// What was asked, in the run file's words.
    #[must_use]
    pub fn asked(&self) -> String {
        match self {
            ImageError::NotThere { image }
            | ImageError::Unknown { image, .. }
            | ImageError::Unreachable { image, .. }
            | ImageError::NoInternet { image }
            | ImageError::Changed { image }
            | ImageError::ChangedMeanwhile { image }
            | ImageError::NoProgram { image, .. }
            | ImageError::MakerFailed { image, .. } => format!("image = {image:?}"),
            ImageError::Recipe { path, .. } | ImageError::Source { path, .. } => {
                format!("image = {path:?}")
            }
            ImageError::Cache(error) => error.path.display().to_string(),
        }
    }

    /// What there is; several lines where a program said several.
    #[must_use]
    pub fn there(&self) -> String {
        match self {
            ImageError::NotThere { .. } => "no such file or folder".to_owned(),
            ImageError::Unknown { last, log, .. }
            | ImageError::Unreachable { last, log, .. }
            | ImageError::MakerFailed { last, log, .. } => {
                format!("{last}\nall of it is in {}", log.display())
            }
            ImageError::NoInternet { .. } => {
                "neither this machine nor the nodes reach the outside".to_owned()
            }
            ImageError::Changed { .. } => "another content, or another machine".to_owned(),
            ImageError::ChangedMeanwhile { .. } => "files with another content".to_owned(),
            ImageError::NoProgram { source, .. }
            | ImageError::Recipe { source, .. }
            | ImageError::Source { source, .. }
            | ImageError::Cache(CacheError { source, .. }) => source.to_string(),
        }
    }

    /// What to do.
    #[must_use]
    pub fn todo(&self) -> &'static str {
        match self {
            ImageError::NotThere { .. } | ImageError::Recipe { .. } => {
                "correct the path of the image, or put it there"
            }
            ImageError::Unknown { .. } => {
                "correct its name and tag; for a private one log in with the runtime first"
            }
            ImageError::Unreachable { .. } => {
                "check the address, the network or proxy (https_proxy), then run again"
            }
            ImageError::NoInternet { .. } => {
                "make the image elsewhere, copy it, and name the file or folder as image"
            }
            ImageError::NoProgram { .. } => {
                "have it on PATH, or name the module that brings it in [environment] modules"
            }
            ImageError::Changed { .. } => {
                "submit the run again, from a machine of the nodes' kind, and leave the files as they are until \
                 its image is made; name what the image does not need in .dockerignore: up to 200 MB are copied \
                 when the run is submitted, and may change then"
            }
            ImageError::ChangedMeanwhile { .. } => {
                "run again, nothing of it was kept; name what programs write there meanwhile in .dockerignore"
            }
            ImageError::Source { .. } => "make the files readable, and free space there",
            ImageError::MakerFailed { .. } => "correct what those lines say; then run again",
            ImageError::Cache(_) => "free space there, or set XDG_CACHE_HOME",
        }
    }
}
