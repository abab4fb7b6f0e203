//! Generic resources of a node, and their use.

use crate::values::{GpuIndex, array_elements_text, number_ranges};
use serde::{Deserialize, Serialize};

/// GPUs of one type in a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeGpus {
    /// The GRES type, or the product of a real one.
    pub kind: Option<String>,
    /// How many.
    pub count: u32,
    /// The sockets that they are at, ascending; none where that is not known.
    pub sockets: Vec<u32>,
    /// Indices of those that jobs hold, ascending.
    pub used: Vec<GpuIndex>,
}

/// A generic resource other than GPUs in a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeGres {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Option<String>,
    /// How many.
    pub count: u64,
    /// How many jobs hold.
    pub used: u64,
}

impl NodeGpus {
    /// Its type after a colon, as Slurm would name it: of a product's name in lower case and without blanks.
    #[must_use]
    pub fn kind_text(&self) -> String {
        kind_text(self.kind.as_deref())
    }

    /// `gpu:v100:4`, or `gpu:v100:4(S:0-1)`.
    #[must_use]
    pub fn text(&self) -> String {
        let sockets = match &self.sockets[..] {
            [] => String::new(),
            sockets => format!("(S:{})", number_ranges(sockets)),
        };
        format!("gpu{}:{}{sockets}", self.kind_text(), self.count)
    }

    /// `gpu:v100:2(IDX:0-1)`: those that jobs hold.
    #[must_use]
    pub fn used_text(&self) -> String {
        held_gpus_text(&self.kind_text(), &self.used)
    }
}

impl NodeGres {
    /// `nvme:1`
    #[must_use]
    pub fn text(&self) -> String {
        self.counted(self.count)
    }

    /// The same of what jobs hold.
    #[must_use]
    pub fn used_text(&self) -> String {
        self.counted(self.used)
    }

    fn counted(&self, count: u64) -> String {
        format!("{}{}:{count}", self.name, kind_text(self.kind.as_deref()))
    }
}

/// `gpu:v100:2(IDX:0-1)`; `kind` is empty or begins with its colon.
pub(crate) fn held_gpus_text(kind: &str, indices: &[GpuIndex]) -> String {
    let list = match indices {
        [] => "N/A".to_owned(),
        indices => array_elements_text(indices, None, true),
    };
    format!("gpu{kind}:{}(IDX:{list})", indices.len())
}

fn kind_text(kind: Option<&str>) -> String {
    let Some(kind) = kind else {
        return String::new();
    };
    let plain = |letter: char| if letter.is_whitespace() { '_' } else { letter };
    let kind: String = kind.trim().to_lowercase().chars().map(plain).collect();
    format!(":{kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_by_type_and_index() {
        let check = |kind: Option<&str>, used: &[GpuIndex], want: [&str; 2]| {
            let gpus = NodeGpus {
                kind: kind.map(str::to_owned),
                count: 4,
                sockets: Vec::new(),
                used: used.to_vec(),
            };
            assert_eq!([gpus.text(), gpus.used_text()], want);
        };
        check(None, &[], ["gpu:4", "gpu:0(IDX:N/A)"]);
        check(
            Some("v100"),
            &[0, 1, 3],
            ["gpu:v100:4", "gpu:v100:3(IDX:0-1,3)"],
        );
        let want = ["gpu:nvidia_h200:4", "gpu:nvidia_h200:1(IDX:2)"];
        check(Some("NVIDIA H200"), &[2], want);
        let at_sockets = NodeGpus {
            count: 4,
            sockets: vec![0, 1],
            ..NodeGpus::default()
        };
        assert_eq!(at_sockets.text(), "gpu:4(S:0-1)");
    }

    #[test]
    fn others_by_count() {
        let gres = NodeGres {
            name: "nvme".to_owned(),
            kind: None,
            count: 4,
            used: 1,
        };
        assert_eq!([gres.text(), gres.used_text()], ["nvme:4", "nvme:1"]);
    }
}
