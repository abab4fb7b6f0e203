//! The user's folders as a value that can be sent: `sys` knows no serialisation.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use sys::Places;

/// The fields of [`Places`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Places")]
pub(crate) struct PlacesValue {
    state: PathBuf,
    cache: PathBuf,
    is_cache_chosen: bool,
    config: PathBuf,
    scratch: PathBuf,
    index: PathBuf,
    host: String,
}
