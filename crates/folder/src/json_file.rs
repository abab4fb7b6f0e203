//! JSON files that are whole or not there.

use crate::FolderError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use sys::named_file::open_regular;

/// Reads one. A pipe, which another user may have put there, is not waited for.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_regular(File::options().read(true), path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|source| FolderError::Read {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&bytes).map_err(|source| FolderError::Garbled {
        path: path.to_owned(),
        source,
    })
}

/// Writes one, durably.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), FolderError> {
    write_by(sys::atomic::write, path, value)
}

/// The same for the user's eyes alone.
pub(crate) fn write_private<T: Serialize>(path: &Path, value: &T) -> Result<(), FolderError> {
    write_by(sys::atomic::write_private, path, value)
}

fn write_by<T: Serialize>(
    write: impl FnOnce(&Path, &[u8]) -> std::io::Result<()>,
    path: &Path,
    value: &T,
) -> Result<(), FolderError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|source| FolderError::Garbled {
        path: path.to_owned(),
        source,
    })?;
    bytes.push(b'\n');
    write(path, &bytes).map_err(|source| FolderError::Write {
        path: path.to_owned(),
        source,
    })
}
