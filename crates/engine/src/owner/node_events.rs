//! Times in which nodes take no jobs: they begin and end with what is said of nodes, and with the last job
//! on one that is drained.

use super::Owner;
use model::{JobState, NodeEvent, NodeName, Timestamp};
use std::collections::BTreeSet;

impl Owner {
    /// What began or ended since the last turn, to be written.
    pub(super) fn changed_events(&mut self, now: Timestamp) -> Vec<NodeEvent> {
        let busy = self.busy_nodes();
        let mut wanted: Vec<NodeEvent> = self
            .state
            .marks()
            .filter_map(|(node, mark)| {
                NodeEvent::of_mark(node.as_str(), mark, busy.contains(node), now)
            })
            .collect();
        wanted.push(NodeEvent {
            begin: now,
            ..NodeEvent::default()
        });
        let is_same = |a: &NodeEvent, b: &NodeEvent| a.node == b.node && a.state == b.state;
        let (stay, end): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open_events)
            .into_iter()
            .partition(|open| wanted.iter().any(|it| is_same(it, open)));
        wanted.retain(|it| !stay.iter().any(|open| is_same(it, open)));
        self.open_events = stay.into_iter().chain(wanted.iter().cloned()).collect();
        let ended = end.into_iter().map(|event| NodeEvent {
            end: Some(now),
            ..event
        });
        ended.chain(wanted).collect()
    }

    /// Nodes on which jobs run, where something is said of any.
    fn busy_nodes(&self) -> BTreeSet<NodeName> {
        if self.state.marks().next().is_none() {
            return BTreeSet::new();
        }
        let shares = self.state.running().flat_map(|record| match &record.state {
            JobState::Running { allocation, .. } => &allocation.nodes[..],
            JobState::Pending { .. } | JobState::Ended { .. } => &[],
        });
        shares.map(|share| share.node.clone()).collect()
    }
}
