//! What a whole checkpoint consists of.

use crate::Attempt;
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

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

    /// Whether these, of a name that is written again, must not take the place of `saved`, which has the parts of
    /// all: others may still come, and until then the saved one is the only whole one.
    #[must_use]
    pub fn are_fewer_than(&self, saved: &Parts) -> bool {
        let asked = if saved.of == self.of || saved.nodes.len() <= 1 {
            saved.nodes.len()
        } else {
            // Of another number of nodes: all had a part, or some of them.
            self.of
        };
        self.may_grow() && !saved.may_grow() && self.nodes.len() < asked
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

impl Contents {
    /// What tells its bytes from others.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut hasher = blake3::Hasher::new();
        for file in &self.files {
            hasher.update(file.path.as_os_str().as_encoded_bytes());
            hasher.update(file.blake3.as_bytes());
        }
        let digest = hasher.finalize();
        let first = digest.as_bytes().first_chunk();
        u64::from_le_bytes(*first.expect("invariant: a digest has 32 bytes"))
    }
}

impl From<Vec<FileHash>> for Contents {
    fn from(files: Vec<FileHash>) -> Contents {
        Contents {
            files,
            ..Contents::default()
        }
    }
}

impl Manifest {
    /// Whether all that it names is below the checkpoint, which is an entry of its folder. That of another user's
    /// run may say anything.
    #[must_use]
    pub(crate) fn stays_within(&self) -> bool {
        let is_inside = |path: &Path| {
            let mut parts = path.components();
            parts.all(|part| matches!(part, Component::Normal(_)))
        };
        let mut name = Path::new(&self.name).components();
        let contents = &self.contents;
        let files = contents.files.iter().map(|file| &*file.path);
        let links: BTreeSet<&Path> = contents.links.iter().map(|link| &*link.path).collect();
        // What is below a link would be made where it leads.
        let is_below_link =
            |path: &Path| path.ancestors().skip(1).any(|above| links.contains(above));
        matches!(
            (name.next(), name.next()),
            (Some(Component::Normal(_)), None)
        ) && files
            .chain(links.iter().copied())
            .chain(contents.folders.iter().map(|path| &**path))
            .all(|path| is_inside(path) && !is_below_link(path))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `2/3`: the parts of two of three nodes; `+`: unconfirmed, `!`: it lacks one.
    fn parts(text: &str) -> Parts {
        let (nodes, of) = text.trim_end_matches(['+', '!']).split_once('/').unwrap();
        let nodes = 0..nodes.parse().unwrap();
        Parts {
            nodes: nodes.map(|node: u32| format!("n{node}")).collect(),
            of: of.parse().unwrap(),
            lacks: usize::from(text.ends_with('!')),
            unconfirmed: text.ends_with('+'),
            ..Parts::default()
        }
    }

    /// A node's half of `last` took the place of the whole one, which was gone when the job was killed.
    #[test]
    fn a_half_takes_the_place_of_no_whole_one() {
        let check = |new: &str, saved: &str, want: bool| {
            let found = parts(new).are_fewer_than(&parts(saved));
            assert_eq!(found, want, "{new} for {saved}");
        };
        check("1/2!", "2/2", true);
        check("1/2+", "2/2", true);
        check("2/2", "2/2", false);
        // It is known by now that one node writes for all.
        check("1/2", "2/2", false);
        check("1/2+", "1/2", false);
        for saved in ["2/2!", "1/2+", "0/0"] {
            check("1/2!", saved, false);
        }
        // The job had other nodes then.
        check("2/4+", "2/2", true);
        check("1/4+", "1/2", false);
        check("1/1", "2/2", false);
    }

    #[track_caller]
    fn check_within(name: &str, file: &str, want: bool) {
        let files = vec![FileHash {
            path: file.into(),
            bytes: 1,
            blake3: String::new(),
        }];
        let mut manifest = Manifest::new(name, Timestamp(0), true, files);
        assert_eq!(manifest.stays_within(), want, "{name} {file}");
        let files = std::mem::take(&mut manifest.contents.files);
        manifest.contents.folders = files.into_iter().map(|file| file.path).collect();
        manifest.contents.links = vec![LinkInside {
            path: "out".into(),
            target: "/home/me".into(),
        }];
        assert_eq!(manifest.stays_within(), want, "{name} {file}");
    }

    #[test]
    fn a_manifest_leads_nowhere_else() {
        check_within("step-5", "", true);
        check_within("step-5", "deep/weights", true);
        check_within("step-5", "../../x", false);
        check_within("step-5", "deep/../../x", false);
        check_within("step-5", "/home/me/.ssh/rc", false);
        check_within("step-5", "out/../x", false);
        for name in ["../x", "/x", "..", ".", "", "a/b"] {
            check_within(name, "", false);
        }
    }
}
