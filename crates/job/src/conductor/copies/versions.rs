//! Which of the parts of a name that is written again and again are of one version: of one start, and within it of one
//! time. A copy may take longer than the training takes to write the next.

use super::{Copies, Part};
use crate::protocol::AgentId;
use folder::Position;
use model::Timestamp;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// So many of the last versions that an agent saw are remembered.
const REMEMBERED: usize = 4;

/// When the versions of each entry were written that each agent has seen complete, the last one last.
#[derive(Debug, Default)]
pub(super) struct Versions(BTreeMap<String, BTreeMap<AgentId, Vec<Timestamp>>>);

impl Versions {
    pub fn seen(&mut self, agent: AgentId, name: &str, written: Timestamp) {
        let of_name = self.0.entry(name.to_owned()).or_default();
        let seen = of_name.entry(agent).or_default();
        if seen.last() != Some(&written) {
            seen.push(written);
        }
        let too_many = seen.len().saturating_sub(REMEMBERED);
        seen.drain(..too_many);
    }

    fn of(&self, agent: AgentId, name: &str) -> &[Timestamp] {
        let seen = self.0.get(name).and_then(|of_name| of_name.get(&agent));
        seen.map_or(&[], Vec::as_slice)
    }

    /// When the last one was written that an agent has seen.
    fn last(&self, agent: AgentId, name: &str) -> Option<Timestamp> {
        self.of(agent, name).last().copied()
    }

    /// Whether the older of two that two agents gave is of an earlier version than the newer: one of the two agents
    /// has another version that is nearer to what the other one gave.
    fn differ(&self, name: &str, older: (AgentId, Timestamp), newer: (AgentId, Timestamp)) -> bool {
        let between = newer.1.since(older.1);
        let has_nearer = |agent, own: Timestamp, to: Timestamp| {
            let mut others = self.of(agent, name).iter().filter(|seen| **seen != own);
            others.any(|seen| (seen.0 - to.0).abs() < between)
        };
        has_nearer(newer.0, newer.1, older.1) || has_nearer(older.0, older.1, newer.1)
    }

    /// Of these, which are of an earlier version than the newest of them.
    fn earlier(&self, name: &str, given: &BTreeMap<AgentId, Timestamp>) -> BTreeSet<AgentId> {
        // A step is written once; what is added to it later is no other version.
        let is_written_once = Position::of(name).is_some_and(|it| !it.counts_epochs());
        let newest = given.iter().max_by_key(|(_, written)| **written);
        let Some((newest, at)) = newest.filter(|_| !is_written_once) else {
            return BTreeSet::new();
        };
        let is_earlier = |(agent, written): &(&AgentId, &Timestamp)| {
            *agent != newest && self.differ(name, (**agent, **written), (*newest, *at))
        };
        let earlier = given.iter().filter(is_earlier);
        earlier.map(|(agent, _)| *agent).collect()
    }
}

impl Copies {
    /// How many agents see the same version of it complete.
    pub(super) fn complete_of_one_version(&self, name: &str) -> usize {
        let Some(agents) = self.complete.get(name) else {
            return 0;
        };
        let last = |agent: &AgentId| Some((*agent, self.versions.last(*agent, name)?));
        let given = agents.iter().filter_map(last).collect();
        agents.len() - self.versions.earlier(name, &given).len()
    }

    /// Takes out what was given of an earlier start, or an earlier version, than another part; whose it was.
    pub(super) fn take_stale(
        &mut self,
        name: &str,
        parts: &mut BTreeMap<AgentId, Part>,
    ) -> BTreeSet<AgentId> {
        let start = parts.values().filter_map(|part| part.start).max();
        let is_stale = |part: &Part| part.start.is_some() && part.start != start;
        let of_start = parts.extract_if(.., |_, part| is_stale(part));
        let (mut late, stale): (BTreeSet<AgentId>, Vec<Part>) = of_start.unzip();
        self.stale.extend(stale);
        if !self.is_done {
            let given = parts.iter();
            let given = given.filter_map(|(agent, part)| Some((*agent, part.written?)));
            let earlier = self.versions.earlier(name, &given.collect());
            let of_version = parts.extract_if(.., |agent, _| earlier.contains(agent));
            self.stale.extend(of_version.map(|(_, part)| part));
            late.extend(earlier);
        }
        late
    }

    /// How what came late compares with what it is to join: it is of the same version, a newer or an older one.
    pub(super) fn against_given(&self, name: &str, parts: &BTreeMap<AgentId, Part>) -> Ordering {
        let given = self.given.get(name).into_iter().flatten();
        let given = given.filter(|(agent, _)| !parts.contains_key(agent));
        let came = parts.iter().map(|(agent, part)| (agent, &part.written));
        let all = given.chain(came);
        let all = all.filter_map(|(agent, written)| Some((*agent, (*written)?)));
        let earlier = self.versions.earlier(name, &all.collect());
        if self.is_done || earlier.is_empty() {
            Ordering::Equal
        } else if parts.keys().any(|agent| earlier.contains(agent)) {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }

    /// The ranks have ended well: what each node has of a name is its last version, and all of one.
    pub fn ended_well(&mut self) {
        self.is_done = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each agent has seen, in seconds, and what was given of it; whose is of an earlier version.
    #[track_caller]
    fn check(name: &str, seen: &[&[i64]], given: &[i64], want: &[AgentId]) {
        let mut versions = Versions::default();
        for (agent, times) in (0..).zip(seen) {
            for time in *times {
                versions.seen(agent, name, Timestamp(time * 1000));
            }
        }
        let given = (0..).zip(given.iter().map(|time| Timestamp(time * 1000)));
        let earlier: Vec<AgentId> = versions
            .earlier(name, &given.collect())
            .into_iter()
            .collect();
        assert_eq!(earlier, want, "{name} {seen:?}");
    }

    #[test]
    fn the_part_of_a_version_before_is_told_by_the_times_of_both() {
        check("last", &[&[10], &[11]], &[10, 11], &[]);
        check("last", &[&[10, 40], &[11]], &[40, 11], &[1]);
        check("last", &[&[10, 40], &[11, 42]], &[40, 42], &[]);
        check("last", &[&[10, 40], &[11, 42]], &[40, 11], &[1]);
        check("last", &[&[10], &[11, 42]], &[10, 42], &[0]);
        // The first has seen the second version alone: nothing tells.
        check("last", &[&[40], &[11]], &[40, 11], &[]);
        check("epoch=3", &[&[10, 40], &[11]], &[40, 11], &[1]);
        check("step=3", &[&[10, 40], &[11]], &[40, 11], &[]);
        check("last", &[&[10, 40], &[11, 41], &[12]], &[40, 41, 12], &[2]);
    }
}
