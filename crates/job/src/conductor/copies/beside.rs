//! Parts of what is written again, which wait beside the saved one that has more of them.

use super::{Copies, Next, Part, PartsAsked};
use std::collections::BTreeMap;

impl Copies {
    /// Of how many nodes the saved one is of whose name these are too few parts.
    pub(super) fn saved_whole(
        &self,
        name: &str,
        parts: &[Part],
        asked: PartsAsked,
    ) -> Option<usize> {
        let saved = self.saved.get(name)?;
        let nodes = parts.iter().map(|part| part.node.clone());
        let new = asked.parts_of(nodes.collect());
        new.are_fewer_than(saved).then_some(saved.nodes.len())
    }

    /// Leaves the parts of the current one where they are until those of the others come.
    pub(super) fn put_beside(&mut self, name: String, saved: usize) -> Next {
        let parts = self.current.take().map(|current| current.parts);
        let parts = parts.unwrap_or_default();
        let nodes = parts.values().map(|part| part.node.clone()).collect();
        self.asked.remove(&name);
        self.failed.remove(&name);
        if self.earlier.contains(&name) {
            // No node adds anything to it; whose part it is keeps it.
            self.stale.extend(parts.into_values());
        } else {
            self.beside.insert(name.clone(), parts);
        }
        Next::StayBeside { name, nodes, saved }
    }

    /// What waits beside the saved one is of no use any more; whether there was something.
    pub(super) fn drop_beside(&mut self, name: &str) -> bool {
        let parts = self.beside.remove(name);
        let was_there = parts.is_some();
        self.stale
            .extend(parts.into_iter().flat_map(BTreeMap::into_values));
        was_there
    }
}
