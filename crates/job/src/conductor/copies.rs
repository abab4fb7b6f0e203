//! Which entry is being copied out, and which wait for it. Pure.
//!
//! One entry at a time: each is asked of all agents that have a disk, and is published when all of
//! them have answered. It is asked for once as many nodes see it complete as others of its series (names that
//! differ in numbers alone) were put together from, so that no checkpoint lacks a node's shards: nodes write at
//! their own pace. One that does not write for [`LONGEST_LAG_MS`] is not waited for: what is put together without
//! it lacks its part, as at the end. Where it is missing at the next of the series too, it takes no part
//! any more. Of a series of which none was put together yet all nodes are waited for, for [`FIRST_LAG_MS`], unless
//! time is short: what comes later joins, and what is put together without is unconfirmed until another one lacks
//! that node too. A node that writes anything at all is waited for as long as one of which it is known that it has a
//! part, and what is put together without it lacks one. Of a name that is written again no few parts take the place of those of all: they stay beside what
//! is saved until the others come, and then all are exchanged at once. The agents keep what they were
//! asked for until it is saved: what could not be copied is tried again after a while, when something
//! else got through, and at the end.

mod again;
mod answers;
mod beside;
mod close;
mod lagging;
mod next;
mod part;
mod seen;
mod versions;

pub use next::Next;
pub use part::{Part, PartsAsked};

use super::state::NotOut;
use crate::protocol::AgentId;
use again::Failed;
use folder::Parts;
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use versions::Versions;

/// Stands among the agents that are asked while an entry is being published.
const PUBLISHING: AgentId = AgentId::MAX;

/// The queue and the one in work.
#[derive(Debug, Default)]
pub struct Copies {
    copiers: BTreeSet<AgentId>,
    waiting: VecDeque<Wanted>,
    current: Option<Current>,
    /// Who sees an entry complete that was not asked for since.
    complete: BTreeMap<String, BTreeSet<AgentId>>,
    /// What was asked for and is not saved.
    asked: BTreeSet<String>,
    /// What the nodes keep of earlier starts, to which no node adds anything now.
    earlier: BTreeSet<String>,
    /// How many of each series in a row a node missed that was waited for, and when that of the last was over.
    late: BTreeMap<String, (u32, Timestamp)>,
    /// Since when an entry waits for the parts of more nodes.
    lagging: BTreeMap<String, Timestamp>,
    /// From how many nodes the checkpoints of each series were put together.
    least: BTreeMap<String, usize>,
    /// When the program wrote each entry.
    written: BTreeMap<String, Timestamp>,
    /// The versions that each agent has seen.
    versions: Versions,
    /// Who writes into its `{checkpoints}`, whatever it is.
    writers: BTreeSet<AgentId>,
    /// Whether the ranks have ended well.
    is_done: bool,
    /// The largest part of each entry that a node has seen complete.
    sizes: BTreeMap<String, u64>,
    /// Who gave parts of what was published last under each name, and when these were written.
    given: BTreeMap<String, BTreeMap<AgentId, Option<Timestamp>>>,
    /// Which parts what is saved under each name has.
    saved: BTreeMap<String, Parts>,
    /// Parts of what is written again that are fewer than those of the saved one: they wait in the run folder.
    beside: BTreeMap<String, BTreeMap<AgentId, Part>>,
    /// What could not be copied and is tried again.
    failed: BTreeMap<String, Failed>,
    /// What arrived of an earlier start or an earlier version than another part, and is of no use.
    stale: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    name: String,
    /// `None`: everyone.
    only: Option<AgentId>,
}

#[derive(Debug)]
struct Current {
    wanted: Wanted,
    asked: BTreeSet<AgentId>,
    parts: BTreeMap<AgentId, Part>,
    /// Why, and whether another try may do better.
    refused: Option<(NotOut, bool)>,
    /// A newer one goes first: who still copies breaks off.
    broken_off: bool,
    /// Since when it was waited for a node that had no part of it in the end.
    waited: Option<Timestamp>,
}

impl Copies {
    /// For agents that have a disk.
    #[must_use]
    pub fn new(copiers: impl IntoIterator<Item = AgentId>) -> Copies {
        Copies {
            copiers: copiers.into_iter().collect(),
            ..Copies::default()
        }
    }

    /// With what is known of earlier checkpoints, the newest first: of how many nodes they consist.
    #[must_use]
    pub fn least<'a>(mut self, known: impl IntoIterator<Item = (&'a str, &'a Parts)>) -> Copies {
        for (name, parts) in known {
            self.saved.insert(name.to_owned(), parts.clone());
            if parts.of == self.copiers.len() && parts.lacks == 0 && !parts.unconfirmed {
                let series = folder::series(name);
                self.least.entry(series).or_insert(parts.nodes.len());
            }
        }
        self
    }

    /// With what these knew of how many nodes checkpoints consist, where they are of as many nodes.
    #[must_use]
    pub fn after(mut self, before: &Copies) -> Copies {
        if before.copiers.len() == self.copiers.len() {
            self.writers.clone_from(&before.writers);
            let known = before.least.iter();
            let known = known.map(|(series, nodes)| (series.clone(), *nodes));
            self.least.extend(known);
        }
        // Its nodes have the parts, and are asked anew.
        let beside = before.beside.values().flat_map(BTreeMap::values);
        self.stale = before.stale.iter().chain(beside).cloned().collect();
        self
    }

    /// The agents that have a disk.
    #[must_use]
    pub fn copiers(&self) -> &BTreeSet<AgentId> {
        &self.copiers
    }

    /// From how many nodes the checkpoints of that one's series were put together, where that is known.
    #[must_use]
    pub fn parts_of(&self, name: &str) -> Option<usize> {
        self.least.get(&folder::series(name)).copied()
    }

    /// Whether nothing waits and nothing is in work; what is to be tried again later does not count.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none()
    }

    /// Whether parts of it were put together since the start.
    #[must_use]
    pub fn is_put_together(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// What is not through: each entry with the agents that have not answered, where it is asked of some.
    #[must_use]
    pub fn unanswered(&self) -> Vec<(&str, Vec<AgentId>)> {
        let current = self.current.iter().map(|current| {
            let asked = current.asked.iter().copied();
            let asked = asked.filter(|agent| *agent != PUBLISHING);
            (current.wanted.name.as_str(), asked.collect())
        });
        let waiting = self.waiting.iter();
        let waiting = waiting.map(|wanted| (wanted.name.as_str(), Vec::new()));
        current.chain(waiting).collect()
    }

    /// Whether one is being put together in the run folder.
    #[must_use]
    pub fn is_publishing(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.asked.contains(&PUBLISHING))
    }
}

#[cfg(test)]
mod tests;
