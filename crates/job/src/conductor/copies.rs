//! Which entry is being copied out, and which wait for it. Pure.
//!
//! One entry at a time: each is asked of all agents that have a disk, and is published when all of
//! them have answered. It is asked for once as many nodes see it complete as others of its series (names that
//! differ in numbers alone) were put together from, so that no checkpoint lacks a node's shards: nodes write at
//! their own pace. One that does not write for [`LONGEST_LAG_MS`] is not waited for: what is put together without
//! it lacks its part, as at the end. Where it is missing at the next of the series too, it takes no part
//! any more. Of a series of which none was put together yet all nodes are waited for, for [`FIRST_LAG_MS`], unless
//! time is short: what comes later joins, and what is put together without is unconfirmed until another one lacks
//! that node too. Of a name that is written again no few parts take the place of those of all: they stay beside what
//! is saved until the others come, and then all are exchanged at once. The agents keep what they were
//! asked for until it is saved: what could not be copied is tried again after a while, when something
//! else got through, and at the end.

use super::state::NotOut;
use crate::protocol::AgentId;
use folder::{Age, Attempt, Parts};
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The first pause before another try; each further one is twice as long.
const PAUSE_MS: i64 = 30_000;
/// The longest one.
const LONGEST_PAUSE_MS: i64 = 600_000;

/// So long after the first node of a checkpoint its others are waited for.
const LONGEST_LAG_MS: i64 = 60_000;
/// The same where nothing tells yet whether they have a part: in most trainings one rank writes for all.
const FIRST_LAG_MS: i64 = 10_000;

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
    /// The node that gave it.
    pub node: String,
    /// The start that wrote it, where that is known.
    pub start: Option<Attempt>,
}

/// How many nodes have a part of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartsAsked {
    /// As many as others of its series were put together from.
    pub least: usize,
    /// So many disks the job's nodes have.
    pub of: usize,
    /// Whether no other of its series has told yet how many there are.
    pub unconfirmed: bool,
}

impl PartsAsked {
    /// What a checkpoint of these nodes' parts has, and lacks.
    #[must_use]
    pub fn parts_of(self, nodes: Vec<String>) -> Parts {
        Parts {
            of: self.of,
            lacks: self.least.saturating_sub(nodes.len()),
            passed_over: false,
            unconfirmed: self.unconfirmed && nodes.len() < self.of,
            start: None,
            nodes,
        }
    }
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
    /// The largest part of each entry that a node has seen complete.
    sizes: BTreeMap<String, u64>,
    /// Who gave parts of what was published last under each name.
    given: BTreeMap<String, BTreeSet<AgentId>>,
    /// Which parts what is saved under each name has.
    saved: BTreeMap<String, Parts>,
    /// Parts of what is written again that are fewer than those of the saved one: they wait in the run folder.
    beside: BTreeMap<String, BTreeMap<AgentId, Part>>,
    /// What could not be copied and is tried again.
    failed: BTreeMap<String, Failed>,
    /// What arrived of an earlier start or an earlier version than another part, and is of no use.
    stale: Vec<Part>,
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
            let known = before.least.iter();
            let known = known.map(|(series, nodes)| (series.clone(), *nodes));
            self.least.extend(known);
        }
        // Its nodes have the parts, and are asked anew.
        let beside = before.beside.values().flat_map(BTreeMap::values);
        self.stale = before.stale.iter().chain(beside).cloned().collect();
        self
    }

    /// An agent keeps a complete entry of an earlier start.
    pub fn complete_earlier(&mut self, agent: AgentId, name: String) {
        self.earlier.insert(name.clone());
        self.seen(agent, name, None, None);
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

    fn seen(
        &mut self,
        agent: AgentId,
        name: String,
        bytes: Option<u64>,
        written: Option<Timestamp>,
    ) {
        if let Some(written) = written {
            let last = self.written.entry(name.clone()).or_insert(written);
            *last = written.max(*last);
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
            .is_some_and(|given| !given.contains(&agent));
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
            self.drop_beside(&name);
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

    /// What waits beside the saved one is of no use any more; whether there was something.
    fn drop_beside(&mut self, name: &str) -> bool {
        let parts = self.beside.remove(name);
        let was_there = parts.is_some();
        self.stale
            .extend(parts.into_iter().flat_map(BTreeMap::into_values));
        was_there
    }

    /// Who comes late takes part nevertheless: where all have written it in the end, nothing was missed.
    fn note_late_part(&mut self, name: &str) {
        let failed = self.failed.get(name).map(|failed| &failed.wanted);
        let joining = self.waiting.iter().chain(failed);
        let joining = joining.filter(|wanted| wanted.name == *name);
        let mut there: BTreeSet<AgentId> = joining.filter_map(|wanted| wanted.only).collect();
        there.extend(self.given.get(name).into_iter().flatten());
        let series = folder::series(name);
        let least = self.least.get(&series);
        if least.is_none_or(|least| there.len() >= *least) {
            self.late.remove(&series);
        }
    }

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

    /// Until when that entry waits for the parts of more nodes.
    fn waits_until(&self, name: &str) -> Option<Timestamp> {
        let is_known = self.least.contains_key(&folder::series(name));
        let lag = if is_known {
            LONGEST_LAG_MS
        } else {
            FIRST_LAG_MS
        };
        let begun = self.lagging.get(name)?;
        Some(Timestamp(begun.0.saturating_add(lag)))
    }

    /// One of that series is put together from so few nodes, after it was waited for the others since `begun`.
    fn missed_by_a_node(&mut self, series: &str, there: usize, begun: Timestamp, now: Timestamp) {
        let never = (0, Timestamp(i64::MIN));
        let (times, over) = self.late.entry(series.to_owned()).or_insert(never);
        // What was written while the first was waited for may be of the same standstill.
        if begun >= *over {
            (*times, *over) = (*times + 1, now);
        }
        // The training went on without it: this node writes none of these any more.
        if *times > 1 {
            self.least.insert(series.to_owned(), there.max(1));
        }
    }

    /// What of what waits is complete on all nodes that take part, or must do without some.
    fn ready(&mut self, newest_first: bool, last: bool, now: Timestamp) -> Vec<usize> {
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

    /// All have answered. What is published stays the current one until [`Copies::published`].
    fn close(&mut self, last: bool, now: Timestamp) -> Option<Next> {
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
                self.asked.remove(&name);
                self.current = None;
            }
            return Some(Next::GiveUp { name, why, parts });
        }
        if parts.is_empty() {
            // It was gone everywhere before it could be held.
            self.failed.remove(&name);
            self.asked.remove(&name);
            self.current = None;
            return self.next(false, last, now);
        }
        match self.beside.remove(&name) {
            // The others have waited for it.
            Some(beside) if current.wanted.only.take().is_some() => {
                for (agent, part) in beside {
                    current.parts.entry(agent).or_insert(part);
                }
            }
            Some(beside) => self.stale.extend(beside.into_values()),
            None => {}
        }
        let start = current.parts.values().filter_map(|part| part.start).max();
        let is_stale = |part: &Part| part.start.is_some() && part.start != start;
        let stale = current.parts.extract_if(.., |_, part| is_stale(part));
        let (late, stale): (BTreeSet<AgentId>, Vec<Part>) = stale.unzip();
        self.stale.extend(stale);
        let parts: Vec<Part> = current.parts.values().cloned().collect();
        let (merge, waited) = (current.wanted.only.is_some(), current.waited);
        let givers: Vec<AgentId> = current.parts.keys().copied().collect();
        self.join_instead(&name, &late);
        let given = self.given.entry(name.clone()).or_default();
        if !merge {
            given.clear();
        }
        given.extend(givers);
        let (there, of) = (given.len(), self.copiers.len());
        let series = folder::series(&name);
        let is_earlier = self.earlier.contains(&name);
        if there >= self.least.get(&series).copied().unwrap_or(of) {
            // All came after all.
            self.late.remove(&series);
            self.least.insert(series.clone(), there);
        } else if let Some(begun) = waited.filter(|_| !merge && !is_earlier) {
            self.missed_by_a_node(&series, there, begun, now);
        }
        let least = self.least.get(&series).copied();
        let asked = PartsAsked {
            // Who kept a part of an earlier start may be away.
            least: least.unwrap_or(if is_earlier { of } else { there }),
            of,
            unconfirmed: least.is_none(),
        };
        if let Some(saved) = self.saved_whole(&name, &parts, asked).filter(|_| !merge) {
            return Some(self.put_beside(name, saved));
        }
        if let Some(current) = &mut self.current {
            // Not asked again while it is being published.
            current.asked.insert(PUBLISHING);
        }
        Some(Next::Publish {
            name,
            parts,
            merge,
            asked,
        })
    }

    /// Of these agents an earlier start's part came. What they have written since joins what is put together now: it is
    /// no newer version.
    fn join_instead(&mut self, name: &str, late: &BTreeSet<AgentId>) {
        let all = Wanted {
            name: name.to_owned(),
            only: None,
        };
        let wrote = self.complete.get(name);
        let Some(wrote) = wrote.filter(|wrote| wrote.is_subset(late)).cloned() else {
            return;
        };
        if self.waiting.contains(&all) {
            self.waiting.retain(|wanted| *wanted != all);
            self.lagging.remove(name);
            for agent in wrote {
                self.complete_late(agent, name.to_owned());
            }
        }
    }

    /// Of how many nodes the saved one is of whose name these are too few parts.
    fn saved_whole(&self, name: &str, parts: &[Part], asked: PartsAsked) -> Option<usize> {
        let saved = self.saved.get(name)?;
        let nodes = parts.iter().map(|part| part.node.clone());
        let new = asked.parts_of(nodes.collect());
        new.are_fewer_than(saved).then_some(saved.nodes.len())
    }

    /// Leaves the parts of the current one where they are until those of the others come.
    fn put_beside(&mut self, name: String, saved: usize) -> Next {
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

    fn answered(&mut self, agent: AgentId, name: &str, change: impl FnOnce(&mut Current)) {
        if let Some(current) = &mut self.current
            && current.wanted.name == name
            && current.asked.remove(&agent)
        {
            change(current);
        }
    }

    /// It is saved, and has these parts now.
    pub fn is_saved(&mut self, name: &str, parts: Parts) {
        self.saved.insert(name.to_owned(), parts);
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
        if wanted.only.is_none() {
            // All are asked again: a part that came late must not go before, alone.
            self.waiting
                .retain(|other| other.name != name || other.only.is_none());
        }
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

    /// Gives an entry up that could not be copied, or waits; whether there was one.
    pub fn forget(&mut self, name: &str) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|wanted| wanted.name != name);
        let waited = self.waiting.len() < before;
        self.lagging.remove(name);
        self.complete.remove(name);
        self.asked.remove(name);
        let stayed = self.drop_beside(name);
        self.failed.remove(name).is_some() || waited || stayed
    }

    /// When the next try is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        match &self.current {
            // It is tried when that one is through.
            Some(_) => None,
            None => {
                let failed = self.failed.values().map(|failed| failed.due);
                let lagging = self.lagging.keys();
                let lagging = lagging.filter_map(|name| self.waits_until(name));
                failed.chain(lagging).min()
            }
        }
    }

    /// Whether as many nodes see it complete as others of its series have parts, or all where there is no other. A
    /// part that joins the others is one; to what an earlier start left no node adds anything.
    fn has_all_parts(&self, wanted: &Wanted) -> bool {
        let name = &wanted.name;
        let there = self.complete.get(name).map_or(0, BTreeSet::len);
        wanted.only.is_some()
            || match self.least.get(&folder::series(name)) {
                Some(least) => there >= *least,
                None => there >= self.copiers.len() || self.earlier.contains(name),
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
            node: incoming.to_owned(),
            start: None,
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
            asked: PartsAsked::default(),
        })
    }

    /// Without what is asked of all parts.
    fn next(copies: &mut Copies, newest_first: bool, now: Timestamp) -> Option<Next> {
        let mut next = copies.next(newest_first, false, now);
        if let Some(Next::Publish { asked, .. }) = &mut next {
            *asked = PartsAsked::default();
        }
        next
    }

    #[test]
    fn one_disk() {
        let mut copies = Copies::new([0]);
        copies.complete(0, "1".into(), Some(9), None);
        copies.complete(0, "2".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("1", &[0]));
        assert_eq!(next(&mut copies, false, NOW), None);
        copies.part(0, "1", part("a"));
        assert_eq!(next(&mut copies, false, NOW), publish("1", &["a"], false));
        assert_eq!(next(&mut copies, false, NOW), None, "it is being published");
        copies.published("1", NOW);
        assert_eq!(next(&mut copies, false, NOW), ask("2", &[0]));
        copies.refused(0, "2", full(), false);
        let gave_up = Next::GiveUp {
            name: "2".into(),
            why: full(),
            parts: vec![],
        };
        assert_eq!(next(&mut copies, false, NOW), Some(gave_up));
        assert!(copies.is_idle());
    }

    #[test]
    fn newest_first_when_time_is_short() {
        let mut copies = Copies::new([0]);
        for name in ["1", "2", "3"] {
            copies.complete(0, name.into(), Some(9), None);
        }
        assert_eq!(next(&mut copies, true, NOW), ask("3", &[0]));
    }

    /// So much is left to copy of `old` when `new` is seen; whether it is broken off.
    #[track_caller]
    fn check_overtaken(old: &str, new: &str, left: Option<u64>, want: bool) {
        let mut copies = Copies::new([0, 1]);
        copies.complete(0, old.into(), Some(900), None);
        assert_eq!(next(&mut copies, true, NOW), ask(old, &[0, 1]));
        copies.part(1, old, part("b"));
        copies.complete(0, new.into(), Some(9), None);
        let overtaken = copies.overtaken(|_| left);
        assert_eq!(overtaken, want.then(|| old.to_owned()), "{old} {new}");
        assert_eq!(copies.overtaken(|_| left), None, "it is asked once");
        assert_eq!(next(&mut copies, true, NOW), None);
        if !want {
            return;
        }
        copies.refused(0, old, full(), true);
        let discarded = Next::Discard(vec![part("b")]);
        assert_eq!(next(&mut copies, true, NOW), Some(discarded));
        assert_eq!(next(&mut copies, true, NOW), ask(new, &[0, 1]));
        copies.part(0, new, part("c"));
        copies.no_part(1, new);
        assert_eq!(next(&mut copies, true, NOW), publish(new, &["c"], false));
        copies.published(new, NOW);
        assert_eq!(next(&mut copies, true, NOW), ask(old, &[0, 1]));
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
        copies.complete(0, "step-1".into(), Some(900), None);
        assert_eq!(next(&mut copies, true, NOW), ask("step-1", &[0]));
        copies.complete(0, "step-2".into(), Some(9), None);
        assert!(copies.overtaken(|_| Some(800)).is_some());
        copies.part(0, "step-1", part("a"));
        assert_eq!(
            next(&mut copies, true, NOW),
            publish("step-1", &["a"], false)
        );
    }

    #[test]
    fn shards_of_two_nodes_are_one_checkpoint() {
        let mut copies = Copies::new([0, 2]);
        copies.complete(2, "1".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("1", &[0, 2]));
        copies.complete(0, "1".into(), Some(9), None);
        copies.part(2, "1", part("b"));
        assert_eq!(next(&mut copies, false, NOW), None);
        copies.part(0, "1", part("a"));
        assert_eq!(
            next(&mut copies, false, NOW),
            publish("1", &["a", "b"], false)
        );
        copies.published("1", NOW);
        assert!(copies.is_idle());
    }

    #[test]
    fn a_late_shard_is_added_and_a_new_version_replaces() {
        let mut copies = Copies::new([0, 1]);
        copies.complete(0, "last".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("last", &[0, 1]));
        copies.part(0, "last", part("a"));
        copies.no_part(1, "last");
        assert_eq!(
            next(&mut copies, false, NOW),
            publish("last", &["a"], false)
        );
        copies.complete(1, "last".into(), Some(9), None);
        copies.published("last", NOW);
        assert_eq!(next(&mut copies, false, NOW), ask("last", &[1]));
        copies.part(1, "last", part("b"));
        assert_eq!(next(&mut copies, false, NOW), publish("last", &["b"], true));
        copies.published("last", NOW);
        copies.complete(0, "last".into(), Some(9), None);
        // Both wrote a part of it before.
        assert_eq!(next(&mut copies, false, NOW), None);
        copies.complete(1, "last".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("last", &[0, 1]));
    }

    #[test]
    fn gone_before_it_was_held() {
        let mut copies = Copies::new([0]);
        copies.complete(0, "1".into(), Some(9), None);
        copies.complete(0, "2".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("1", &[0]));
        copies.no_part(0, "1");
        assert_eq!(next(&mut copies, false, NOW), ask("2", &[0]));
    }

    #[test]
    fn what_found_no_room_is_tried_again() {
        let mut copies = Copies::new([0, 1]);
        copies.complete(0, "1".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("1", &[0, 1]));
        copies.part(0, "1", part("a"));
        copies.refused(1, "1", full(), true);
        let gave_up = Next::GiveUp {
            name: "1".into(),
            why: full(),
            parts: vec![part("a")],
        };
        assert_eq!(next(&mut copies, false, NOW), Some(gave_up));
        assert!(copies.is_idle());
        assert_eq!(next(&mut copies, false, Timestamp(29_999)), None);
        assert_eq!(copies.next_due(), Some(Timestamp(30_000)));
        // Another one got through: now there may be room.
        copies.complete(0, "2".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("2", &[0, 1]));
        copies.part(0, "2", part("b"));
        copies.no_part(1, "2");
        assert_eq!(next(&mut copies, false, NOW), publish("2", &["b"], false));
        copies.published("2", Timestamp(5));
        assert_eq!(next(&mut copies, false, Timestamp(5)), ask("1", &[0, 1]));
        copies.part(0, "1", part("a"));
        copies.part(1, "1", part("c"));
        assert_eq!(
            next(&mut copies, false, NOW),
            publish("1", &["a", "c"], false)
        );
        // Such as a rename that failed; the next pause is longer.
        copies.not_published("1", NOW);
        assert_eq!(copies.next_due(), Some(Timestamp(60_000)));
        copies.retry_all();
        assert_eq!(next(&mut copies, true, NOW), ask("1", &[0, 1]));
        copies.no_part(0, "1");
        copies.no_part(1, "1");
        assert_eq!(next(&mut copies, true, NOW), None);
        assert!(copies.is_idle() && copies.next_due().is_none());
    }

    /// Copies of two nodes of which each checkpoint has a part.
    fn of_both() -> Copies {
        let parts = Parts {
            nodes: vec!["n0".to_owned(), "n1".to_owned()],
            of: 2,
            ..Parts::default()
        };
        Copies::new([0, 1]).least([("step-5", &parts)])
    }

    fn least(copies: &mut Copies, last: bool, now: Timestamp) -> Option<usize> {
        match copies.next(false, last, now) {
            Some(Next::Publish { asked, .. }) => Some(asked.least),
            _ => None,
        }
    }

    /// It was saved with the part of the first node alone, and resumed from.
    #[test]
    fn a_node_that_lags_is_waited_for_and_holds_up_nothing_else() {
        let mut copies = of_both();
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), None);
        assert!(!copies.is_idle());
        copies.complete(0, "best.pt".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("best.pt", &[0, 1]));
        copies.part(0, "best.pt", part("a"));
        copies.no_part(1, "best.pt");
        assert_eq!(
            next(&mut copies, true, NOW),
            publish("best.pt", &["a"], false)
        );
        copies.published("best.pt", NOW);
        copies.complete(1, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("step-10", &[0, 1]));
    }

    #[test]
    fn at_the_end_what_lacks_a_part_comes_after_what_lacks_none_and_says_so() {
        let mut copies = of_both();
        copies.complete(0, "step-15".into(), Some(9), None);
        for agent in [0, 1] {
            copies.complete(agent, "step-10".into(), Some(9), None);
        }
        assert_eq!(copies.next(true, true, NOW), ask("step-10", &[0, 1]));
        copies.part(0, "step-10", part("a"));
        copies.part(1, "step-10", part("b"));
        assert_eq!(least(&mut copies, true, NOW), Some(2));
        copies.published("step-10", NOW);
        assert_eq!(copies.next(true, true, NOW), ask("step-15", &[0, 1]));
        copies.part(0, "step-15", part("a"));
        copies.no_part(1, "step-15");
        assert_eq!(least(&mut copies, true, NOW), Some(2));
    }

    /// Has `name` come from the first node alone, after it was waited for; of how many nodes it should be.
    fn late_part(copies: &mut Copies, name: &str, now: Timestamp) -> (Timestamp, Option<usize>) {
        assert_eq!(next(copies, false, now), None);
        let late = copies.next_due().unwrap();
        assert_eq!(next(copies, false, late), ask(name, &[0, 1]));
        copies.part(0, name, part("a"));
        copies.no_part(1, name);
        let asked = least(copies, false, late);
        copies.published(name, late);
        (late, asked)
    }

    /// It was saved as whole with one node's part, since nothing told that there are more.
    #[test]
    fn the_first_of_a_series_waits_for_the_parts_of_all() {
        let mut copies = Copies::new([0, 1]);
        let complete = |copies: &mut Copies, agent, name: &str| {
            copies.complete(agent, name.into(), Some(9), None);
        };
        complete(&mut copies, 0, "step-10");
        assert_eq!(next(&mut copies, false, NOW), None);
        complete(&mut copies, 1, "step-10");
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
        // Time is short: at the end all are asked that have come so far.
        for (hurry, last) in [(true, false), (true, true), (false, true)] {
            let mut copies = Copies::new([0, 1]);
            complete(&mut copies, 0, "step-10");
            let asked = copies.next(hurry, last, NOW);
            assert_eq!(asked, ask("step-10", &[0, 1]), "{hurry} {last}");
        }
    }

    /// Where one rank writes for all it takes two, each of which is waited for.
    #[test]
    fn how_many_parts_there_are_is_known_when_the_second_lacks_the_same() {
        let mut copies = Copies::new([0, 1]);
        let mut now = NOW;
        for (name, want) in [("step-10", true), ("step-15", false)] {
            copies.complete(0, name.into(), Some(9), None);
            assert_eq!(next(&mut copies, false, now), None, "{name}");
            now = copies.next_due().unwrap();
            assert_eq!(next(&mut copies, false, now), ask(name, &[0, 1]));
            copies.part(0, name, part("a"));
            copies.no_part(1, name);
            let Some(Next::Publish { asked, .. }) = copies.next(false, false, now) else {
                panic!("{copies:?}")
            };
            assert_eq!((asked.least, asked.unconfirmed), (1, want), "{name}");
            copies.published(name, now);
        }
        copies.complete(0, "step-20".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, now), ask("step-20", &[0, 1]));
        // The next start knows as much.
        let of = |unconfirmed| Parts {
            nodes: vec!["n0".to_owned()],
            of: 2,
            unconfirmed,
            ..Parts::default()
        };
        for (parts, want) in [(of(true), None), (of(false), Some(1))] {
            let copies = Copies::new([0, 1]).least([("step-15", &parts)]);
            assert_eq!(copies.parts_of("step-25"), want);
        }
    }

    fn of_start(job: u32, incoming: &str) -> Part {
        Part {
            start: Some(Attempt { job, restart: 0 }),
            ..part(incoming)
        }
    }

    /// The second node still had its part of the start before, which had the same name.
    #[test]
    fn parts_of_two_starts_are_not_put_together() {
        let mut copies = of_both();
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(copies.next(false, true, NOW), ask("step-10", &[0, 1]));
        copies.part(0, "step-10", of_start(2, "a"));
        copies.part(1, "step-10", of_start(1, "b"));
        let publish = copies.next(false, true, NOW);
        let Some(Next::Publish { parts, asked, .. }) = publish else {
            panic!("{publish:?}")
        };
        assert_eq!(parts, [of_start(2, "a")]);
        assert_eq!(asked.least, 2);
        let discarded = Next::Discard(vec![of_start(1, "b")]);
        assert_eq!(copies.next(false, true, NOW), Some(discarded));
    }

    /// One node's new part joined what another had kept of the start before.
    #[test]
    fn what_is_written_again_takes_the_place_of_what_an_earlier_start_left() {
        let mut copies = Copies::new([0, 1]);
        copies.complete_earlier(1, "step-10".into());
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
        copies.no_part(0, "step-10");
        copies.part(1, "step-10", part("b"));
        assert!(next(&mut copies, false, NOW).is_some());
        copies.published("step-10", NOW);
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), None);
        copies.complete(1, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
    }

    #[test]
    fn what_was_kept_of_an_earlier_start_by_one_node_may_lack_the_parts_of_the_others() {
        let mut copies = Copies::new([0, 1]);
        copies.complete_earlier(0, "step-10".into());
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
        copies.part(0, "step-10", part("a"));
        copies.no_part(1, "step-10");
        assert_eq!(least(&mut copies, false, NOW), Some(2));
    }

    /// It was due again and again, and stayed on its nodes: the conductor span.
    #[test]
    fn what_is_given_up_while_it_waits_is_due_no_more() {
        let mut copies = of_both();
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), None);
        assert!(copies.next_due().is_some());
        assert!(copies.forget("step-10"));
        assert_eq!(copies.next_due(), None);
        assert!(!copies.forget("step-10"));
        // One that was forgotten begins anew.
        copies.complete(1, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), None);
    }

    /// It may hang, and the training with it: the first one without its part was taken for whole.
    #[test]
    fn a_node_that_writes_none_twice_is_not_waited_for_again() {
        let mut copies = of_both();
        copies.complete(0, "step-10".into(), Some(9), None);
        let (late, asked) = late_part(&mut copies, "step-10", NOW);
        assert_eq!(asked, Some(2));
        copies.complete(0, "step-15".into(), Some(9), None);
        let (late, asked) = late_part(&mut copies, "step-15", late);
        assert_eq!(asked, Some(1));
        copies.complete(0, "step-20".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, late), ask("step-20", &[0, 1]));
    }

    #[test]
    fn two_that_a_node_missed_in_one_standstill_are_one() {
        let mut copies = of_both();
        for name in ["step-10", "step-15"] {
            copies.complete(0, name.into(), Some(9), None);
        }
        assert_eq!(next(&mut copies, false, NOW), None);
        let late = copies.next_due().unwrap();
        for name in ["step-10", "step-15"] {
            assert_eq!(next(&mut copies, false, late), ask(name, &[0, 1]));
            copies.part(0, name, part("a"));
            copies.no_part(1, name);
            assert_eq!(least(&mut copies, false, late), Some(2), "{name}");
            copies.published(name, late);
        }
    }

    /// Half a checkpoint that an earlier start left on one node was published as a whole one.
    #[test]
    fn what_nodes_keep_of_earlier_starts_says_nothing_of_who_writes_now() {
        let mut copies = of_both();
        let mut now = NOW;
        for name in ["step-10", "step-15", "step-20"] {
            copies.complete_earlier(0, name.into());
            let (late, asked) = late_part(&mut copies, name, now);
            assert_eq!(asked, Some(2), "{name}");
            now = late;
        }
    }

    #[test]
    fn a_rescue_knows_of_how_many_nodes_checkpoints_are() {
        let mut copies = Copies::new([0, 1]).after(&of_both());
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), None);
        let mut fewer = Copies::new([0]).after(&of_both());
        fewer.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut fewer, false, NOW), ask("step-10", &[0]));
    }

    /// The second node's old part was put beside the first one's new one.
    #[test]
    fn a_new_version_of_what_could_not_be_copied_waits_for_all_its_parts() {
        let mut copies = of_both();
        for agent in [0, 1] {
            copies.complete(agent, "step-10".into(), Some(9), None);
        }
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
        copies.part(1, "step-10", part("b"));
        copies.refused(0, "step-10", full(), true);
        assert!(matches!(
            next(&mut copies, false, NOW),
            Some(Next::GiveUp { .. })
        ));
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), None);
        copies.complete(1, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
    }

    /// Its due moment was past, and the conductor looked again and again.
    #[test]
    fn what_is_due_again_does_not_wait_for_what_lags() {
        let mut copies = of_both();
        copies.complete(0, "best.pt".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("best.pt", &[0, 1]));
        copies.refused(0, "best.pt", full(), true);
        copies.no_part(1, "best.pt");
        assert!(matches!(
            next(&mut copies, false, NOW),
            Some(Next::GiveUp { .. })
        ));
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), None);
        let due = copies.next_due().unwrap();
        assert_eq!(next(&mut copies, false, due), ask("best.pt", &[0, 1]));
    }

    /// The run was resumed from the other one.
    #[test]
    fn of_names_without_a_step_the_one_that_was_written_last_goes_first() {
        let mut copies = Copies::new([0]);
        for (name, written) in [("last.pt", 20), ("best.pt", 10)] {
            copies.complete(0, name.into(), Some(9), Some(Timestamp(written)));
        }
        assert_eq!(next(&mut copies, true, NOW), ask("last.pt", &[0]));
    }

    /// It came after it was asked for: the next one without it was taken for whole.
    #[test]
    fn a_part_that_comes_after_all_is_not_missed() {
        let mut copies = of_both();
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), None);
        let late = copies.next_due().unwrap();
        assert_eq!(next(&mut copies, false, late), ask("step-10", &[0, 1]));
        for agent in [0, 1] {
            copies.part(agent, "step-10", part("a"));
        }
        assert_eq!(least(&mut copies, false, late), Some(2));
        copies.published("step-10", late);
        copies.complete(0, "step-15".into(), Some(9), None);
        assert_eq!(late_part(&mut copies, "step-15", late).1, Some(2));
    }

    /// Its nodes knew it as out.
    #[test]
    fn a_late_part_does_not_go_alone_before_what_could_not_be_published() {
        let mut copies = Copies::new([0, 1]);
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("step-10", &[0, 1]));
        copies.part(0, "step-10", part("a"));
        copies.no_part(1, "step-10");
        assert_eq!(
            next(&mut copies, false, NOW),
            publish("step-10", &["a"], false)
        );
        copies.complete(1, "step-10".into(), Some(9), None);
        copies.not_published("step-10", NOW);
        let due = copies.next_due().unwrap();
        assert_eq!(next(&mut copies, false, due), ask("step-10", &[0, 1]));
    }

    /// It was forgotten when another node's part joined, and that node then taken for one that takes no part.
    #[test]
    fn a_late_part_that_could_not_be_copied_is_asked_for_again() {
        let mut copies = Copies::new([0, 1, 2]);
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("step-10", &[0, 1, 2]));
        copies.part(0, "step-10", part("a"));
        copies.no_part(1, "step-10");
        copies.no_part(2, "step-10");
        assert!(next(&mut copies, false, NOW).is_some());
        copies.published("step-10", NOW);
        copies.complete(1, "step-10".into(), Some(9), None);
        copies.complete(2, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[1]));
        copies.refused(1, "step-10", full(), true);
        let gave_up = next(&mut copies, false, NOW);
        assert!(matches!(gave_up, Some(Next::GiveUp { .. })), "{gave_up:?}");
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[2]));
        copies.part(2, "step-10", part("c"));
        assert_eq!(
            next(&mut copies, false, NOW),
            publish("step-10", &["c"], true)
        );
        copies.published("step-10", NOW);
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[1]));
    }

    #[test]
    fn a_node_that_had_written_before_and_writes_none_any_more_is_not_waited_for_again() {
        let mut copies = of_both();
        let mut now = NOW;
        for agent in [0, 1] {
            copies.complete(agent, "step-10".into(), Some(9), None);
        }
        assert_eq!(next(&mut copies, false, now), ask("step-10", &[0, 1]));
        for agent in [0, 1] {
            copies.part(agent, "step-10", part("a"));
        }
        assert_eq!(least(&mut copies, false, now), Some(2));
        copies.published("step-10", now);
        for (name, want) in [("step-15", 2), ("step-20", 1)] {
            copies.complete(0, name.into(), Some(9), None);
            let (late, asked) = late_part(&mut copies, name, now);
            assert_eq!(asked, Some(want), "{name}");
            now = late;
        }
    }

    /// The part of the first node, which was out, was replaced.
    #[test]
    fn a_late_part_that_could_not_be_published_leaves_what_it_was_to_join() {
        let mut copies = Copies::new([0, 1, 2]);
        copies.complete(0, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, true, NOW), ask("step-10", &[0, 1, 2]));
        copies.part(0, "step-10", part("a"));
        copies.no_part(1, "step-10");
        copies.no_part(2, "step-10");
        assert!(next(&mut copies, false, NOW).is_some());
        copies.published("step-10", NOW);
        copies.complete(1, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[1]));
        copies.part(1, "step-10", part("b"));
        assert!(next(&mut copies, false, NOW).is_some());
        copies.not_published("step-10", NOW);
        copies.complete(2, "step-10".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[2]));
    }

    fn part_of(node: &str, incoming: &str) -> Part {
        Part {
            node: node.to_owned(),
            ..part(incoming)
        }
    }

    /// The first node has written `last` again and the second has not, while both their parts are saved.
    fn half_beside() -> Copies {
        let both = Parts {
            nodes: vec!["n0".to_owned(), "n1".to_owned()],
            of: 2,
            ..Parts::default()
        };
        let mut copies = Copies::new([0, 1]).least([("last", &both)]);
        copies.complete(0, "last".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), None);
        let late = copies.next_due().unwrap();
        assert_eq!(next(&mut copies, false, late), ask("last", &[0, 1]));
        copies.part(0, "last", part_of("n0", "a"));
        copies.no_part(1, "last");
        let beside = Next::StayBeside {
            name: "last".to_owned(),
            nodes: vec!["n0".to_owned()],
            saved: 2,
        };
        assert_eq!(next(&mut copies, false, late), Some(beside));
        assert_eq!(copies.next_due(), None);
        assert!(copies.is_idle());
        copies
    }

    /// A node that came later than it was waited for had the first one's half published over the whole one.
    #[test]
    fn a_half_of_what_is_written_again_stays_beside_the_whole_one_until_the_others_come() {
        let mut copies = half_beside();
        copies.complete(1, "last".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("last", &[1]));
        copies.part(1, "last", part_of("n1", "b"));
        let both = vec![part_of("n0", "a"), part_of("n1", "b")];
        let exchanged = Next::Publish {
            name: "last".to_owned(),
            parts: both,
            merge: false,
            asked: PartsAsked::default(),
        };
        assert_eq!(next(&mut copies, false, NOW), Some(exchanged));
        // Its parts are gone from the run folder: all are asked again.
        copies.not_published("last", NOW);
        let due = copies.next_due().unwrap();
        assert_eq!(next(&mut copies, false, due), ask("last", &[0, 1]));
    }

    #[test]
    fn a_late_part_that_fails_leaves_the_half_beside() {
        let mut copies = half_beside();
        copies.complete(1, "last".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("last", &[1]));
        copies.refused(1, "last", full(), true);
        let Some(Next::GiveUp { parts, .. }) = next(&mut copies, false, NOW) else {
            panic!("{copies:?}")
        };
        assert_eq!(parts, []);
        let due = copies.next_due().unwrap();
        assert_eq!(next(&mut copies, false, due), ask("last", &[1]));
        copies.part(1, "last", part_of("n1", "b"));
        let Some(Next::Publish { parts, merge, .. }) = next(&mut copies, false, due) else {
            panic!("{copies:?}")
        };
        assert_eq!((parts.len(), merge), (2, false));
    }

    /// One that misses two of them takes no part any more.
    #[test]
    fn a_half_takes_the_place_of_the_whole_one_once_it_is_known_that_no_more_comes() {
        let mut copies = half_beside();
        copies.complete(0, "last".into(), Some(9), None);
        let discarded = Next::Discard(vec![part_of("n0", "a")]);
        let now = Timestamp(100_000);
        assert_eq!(next(&mut copies, false, now), Some(discarded));
        assert_eq!(next(&mut copies, false, now), None);
        let late = copies.next_due().unwrap();
        assert_eq!(next(&mut copies, false, late), ask("last", &[0, 1]));
        copies.part(0, "last", part_of("n0", "c"));
        copies.no_part(1, "last");
        assert_eq!(least(&mut copies, false, late), Some(1));
    }

    #[test]
    fn a_half_that_is_given_up_or_left_to_fresh_agents_is_removed() {
        let discarded = || Some(Next::Discard(vec![part_of("n0", "a")]));
        let mut copies = half_beside();
        assert!(copies.forget("last"));
        assert_eq!(next(&mut copies, false, NOW), discarded());
        let mut fresh = Copies::new([0, 1]).after(&half_beside());
        assert_eq!(next(&mut fresh, false, NOW), discarded());
    }

    /// A node kept its half of what had been saved since.
    #[test]
    fn what_an_earlier_start_left_on_one_node_takes_the_place_of_no_whole_one() {
        let both = Parts {
            nodes: vec!["n0".to_owned(), "n1".to_owned()],
            of: 2,
            ..Parts::default()
        };
        let mut copies = Copies::new([0, 1]).least([("last", &both)]);
        copies.complete_earlier(0, "last".into());
        assert_eq!(next(&mut copies, true, NOW), None);
        assert_eq!(copies.next(true, true, NOW), ask("last", &[0, 1]));
        copies.part(0, "last", part_of("n0", "a"));
        copies.no_part(1, "last");
        let beside = next(&mut copies, true, NOW);
        assert!(
            matches!(beside, Some(Next::StayBeside { .. })),
            "{beside:?}"
        );
        let discarded = Next::Discard(vec![part_of("n0", "a")]);
        assert_eq!(next(&mut copies, true, NOW), Some(discarded));
    }

    /// The part of an earlier start that a node had given was put aside, and its new one published alone.
    #[test]
    fn what_is_written_while_an_earlier_start_s_part_is_put_aside_joins_the_others() {
        let mut copies = of_both();
        for agent in [0, 1] {
            copies.complete_earlier(agent, "step-10".into());
        }
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0, 1]));
        copies.part(0, "step-10", of_start(1, "a"));
        copies.complete(1, "step-10".into(), Some(9), None);
        copies.complete(0, "step-10".into(), Some(9), None);
        copies.part(1, "step-10", of_start(2, "b"));
        let published = next(&mut copies, false, NOW);
        let Some(Next::Publish { parts, .. }) = published else {
            panic!("{published:?}")
        };
        assert_eq!(parts, [of_start(2, "b")]);
        copies.published("step-10", NOW);
        let discarded = Next::Discard(vec![of_start(1, "a")]);
        assert_eq!(next(&mut copies, false, NOW), Some(discarded));
        assert_eq!(next(&mut copies, false, NOW), ask("step-10", &[0]));
    }

    /// What was written again during its copy was not asked for; its agent says so once more.
    #[test]
    fn what_was_written_again_during_its_copy_is_copied_too() {
        let mut copies = Copies::new([0]);
        copies.complete(0, "last".into(), Some(9), None);
        assert_eq!(next(&mut copies, false, NOW), ask("last", &[0]));
        copies.complete(0, "last".into(), Some(9), None);
        copies.part(0, "last", part("a"));
        copies.complete(0, "last".into(), Some(9), None);
        assert!(next(&mut copies, false, NOW).is_some());
        copies.published("last", NOW);
        assert_eq!(next(&mut copies, false, NOW), ask("last", &[0]));
    }
}
