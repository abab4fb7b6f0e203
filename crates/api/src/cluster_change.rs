//! Changes of a cluster's nodes and partitions: what `scontrol create|update|delete` sends.

use crate::{Call, CallError, Client};
use model::{NodeName, Settings};
use serde::{Deserialize, Serialize};

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeChange {
    /// What runs there goes on, nothing else starts.
    Drain,
    /// What runs there is killed at once, nothing starts.
    Down,
    /// It is about to fail: what runs there goes on, nothing else starts.
    Fail,
    /// It takes jobs again; refused where it does already.
    Resume,
    /// It is drained no more, and stays down if it is.
    Undrain,
    /// It takes jobs again.
    Idle,
    /// It is not there: it takes no jobs and isn't shown until it is resumed; refused where jobs are.
    Future,
    /// It answers no more: what runs there is killed at once, nothing starts.
    Lost,
    /// It answers again: whether it takes jobs says `ReturnToService`.
    Back,
}

/// What is changed of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeUpdate {
    /// What becomes of them.
    pub state: Option<NodeChange>,
    /// Why.
    pub reason: Option<String>,
    /// `weight`, `features`, `activefeatures`, `gres`, `comment`, `extra`.
    pub settings: Settings,
}

/// One change of a cluster's nodes or partitions: all of it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum ClusterChange {
    /// `update NodeName=`
    Nodes {
        /// Which; `ALL` alone is all of them.
        nodes: Vec<NodeName>,
        /// What.
        update: NodeUpdate,
    },
    /// `create NodeName=`
    MakeNodes {
        /// Their names.
        nodes: Vec<NodeName>,
        /// The rest of their line of `slurm.conf`: `CPUs=4 State=CLOUD`.
        line: String,
    },
    /// `delete NodeName=`
    RemoveNodes {
        /// Which.
        nodes: Vec<NodeName>,
    },
    /// `create PartitionName=`
    MakePartition {
        /// Its name.
        name: String,
        /// What is said of it.
        settings: Settings,
    },
    /// `update PartitionName=`
    Partition {
        /// Which.
        name: String,
        /// What is said anew.
        settings: Settings,
    },
    /// `delete PartitionName=`
    RemovePartition {
        /// Which.
        name: String,
    },
}

impl Client {
    /// Changes the cluster's nodes or partitions.
    ///
    /// # Errors
    /// There is no such node or partition, a value can't be taken, jobs are there, or there is no
    /// engine.
    pub fn change_cluster(&mut self, change: ClusterChange) -> Result<(), CallError> {
        // What is made or removed twice is refused the second time.
        let again = matches!(
            change,
            ClusterChange::Nodes { .. } | ClusterChange::Partition { .. }
        );
        self.done(&Call::ChangeCluster(Box::new(change)), again)
    }

    /// Says of nodes whether they take jobs.
    ///
    /// # Errors
    /// There is no such node, or no engine.
    pub fn mark_nodes(
        &mut self,
        nodes: Vec<NodeName>,
        change: NodeChange,
        reason: &str,
    ) -> Result<(), CallError> {
        let update = NodeUpdate {
            state: Some(change),
            reason: Some(reason.to_owned()),
            settings: Settings::new(),
        };
        self.change_cluster(ClusterChange::Nodes { nodes, update })
    }
}
