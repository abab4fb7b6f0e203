//! What agents see complete, and what that makes of what waits.

use super::{Copies, Wanted};
use crate::protocol::AgentId;
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

impl Copies {
    /// An agent keeps a complete entry of an earlier start.
    pub fn complete_earlier(&mut self, agent: AgentId, name: String) {
        self.earlier.insert(name.clone());
        self.seen(agent, name, None, None);
    }

    /// An agent has a part that what is published under this name lacks.
    pub fn complete_late(&mut self, agent: AgentId, name: String) {
        let only = Some(agent);
        let wanted = Wanted { name, only };
        if !self.waiting.contains(&wanted) {
            self.waiting.push_back(wanted);
        }
    }

    /// An agent sees a complete entry of this start, of which it has so much and which was written then, where
    /// that is known.
    pub fn complete(
        &mut self,
        agent: AgentId,
        name: String,
        bytes: Option<u64>,
        written: Option<Timestamp>,
    ) {
        if self.earlier.remove(&name) {
            // What earlier starts left of it is another version, which none of its parts joins.
            self.given.remove(&name);
            self.complete.remove(&name);
            self.lagging.remove(&name);
            self.waiting.retain(|wanted| wanted.name != name);
            self.drop_beside(&name);
        }
        self.seen(agent, name, bytes, written);
    }

    pub(super) fn seen(
        &mut self,
        agent: AgentId,
        name: String,
        bytes: Option<u64>,
        written: Option<Timestamp>,
    ) {
        if let Some(written) = written {
            let last = self.written.entry(name.clone()).or_insert(written);
            *last = written.max(*last);
            self.versions.seen(agent, &name, written);
        }
        if let Some(bytes) = bytes {
            let largest = self.sizes.entry(name.clone()).or_default();
            *largest = bytes.max(*largest);
        }
        // Where this agent was asked already it will answer, or has answered with the old bytes.
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.wanted.name == name && current.asked.contains(&agent))
        {
            return;
        }
        self.complete.entry(name.clone()).or_default().insert(agent);
        // A part that this agent had not given joins the others; one that it had is a new version.
        let late = self
            .given
            .get(&name)
            .is_some_and(|given| !given.contains_key(&agent));
        let answered = self.current.as_ref().is_some_and(|current| {
            current.wanted.name == name && !current.parts.contains_key(&agent)
        });
        // What all are asked for once more is not there to be joined.
        let failed = self.failed.get(&name);
        let is_asked_again = failed.is_some_and(|failed| failed.wanted.only.is_none());
        let only = (!is_asked_again && (late || answered)).then_some(agent);
        if only.is_none() {
            // The newer version takes the place of the one that could not be copied, or was put aside.
            self.failed.remove(&name);
            self.asked.remove(&name);
            // What was put aside for parts that are about to come is theirs.
            let mut waiting = self.waiting.iter();
            if !waiting.any(|wanted| wanted.name == name && wanted.only.is_some()) {
                self.drop_beside(&name);
            }
        }
        let wanted = Wanted {
            name: name.clone(),
            only,
        };
        if !self.waiting.contains(&wanted) {
            self.waiting.push_back(wanted);
        }
        if only.is_some() {
            self.note_late_part(&name);
        }
    }

    /// Who comes late takes part nevertheless: where all have written it in the end, nothing was missed.
    pub(super) fn note_late_part(&mut self, name: &str) {
        let failed = self.failed.get(name).map(|failed| &failed.wanted);
        let joining = self.waiting.iter().chain(failed);
        let joining = joining.filter(|wanted| wanted.name == *name);
        let mut there: BTreeSet<AgentId> = joining.filter_map(|wanted| wanted.only).collect();
        there.extend(self.given.get(name).into_iter().flat_map(BTreeMap::keys));
        let series = folder::series(name);
        let least = self.least.get(&series);
        if least.is_none_or(|least| there.len() >= *least) {
            self.late.remove(&series);
        }
    }
}
