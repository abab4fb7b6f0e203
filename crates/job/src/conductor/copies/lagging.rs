//! How long the parts of more nodes are waited for, and how many there are.

use super::{Copies, PUBLISHING, Wanted};
use crate::protocol::AgentId;
use model::Timestamp;

/// So long after the first node of a checkpoint its others are waited for.
const LONGEST_LAG_MS: i64 = 60_000;
/// The same where nothing tells yet whether they have a part: in most trainings one rank writes for all.
const FIRST_LAG_MS: i64 = 10_000;

impl Copies {
    /// Until when that entry waits for the parts of more nodes.
    pub(super) fn waits_until(&self, name: &str) -> Option<Timestamp> {
        let is_known = self.least.contains_key(&folder::series(name)) || self.awaits_writers(name);
        let lag = if is_known {
            LONGEST_LAG_MS
        } else {
            FIRST_LAG_MS
        };
        let begun = self.lagging.get(name)?;
        Some(Timestamp(begun.0.saturating_add(lag)))
    }

    /// Whether a node writes of which no part is complete.
    fn awaits_writers(&self, name: &str) -> bool {
        let complete = self.complete.get(name);
        let mut writers = self.writers.iter();
        writers.any(|agent| complete.is_none_or(|complete| !complete.contains(agent)))
    }

    /// An agent's node writes something into its `{checkpoints}`. Which of what was put together without a part of it,
    /// while nothing told whether it has one, lacks that, and how many it lacks now. What is being put together is asked
    /// about afterwards, by [`Copies::lacks_more`].
    pub fn writes(&mut self, agent: AgentId) -> Vec<(String, usize)> {
        if !self.copiers.contains(&agent) || !self.writers.insert(agent) {
            return Vec::new();
        }
        let names: Vec<String> = self.saved.keys().cloned().collect();
        let settled = names
            .into_iter()
            .filter(|name| !self.is_being_published(name));
        let settled: Vec<String> = settled.collect();
        let lacking = settled.into_iter().filter_map(|name| {
            let lacks = self.lacks_more(&name)?;
            Some((name, lacks))
        });
        lacking.collect()
    }

    /// How many parts what is saved under a name lacks, where nodes that write have none in it and it is not said yet.
    pub fn lacks_more(&mut self, name: &str) -> Option<usize> {
        let (parts, given) = (self.saved.get_mut(name)?, self.given.get(name)?);
        let without = self
            .writers
            .iter()
            .filter(|agent| !given.contains_key(agent));
        let lacks = without.count();
        if !parts.unconfirmed || lacks <= parts.lacks {
            return None;
        }
        parts.lacks = lacks;
        Some(lacks)
    }

    fn is_being_published(&self, name: &str) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| {
            current.wanted.name == name && current.asked.contains(&PUBLISHING)
        })
    }

    /// One of that series is put together from so few nodes, after it was waited for the others since `begun`.
    pub(super) fn missed_by_a_node(
        &mut self,
        series: &str,
        there: usize,
        begun: Timestamp,
        now: Timestamp,
    ) {
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

    /// Whether as many nodes see it complete as others of its series have parts, or all where there is no other. A
    /// part that joins the others is one; to what an earlier start left no node adds anything.
    pub(super) fn has_all_parts(&self, wanted: &Wanted) -> bool {
        let name = &wanted.name;
        let there = self.complete_of_one_version(name);
        wanted.only.is_some()
            || match self.least.get(&folder::series(name)) {
                Some(least) => there >= *least,
                None => there >= self.copiers.len() || self.earlier.contains(name),
            }
    }
}
