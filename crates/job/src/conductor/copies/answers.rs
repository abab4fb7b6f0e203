//! What agents answer, and what is heard of publishing.

use super::{Copies, Current, Part};
use crate::conductor::state::NotOut;
use crate::protocol::AgentId;
use folder::Parts;
use model::Timestamp;
use std::collections::BTreeSet;

impl Copies {
    /// An agent's part arrived.
    pub fn part(&mut self, agent: AgentId, name: &str, part: Part) {
        self.answered(agent, name, |current| {
            current.parts.insert(agent, part);
        });
    }

    /// An agent has no part.
    pub fn no_part(&mut self, agent: AgentId, name: &str) {
        self.answered(agent, name, |_| ());
    }

    /// An agent could not copy its part.
    /// `again`: another try may do better.
    pub fn refused(&mut self, agent: AgentId, name: &str, why: NotOut, again: bool) {
        self.answered(agent, name, |current| current.refused = Some((why, again)));
    }

    pub(super) fn answered(
        &mut self,
        agent: AgentId,
        name: &str,
        change: impl FnOnce(&mut Current),
    ) {
        if let Some(current) = &mut self.current
            && current.wanted.name == name
            && current.asked.remove(&agent)
        {
            change(current);
        }
    }

    /// These agents answer nothing any more. Where one of them has a disk, no entry is known to have
    /// all of its parts from now on: what is not put together yet stays on the nodes.
    pub fn lose(&mut self, agents: &BTreeSet<AgentId>) {
        if self.copiers.is_disjoint(agents) {
            return;
        }
        self.copiers.clear();
        self.waiting.clear();
        self.lagging.clear();
        self.failed.clear();
        if let Some(current) = &mut self.current
            && !current.asked.is_disjoint(agents)
        {
            current.asked.clear();
            let why = NotOut {
                why: "a node that may have a part of it was lost".to_owned(),
                disk: false,
            };
            current.refused = Some((why, false));
        }
    }

    /// It is saved, and has these parts now.
    pub fn is_saved(&mut self, name: &str, parts: Parts) {
        self.saved.insert(name.to_owned(), parts);
    }

    /// It is saved no more: nothing stands in the way of what is written under its name again.
    pub fn is_removed(&mut self, name: &str) {
        self.saved.remove(name);
    }

    /// It is through. What had found no room may find some now.
    pub fn published(&mut self, name: &str, now: Timestamp) {
        let joined = self.current.take_if(|current| current.wanted.name == name);
        let joined = joined.and_then(|current| current.wanted.only);
        // Another node's part that could not join it is still to come.
        self.failed.retain(|other, failed| {
            other != name || (joined.is_some() && failed.wanted.only != joined)
        });
        self.sizes.remove(name);
        self.written.remove(name);
        if !self.failed.contains_key(name) {
            self.asked.remove(name);
        }
        for failed in self.failed.values_mut() {
            failed.due = now;
        }
    }

    /// It could not be put together: its parts are gone from the run folder, not from the nodes.
    pub fn not_published(&mut self, name: &str, now: Timestamp) {
        let current = self.current.as_ref();
        let Some(current) = current.filter(|current| current.wanted.name == name) else {
            return;
        };
        // What it was to join is there as before.
        match (current.wanted.only, self.given.get_mut(name)) {
            (Some(agent), Some(given)) => drop(given.remove(&agent)),
            _ => drop(self.given.remove(name)),
        }
        self.set_aside(now);
    }
}
