//! What a whole checkpoint consists of.

use crate::Attempt;
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
    /// Which nodes' parts it was put together from.
    #[serde(default)]
    pub parts: Parts,
    /// All that it consists of.
    #[serde(flatten)]
    pub contents: Contents,
}

/// Which nodes' parts a checkpoint was put together from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// The nodes that gave one.
    pub nodes: Vec<String>,
    /// How many disks the nodes of the job had; 0: not known.
    pub of: usize,
    /// How many parts it lacks that others of its series have. It is kept, and resumed from only where no
    /// other lacks nothing.
    pub lacks: usize,
    /// Whether a start has resumed from an older one although this one is there: it is written again then, and
    /// no part that comes belongs to it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed_over: bool,
    /// Whether no other of its series had told how many nodes have a part, and not all gave one: a part that
    /// comes later joins it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// The start that wrote them, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Attempt>,
}

impl Parts {
    /// Whether what that start wrote belongs to them: one start's parts are never put beside another's.
    #[must_use]
    pub fn is_of(&self, start: Option<Attempt>) -> bool {
        self.start.is_none() || start.is_none() || self.start == start
    }

    /// Whether a part that comes later joins it, as far as their number tells.
    #[must_use]
    pub fn may_grow(&self) -> bool {
        self.lacks > 0 || self.unconfirmed
    }
}

/// What an entry consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// All its files, by path.
    pub files: Vec<FileHash>,
    /// Symbolic links that stay within the entry, by path.
    #[serde(default)]
    pub links: Vec<LinkInside>,
    /// Folders that hold nothing, by path.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// When the program wrote the last of its files, by the node's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Timestamp>,
}

/// A symbolic link of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkInside {
    /// Its path below the entry.
    pub path: PathBuf,
    /// What it says: relative, and within the entry.
    pub target: PathBuf,
}

impl From<Vec<FileHash>> for Contents {
    fn from(files: Vec<FileHash>) -> Contents {
        Contents {
            files,
            ..Contents::default()
        }
    }
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
