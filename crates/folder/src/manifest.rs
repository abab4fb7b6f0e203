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

/// The step in a checkpoint's name: its last integer that is not part of the ending, as in
/// `step-260.npz`, `epoch=3-step=1000.ckpt`, `checkpoint-500`, `global_step5`, `260`.
#[must_use]
pub fn step_of(name: &str) -> Option<u64> {
    let stem = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && is_ending(ending) => stem,
        _ => name,
    };
    let end = stem.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let start = stem[..end]
        .rfind(|letter: char| !letter.is_ascii_digit())
        .map_or(0, |at| {
            at + stem[at..].chars().next().map_or(1, char::len_utf8)
        });
    stem[start..end].parse().ok()
}

/// `npz`, `ckpt`, `mp4`, `h5`: begins with a letter.
fn is_ending(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, want: Option<u64>) {
        assert_eq!(step_of(name), want, "{name}");
    }

    #[test]
    fn steps() {
        check("step-00000260.npz", Some(260));
        check("epoch=3-step=1000.ckpt", Some(1000));
        check("checkpoint-500", Some(500));
        check("global_step5", Some(5));
        check("260", Some(260));
        check("weights.42.h5", Some(42));
        check("model.h5", None);
        check("v2.500", Some(500));
        check("last", None);
        check("ünd7ü.pt", Some(7));
        check("99999999999999999999999", None);
        check("", None);
    }
}
