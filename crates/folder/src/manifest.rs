//! What a whole checkpoint consists of.

use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `checkpoints/.manifests/<name>.json`: the files of one checkpoint with sizes and hashes. A
/// checkpoint counts as whole when its manifest is there and the sizes fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The checkpoint's name in `checkpoints/`.
    pub name: String,
    /// The last integer of the name.
    pub step: Option<u64>,
    /// When it was published.
    pub at: Timestamp,
    /// Whether it was seen to be whole, and not only that nothing changed.
    pub proven: bool,
    /// All its files, by path.
    pub files: Vec<FileHash>,
}

/// One file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// Its path below the entry; empty where the entry is a file itself.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 of its bytes, in hex.
    pub blake3: String,
}
