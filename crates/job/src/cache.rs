//! What lies in a cache: environments and images.

use crate::made_once::{Entry, entries};
use crate::{environment, image};
use std::io;
use std::path::{Path, PathBuf};

/// One environment or image of a cache.
#[derive(Debug)]
pub struct Kept {
    /// `environment` or `image`.
    pub kind: &'static str,
    /// Its folder.
    pub place: PathBuf,
    /// What it was made of; `None`: it is half made.
    pub made_of: Option<String>,
    entry: Entry,
}

/// All that lie in a cache.
#[must_use]
pub fn kept(cache: &Path) -> Vec<Kept> {
    let environments = entries(&environment::folder_in(cache)).into_iter();
    let images = entries(&image::folder_in(cache)).into_iter();
    let environments = environments.map(|entry| ("environment", entry));
    let all = environments.chain(images.map(|entry| ("image", entry)));
    all.map(|(kind, entry)| Kept {
        kind,
        place: entry.place(),
        made_of: entry.says(),
        entry,
    })
    .collect()
}

impl Kept {
    /// Removes it; `false` where a process makes it now.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self) -> io::Result<bool> {
        let Some(_lock) = self.entry.hold() else {
            return Ok(false);
        };
        self.entry.remove()?;
        Ok(true)
    }
}
