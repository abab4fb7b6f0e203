//! JSON files that are whole or not there.

use crate::FolderError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads one.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    let bytes = std::fs::read(path).map_err(|source| FolderError::Read {
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
