//! Which entry is being copied out, and which wait for it. Pure.
//!
//! One entry at a time: each is asked of all agents that have a disk, and is published when all of
//! them have answered, so that no checkpoint lacks a node's shards. The agents keep what they were
//! asked for until it is saved: what could not be copied is tried again after a while, when something
//! else got through, and at the end.

use super::state::NotOut;
use crate::protocol::AgentId;
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The first pause before another try; each further one is twice as long.
const PAUSE_MS: i64 = 30_000;
/// The longest one.
const LONGEST_PAUSE_MS: i64 = 600_000;

/// Stands among the agents that are asked while an entry is being published.
const PUBLISHING: AgentId = AgentId::MAX;

/// An agent's part of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its folder below the run folder's incoming place.
    pub incoming: String,
    /// Its size.
    pub bytes: u64,
    /// How long its copy took, in milliseconds.
    pub took_ms: u64,
    /// Whether its completeness was seen.
    pub proven: bool,
}

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
    },
    /// Of what was broken off; no longer of use.
    Discard(Vec<Part>),
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

/// The queue and the one in work.
#[derive(Debug, Default)]
pub struct Copies {
    copiers: BTreeSet<AgentId>,
    waiting: VecDeque<Wanted>,
    current: Option<Current>,
    /// The largest part of each entry that a node has seen complete.
    sizes: BTreeMap<String, u64>,
    /// Who gave parts of what was published last under each name.
    given: BTreeMap<String, BTreeSet<AgentId>>,
    /// What could not be copied and is tried again.
    failed: BTreeMap<String, Failed>,
}

#[derive(Debug)]
struct Failed {
    wanted: Wanted,
    tries: u32,
    due: Timestamp,
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

    /// The agents that have a disk.
    #[must_use]
    pub fn copiers(&self) -> &BTreeSet<AgentId> {
        &self.copiers
    }

    /// Whether nothing waits and nothing is in work; what is to be tried again later does not count.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none()
    }

    /// Whether one is being put together in the run folder.
    #[must_use]
    pub fn is_publishing(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.asked.contains(&PUBLISHING))
    }

    /// An agent sees a complete entry, of which it has so much, where that is known.
    pub fn complete(&mut self, agent: AgentId, name: String, bytes: Option<u64>) {
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
        // A part that this agent had not given joins the others; one that it had is a new version.
        let late = self
            .given
            .get(&name)
            .is_some_and(|given| !given.contains(&agent));
        let answered = self.current.as_ref().is_some_and(|current| {
            current.wanted.name == name && !current.parts.contains_key(&agent)
        });
        let only = (late || answered).then_some(agent);
        if only.is_none() {
            // The newer version takes the place of the one that could not be copied.
            self.failed.remove(&name);
        }
        let wanted = Wanted { name, only };
        if !self.waiting.contains(&wanted) {
            self.waiting.push_back(wanted);
        }
    }

    /// What to do now, if anything: call it after each change. `newest_first`: time is short.
    pub fn next(&mut self, newest_first: bool, now: Timestamp) -> Option<Next> {
        if let Some(current) = &self.current {
            if !current.asked.is_empty() {
                return None;
            }
            return self.close(now);
        }
        if self.waiting.is_empty() {
            let due = self.failed.values().find(|failed| failed.due <= now);
            self.waiting.extend(due.map(|failed| failed.wanted.clone()));
        }
        let wanted = if newest_first {
            // The one that came last, where names tell no step.
            let waiting = self.waiting.iter().enumerate();
            let newest =
                waiting.max_by_key(|(index, wanted)| (folder::step_of(&wanted.name), *index));
            let newest = newest.map(|(index, _)| index)?;
            self.waiting.remove(newest)
        } else {
            self.waiting.pop_front()
        }?;
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
        });
        Some(Next::Ask { name, from })
    }

    /// The entry in work, where a newer one waits that is sooner saved than what is `left` to copy of it: it is to
    /// be broken off, and waits again.
    pub fn overtaken(&mut self, left: impl Fn(&str) -> Option<u64>) -> Option<String> {
        let current = self.current.as_mut()?;
        let name = &current.wanted.name;
        let is_being_copied = !current.asked.is_empty() && !current.asked.contains(&PUBLISHING);
        if !is_being_copied || current.broken_off {
            return None;
        }
        let (step, left) = (folder::step_of(name)?, left(name)?);
        let is_sooner = |wanted: &Wanted| {
            let size = self.sizes.get(&wanted.name);
            folder::step_of(&wanted.name) > Some(step) && size.is_some_and(|size| *size < left)
        };
        current.broken_off = self.waiting.iter().any(is_sooner);
        current.broken_off.then(|| name.clone())
    }

    /// All have answered. What is published stays the current one until [`Copies::published`].
    fn close(&mut self, now: Timestamp) -> Option<Next> {
        let current = self.current.as_mut()?;
        let name = current.wanted.name.clone();
        let parts: Vec<Part> = current.parts.values().cloned().collect();
        if let Some((why, again)) = current.refused.take() {
            if current.broken_off && again {
                let wanted = current.wanted.clone();
                self.current = None;
                if !self.waiting.contains(&wanted) {
                    self.waiting.push_back(wanted);
                }
                return Some(Next::Discard(parts));
            }
            if again {
                self.set_aside(now);
            } else {
                self.failed.remove(&name);
                self.current = None;
            }
            return Some(Next::GiveUp { name, why, parts });
        }
        if parts.is_empty() {
            // It was gone everywhere before it could be held.
            self.failed.remove(&name);
            self.current = None;
            return self.next(false, now);
        }
        // Not asked again while it is being published.
        current.asked.insert(PUBLISHING);
        let merge = current.wanted.only.is_some();
        let givers = current.parts.keys().copied();
        let given = self.given.entry(name.clone()).or_default();
        if !merge {
            given.clear();
        }
        given.extend(givers);
        Some(Next::Publish { name, parts, merge })
    }

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

    /// These agents answer nothing any more. Where one of them has a disk, no entry is known to have
    /// all of its parts from now on: what is not put together yet stays on the nodes.
    pub fn lose(&mut self, agents: &BTreeSet<AgentId>) {
        if self.copiers.is_disjoint(agents) {
            return;
        }
        self.copiers.clear();
        self.waiting.clear();
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

    fn answered(&mut self, agent: AgentId, name: &str, change: impl FnOnce(&mut Current)) {
        if let Some(current) = &mut self.current
            && current.wanted.name == name
            && current.asked.remove(&agent)
        {
            change(current);
        }
    }

    /// It is saved. What had found no room may find some now.
    pub fn published(&mut self, name: &str, now: Timestamp) {
        if self.is_current(name) {
            self.current = None;
        }
        self.failed.remove(name);
        self.sizes.remove(name);
        for failed in self.failed.values_mut() {
            failed.due = now;
        }
    }

    /// It could not be put together: its parts are gone from the run folder, not from the nodes.
    pub fn not_published(&mut self, name: &str, now: Timestamp) {
        if self.is_current(name) {
            self.set_aside(now);
        }
    }

    fn is_current(&self, name: &str) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| current.wanted.name == name)
    }

    /// Tries the current one again later.
    fn set_aside(&mut self, now: Timestamp) {
        let Some(Current { wanted, .. }) = self.current.take() else {
            return;
        };
        let before = self.failed.get(&wanted.name);
        let tries = before.map_or(0, |failed| failed.tries + 1);
        let pause = (PAUSE_MS << tries.min(5)).min(LONGEST_PAUSE_MS);
        let due = Timestamp(now.0.saturating_add(pause));
        let name = wanted.name.clone();
        let failed = Failed { wanted, tries, due };
        self.failed.insert(name, failed);
    }

    /// Has everything tried once more that could not be copied, after all that waits already.
    pub fn retry_all(&mut self) {
        for failed in self.failed.values() {
            if !self.waiting.contains(&failed.wanted) {
                self.waiting.push_front(failed.wanted.clone());
            }
        }
    }

    /// Gives an entry up that could not be copied; whether there was one.
    pub fn forget(&mut self, name: &str) -> bool {
        self.waiting.retain(|wanted| wanted.name != name);
        self.failed.remove(name).is_some()
    }

    /// When the next try is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        match &self.current {
            // It is tried when that one is through.
            Some(_) => None,
            None => self.failed.values().map(|failed| failed.due).min(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(0);

    fn full() -> NotOut {
        NotOut {
            why: "disk full".to_owned(),
            disk: true,
        }
    }

    fn part(incoming: &str) -> Part {
        Part {
            incoming: incoming.to_owned(),
            bytes: 1,
            took_ms: 1,
            proven: true,
        }
    }

    fn ask(name: &str, from: &[AgentId]) -> Option<Next> {
        Some(Next::Ask {
            name: name.to_owned(),
            from: from.to_vec(),
        })
    }

    fn publish(name: &str, parts: &[&str], merge: bool) -> Option<Next> {
        let parts = parts.iter().map(|incoming| part(incoming)).collect();
        Some(Next::Publish {
            name: name.to_owned(),
            parts,
            merge,
        })
    }

    #[test]
    fn one_disk() {
        let mut copies = Copies::new([0]);
        copies.complete(0, "1".into(), Some(9));
        copies.complete(0, "2".into(), Some(9));
        assert_eq!(copies.next(false, NOW), ask("1", &[0]));
        assert_eq!(copies.next(false, NOW), None);
        copies.part(0, "1", part("a"));
        assert_eq!(copies.next(false, NOW), publish("1", &["a"], false));
        assert_eq!(copies.next(false, NOW), None, "it is being published");
        copies.published("1", NOW);
        assert_eq!(copies.next(false, NOW), ask("2", &[0]));
        copies.refused(0, "2", full(), false);
        let gave_up = Next::GiveUp {
            name: "2".into(),
            why: full(),
            parts: vec![],
        };
        assert_eq!(copies.next(false, NOW), Some(gave_up));
        assert!(copies.is_idle());
    }

    #[test]
    fn newest_first_when_time_is_short() {
        let mut copies = Copies::new([0]);
        for name in ["1", "2", "3"] {
            copies.complete(0, name.into(), Some(9));
        }
        assert_eq!(copies.next(true, NOW), ask("3", &[0]));
    }

    /// So much is left to copy of `old` when `new` is seen; whether it is broken off.
    #[track_caller]
    fn check_overtaken(old: &str, new: &str, left: Option<u64>, want: bool) {
        let mut copies = Copies::new([0, 1]);
        copies.complete(0, old.into(), Some(900));
        assert_eq!(copies.next(true, NOW), ask(old, &[0, 1]));
        copies.part(1, old, part("b"));
        copies.complete(0, new.into(), Some(9));
        let overtaken = copies.overtaken(|_| left);
        assert_eq!(overtaken, want.then(|| old.to_owned()), "{old} {new}");
        assert_eq!(copies.overtaken(|_| left), None, "it is asked once");
        assert_eq!(copies.next(true, NOW), None);
        if !want {
            return;
        }
        copies.refused(0, old, full(), true);
        let discarded = Next::Discard(vec![part("b")]);
        assert_eq!(copies.next(true, NOW), Some(discarded));
        assert_eq!(copies.next(true, NOW), ask(new, &[0, 1]));
        copies.part(0, new, part("c"));
        copies.no_part(1, new);
        assert_eq!(copies.next(true, NOW), publish(new, &["c"], false));
        copies.published(new, NOW);
        assert_eq!(copies.next(true, NOW), ask(old, &[0, 1]));
    }

    #[test]
    fn a_small_newer_one_overtakes_a_large_copy_when_time_is_short() {
        check_overtaken("step-1", "step-2", Some(800), true);
        check_overtaken("step-1", "step-2", Some(8), false);
        check_overtaken("step-1", "step-2", None, false);
        check_overtaken("step-2", "step-1", Some(800), false);
        check_overtaken("last", "step-1", Some(800), false);
    }

    /// The copy was through before the word came.
    #[test]
    fn one_that_came_nevertheless_is_saved() {
        let mut copies = Copies::new([0]);
        copies.complete(0, "step-1".into(), Some(900));
        assert_eq!(copies.next(true, NOW), ask("step-1", &[0]));
        copies.complete(0, "step-2".into(), Some(9));
        assert!(copies.overtaken(|_| Some(800)).is_some());
        copies.part(0, "step-1", part("a"));
        assert_eq!(copies.next(true, NOW), publish("step-1", &["a"], false));
    }

    #[test]
    fn shards_of_two_nodes_are_one_checkpoint() {
        let mut copies = Copies::new([0, 2]);
        copies.complete(2, "1".into(), Some(9));
        assert_eq!(copies.next(false, NOW), ask("1", &[0, 2]));
        copies.complete(0, "1".into(), Some(9));
        copies.part(2, "1", part("b"));
        assert_eq!(copies.next(false, NOW), None);
        copies.part(0, "1", part("a"));
        assert_eq!(copies.next(false, NOW), publish("1", &["a", "b"], false));
        copies.published("1", NOW);
        assert!(copies.is_idle());
    }

    #[test]
    fn a_late_shard_is_added_and_a_new_version_replaces() {
        let mut copies = Copies::new([0, 1]);
        copies.complete(0, "last".into(), Some(9));
        assert_eq!(copies.next(false, NOW), ask("last", &[0, 1]));
        copies.part(0, "last", part("a"));
        copies.no_part(1, "last");
        assert_eq!(copies.next(false, NOW), publish("last", &["a"], false));
        copies.complete(1, "last".into(), Some(9));
        copies.published("last", NOW);
        assert_eq!(copies.next(false, NOW), ask("last", &[1]));
        copies.part(1, "last", part("b"));
        assert_eq!(copies.next(false, NOW), publish("last", &["b"], true));
        copies.published("last", NOW);
        copies.complete(0, "last".into(), Some(9));
        assert_eq!(copies.next(false, NOW), ask("last", &[0, 1]));
    }

    #[test]
    fn gone_before_it_was_held() {
        let mut copies = Copies::new([0]);
        copies.complete(0, "1".into(), Some(9));
        copies.complete(0, "2".into(), Some(9));
        assert_eq!(copies.next(false, NOW), ask("1", &[0]));
        copies.no_part(0, "1");
        assert_eq!(copies.next(false, NOW), ask("2", &[0]));
    }

    #[test]
    fn what_found_no_room_is_tried_again() {
        let mut copies = Copies::new([0, 1]);
        copies.complete(0, "1".into(), Some(9));
        assert_eq!(copies.next(false, NOW), ask("1", &[0, 1]));
        copies.part(0, "1", part("a"));
        copies.refused(1, "1", full(), true);
        let gave_up = Next::GiveUp {
            name: "1".into(),
            why: full(),
            parts: vec![part("a")],
        };
        assert_eq!(copies.next(false, NOW), Some(gave_up));
        assert!(copies.is_idle());
        assert_eq!(copies.next(false, Timestamp(29_999)), None);
        assert_eq!(copies.next_due(), Some(Timestamp(30_000)));
        // Another one got through: now there may be room.
        copies.complete(0, "2".into(), Some(9));
        assert_eq!(copies.next(false, NOW), ask("2", &[0, 1]));
        copies.part(0, "2", part("b"));
        copies.no_part(1, "2");
        assert_eq!(copies.next(false, NOW), publish("2", &["b"], false));
        copies.published("2", Timestamp(5));
        assert_eq!(copies.next(false, Timestamp(5)), ask("1", &[0, 1]));
        copies.part(0, "1", part("a"));
        copies.part(1, "1", part("c"));
        assert_eq!(copies.next(false, NOW), publish("1", &["a", "c"], false));
        // Such as a rename that failed; the next pause is longer.
        copies.not_published("1", NOW);
        assert_eq!(copies.next_due(), Some(Timestamp(60_000)));
        copies.retry_all();
        assert_eq!(copies.next(true, NOW), ask("1", &[0, 1]));
        copies.no_part(0, "1");
        copies.no_part(1, "1");
        assert_eq!(copies.next(true, NOW), None);
        assert!(copies.is_idle() && copies.next_due().is_none());
    }
}
