//! What `sacctmgr` shows and is not the accounting itself.

use crate::records::{AccountingTransaction, AccountingUse, NodeEvent, Reservation};
use crate::values::{MomentStyle, NodeName, Timestamp};
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

/// A kind of resource that is counted, beside Slurm's own: `gres` and `gpu:v100`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TresName {
    /// Its type.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What there is beside the accounting. The caller fills in what the command line asks for.
#[derive(Clone, Debug)]
pub struct SacctmgrFacts {
    /// Jobs that wait or run, by the accounts that they count for.
    pub uses: Vec<AccountingUse>,
    /// The text of the file that is loaded.
    pub text: Option<String>,
    /// Kinds of resources beside Slurm's own.
    pub tres: Vec<TresName>,
    /// Nodes, in the cluster's order.
    pub nodes: Vec<NodeName>,
    /// What each of them has: `billing=8,cpu=8,mem=16000M,node=1`.
    pub node_tres: BTreeMap<String, String>,
    /// What all of them have.
    pub cluster_tres: String,
    /// Several nodes are one machine.
    pub is_pretended: bool,
    /// When nodes took no jobs.
    pub events: Vec<NodeEvent>,
    /// What was changed of the accounting.
    pub transactions: Vec<AccountingTransaction>,
    /// Reservations.
    pub reservations: Vec<Reservation>,
    /// Users of the accounting that the system doesn't know.
    pub unknown_users: BTreeSet<String>,
    /// Numbers of users, by name.
    pub uids: BTreeMap<String, u32>,
    /// The cluster's settings, by Slurm's names.
    pub config: BTreeMap<String, String>,
    /// This moment.
    pub now: Timestamp,
    /// How moments are shown.
    pub moments: MomentStyle,
}

impl Default for SacctmgrFacts {
    fn default() -> SacctmgrFacts {
        SacctmgrFacts {
            uses: Vec::new(),
            text: None,
            tres: Vec::new(),
            nodes: Vec::new(),
            node_tres: BTreeMap::new(),
            cluster_tres: String::new(),
            is_pretended: false,
            events: Vec::new(),
            transactions: Vec::new(),
            reservations: Vec::new(),
            unknown_users: BTreeSet::new(),
            uids: BTreeMap::new(),
            config: BTreeMap::new(),
            now: Timestamp(0),
            moments: MomentStyle::standard(TimeZone::UTC),
        }
    }
}
