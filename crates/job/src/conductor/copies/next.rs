//! What is to be done next, and which of those that wait goes first.

use super::{Copies, Current, PUBLISHING, Part, PartsAsked, Wanted};
use crate::conductor::state::NotOut;
use crate::protocol::AgentId;
use folder::Age;
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask these agents for their parts.
    Ask {
        /// The entry.
        name: String,
        /// The agents.
        from: Vec<AgentId>,
    },
    /// All parts are there.
    Publish {
        /// The entry.
        name: String,
        /// At least one.
        parts: Vec<Part>,
        /// Whether they are added to what is published under this name already: an agent was late.
        merge: bool,
        /// How many nodes have a part of it.
        asked: PartsAsked,
    },
    /// Of what was broken off; no longer of use.
    Discard(Vec<Part>),
    /// Parts of an entry that is written again stay beside what is saved of it, which has more.
    StayBeside {
        /// The entry.
        name: String,
        /// The nodes that gave one.
        nodes: Vec<String>,
        /// From how many nodes the saved one is put together.
        saved: usize,
    },
    /// Some part could not be copied.
    GiveUp {
        /// The entry.
        name: String,
        /// Why.
        why: NotOut,
        /// What did arrive and is of no use.
        parts: Vec<Part>,
    },
}

impl Copies {
    /// What to do now, if anything: call it after each change. `newest_first`: time is short. `last`: no
    /// node will see anything complete any more.
    pub fn next(&mut self, newest_first: bool, last: bool, now: Timestamp) -> Option<Next> {
        if !self.stale.is_empty() {
            return Some(Next::Discard(std::mem::take(&mut self.stale)));
        }
        if let Some(current) = &self.current {
            if !current.asked.is_empty() {
                return None;
            }
            return self.close(last, now);
        }
        let mut ready = self.ready(newest_first, last, now);
        if ready.is_empty() {
            let mut failed = self.failed.values();
            let due = failed.find(|it| it.due <= now && !self.waiting.contains(&it.wanted));
            self.waiting.extend(due.map(|failed| failed.wanted.clone()));
            ready = self.ready(newest_first, last, now);
        }
        let next = if newest_first {
            // The one that came last, where nothing else tells.
            let age = |index: &usize| {
                let name = &self.waiting[*index].name;
                let bytes = self.sizes.get(name).copied();
                Age::new(name, self.written.get(name).copied(), bytes)
            };
            let newest = folder::newest_first(ready.into_iter().rev().collect(), age);
            newest.into_iter().next()
        } else {
            ready.first().copied()
        }?;
        let wanted = self.waiting.remove(next)?;
        // Of a training that is being ended nothing tells who takes part no more.
        let goes_on = !newest_first && !last;
        let is_over = self.waits_until(&wanted.name).is_some_and(|it| now >= it);
        let waited = self.lagging.remove(&wanted.name);
        let waited = waited.filter(|_| is_over && goes_on);
        self.complete.remove(&wanted.name);
        self.asked.insert(wanted.name.clone());
        let asked: BTreeSet<AgentId> = match wanted.only {
            Some(agent) => BTreeSet::from([agent]),
            None => self.copiers.clone(),
        };
        let (name, from) = (wanted.name.clone(), asked.iter().copied().collect());
        self.current = Some(Current {
            wanted,
            asked,
            parts: BTreeMap::new(),
            refused: None,
            broken_off: false,
            waited,
        });
        Some(Next::Ask { name, from })
    }

    /// What of what waits is complete on all nodes that take part, or must do without some.
    pub(super) fn ready(&mut self, newest_first: bool, last: bool, now: Timestamp) -> Vec<usize> {
        let mut ready = Vec::new();
        let mut without = Vec::new();
        for (index, wanted) in self.waiting.iter().enumerate() {
            let name = &wanted.name;
            let has_all = self.has_all_parts(wanted);
            let series = folder::series(name);
            // When time is short nobody waits for parts of which nothing tells.
            let in_haste = newest_first && !self.least.contains_key(&series);
            if has_all && wanted.only.is_none() {
                self.late.remove(&series);
            }
            if has_all || in_haste || self.asked.contains(name) {
                ready.push(index);
                continue;
            }
            self.lagging.entry(name.clone()).or_insert(now);
            if last {
                without.push(index);
            } else if self.waits_until(name).is_some_and(|until| now >= until) {
                ready.push(index);
            }
        }
        // What lacks something comes after all that lacks nothing, however short time is.
        if ready.is_empty() { without } else { ready }
    }

    /// The entry in work, where a newer one waits that is sooner saved than what is `left` to copy of it: it is to
    /// be broken off, and waits again.
    pub fn overtaken(&mut self, left: impl Fn(&str) -> Option<u64>) -> Option<String> {
        let current = self.current.as_ref()?;
        let name = current.wanted.name.clone();
        let is_being_copied = !current.asked.is_empty() && !current.asked.contains(&PUBLISHING);
        if !is_being_copied || current.broken_off {
            return None;
        }
        let (step, left) = (folder::step_of(&name)?, left(&name)?);
        let is_sooner = |wanted: &Wanted| {
            let size = self.sizes.get(&wanted.name);
            let is_known = self.least.contains_key(&folder::series(&wanted.name));
            folder::step_of(&wanted.name) > Some(step)
                && size.is_some_and(|size| *size < left)
                && (self.has_all_parts(wanted) || !is_known)
        };
        let is_overtaken = self.waiting.iter().any(is_sooner);
        let current = self.current.as_mut().filter(|_| is_overtaken)?;
        current.broken_off = true;
        Some(name)
    }
}
