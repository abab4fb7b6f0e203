//! What was changed of a cluster's nodes and partitions since its file was read.

use super::Settings;
use crate::values::NodeName;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What `scontrol` changed of a cluster: it stands over the cluster's file until that is read again.
/// Settings have Slurm's names in small letters; an empty text is what holds where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterChanges {
    /// Of nodes: `weight`, `state`, `features`, `activefeatures`, `gres`, `comment`, `extra`, `cpubind`,
    /// `nodeaddr`, `nodehostname`.
    pub nodes: BTreeMap<NodeName, Settings>,
    /// Nodes that were made, each with its line as `slurm.conf` would have it.
    pub made: BTreeMap<NodeName, String>,
    /// Nodes of the file that were removed.
    pub removed: BTreeSet<NodeName>,
    /// Of partitions, each once, new ones in the order in which they were made.
    pub partitions: Vec<PartitionChange>,
}

/// What was changed of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartitionChange {
    /// Its name.
    pub name: String,
    /// It was made: nothing that the file says of one of its name holds.
    pub is_new: bool,
    /// It was removed.
    pub is_removed: bool,
    /// `maxtime`, `state`, `nodes`, …
    pub settings: Settings,
}

impl ClusterChanges {
    /// Changes a node.
    pub fn change_node(&mut self, node: &NodeName, settings: &Settings) {
        let own = self.nodes.entry(node.clone()).or_default();
        own.extend(settings.clone());
    }

    /// Makes a node, of which there is none.
    pub fn make_node(&mut self, node: &NodeName, line: String) {
        self.made.insert(node.clone(), line);
    }

    /// Removes a node, and what was changed of it.
    pub fn remove_node(&mut self, node: &NodeName) {
        self.nodes.remove(node);
        if self.made.remove(node).is_none() {
            self.removed.insert(node.clone());
        }
    }

    /// Changes a partition.
    pub fn change_partition(&mut self, name: &str, settings: &Settings) {
        self.partition(name).settings.extend(settings.clone());
    }

    /// Makes a partition.
    pub fn make_partition(&mut self, name: &str, settings: Settings) {
        self.partitions.retain(|one| one.name != name);
        self.partitions.push(PartitionChange {
            name: name.to_owned(),
            is_new: true,
            is_removed: false,
            settings,
        });
    }

    /// Removes a partition.
    pub fn remove_partition(&mut self, name: &str) {
        let one = self.partition(name);
        one.is_removed = true;
        one.is_new = false;
        one.settings.clear();
    }

    fn partition(&mut self, name: &str) -> &mut PartitionChange {
        let at = self.partitions.iter().position(|one| one.name == name);
        let at = at.unwrap_or_else(|| {
            self.partitions.push(PartitionChange {
                name: name.to_owned(),
                ..PartitionChange::default()
            });
            self.partitions.len() - 1
        });
        &mut self.partitions[at]
    }
}
