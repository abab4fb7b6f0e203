//! How long the parts of more nodes are waited for, and how many there are.

use super::{Copies, Wanted};
use model::Timestamp;
use std::collections::BTreeSet;

/// So long after the first node of a checkpoint its others are waited for.
const LONGEST_LAG_MS: i64 = 60_000;
/// The same where nothing tells yet whether they have a part: in most trainings one rank writes for all.
const FIRST_LAG_MS: i64 = 10_000;

impl Copies {
    /// Until when that entry waits for the parts of more nodes.
    pub(super) fn waits_until(&self, name: &str) -> Option<Timestamp> {
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
        let there = self.complete.get(name).map_or(0, BTreeSet::len);
        wanted.only.is_some()
            || match self.least.get(&folder::series(name)) {
                Some(least) => there >= *least,
                None => there >= self.copiers.len() || self.earlier.contains(name),
            }
    }
}
