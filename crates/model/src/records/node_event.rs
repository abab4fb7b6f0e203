//! That a node took no jobs for a while, as accounting keeps it.

use super::NodeMark;
use crate::values::Timestamp;
use serde::{Deserialize, Serialize};

/// Why a cluster's own event began.
pub const CLUSTER_REGISTERED: &str = "Cluster Registered TRES";

const DOWN: u32 = 1;
const IDLE: u32 = 2;
const DRAIN: u32 = 1 << 9;
const FAIL: u32 = 1 << 13;

/// A time in which a node took no jobs, or for which a cluster is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeEvent {
    /// The node; empty is the cluster itself.
    pub node: String,
    /// When it began.
    pub begin: Timestamp,
    /// When it ended.
    pub end: Option<Timestamp>,
    /// Slurm's number of the state: a base and flags.
    pub state: u32,
    /// Why.
    pub reason: String,
    /// Who said so.
    pub user: String,
}

impl NodeEvent {
    /// What begins when this is said of a node on which jobs run or not: nothing while it takes jobs, and
    /// while jobs run on one that is drained.
    #[must_use]
    pub fn of_mark(
        node: &str,
        mark: &NodeMark,
        is_busy: bool,
        now: Timestamp,
    ) -> Option<NodeEvent> {
        if mark.takes_jobs() || is_busy && !mark.is_down {
            return None;
        }
        let base = if mark.is_down { DOWN } else { IDLE };
        let flags = [(mark.is_drained, DRAIN), (mark.is_failing, FAIL)];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set);
        Some(NodeEvent {
            node: node.to_owned(),
            begin: now,
            end: None,
            state: flags.fold(base, |state, (_, flag)| state | flag),
            reason: mark.reason.clone(),
            user: mark.user.clone(),
        })
    }

    /// The state as `sacctmgr` prints it; nothing for a cluster.
    #[must_use]
    pub fn state_text(&self) -> &'static str {
        match self.state {
            0 => "",
            state if state & DRAIN != 0 => "DRAIN",
            state if state & FAIL != 0 => "FAIL",
            _ => "DOWN",
        }
    }
}
