//! All have answered: what becomes of the parts that came.

use super::{Copies, Next, PUBLISHING, Part, PartsAsked, Wanted};
use crate::protocol::AgentId;
use model::Timestamp;
use std::cmp::Ordering;
use std::collections::BTreeSet;

impl Copies {
    /// All have answered. What is published stays the current one until [`Copies::published`].
    pub(super) fn close(&mut self, last: bool, now: Timestamp) -> Option<Next> {
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
        let mut parts = std::mem::take(&mut current.parts);
        let mut merge = current.wanted.only.is_some();
        let waited = current.waited;
        if let Some(beside) = self.beside.remove(&name) {
            if merge {
                // The others have waited for it.
                merge = false;
                for (agent, part) in beside {
                    parts.entry(agent).or_insert(part);
                }
            } else {
                self.stale.extend(beside.into_values());
            }
        }
        let late = self.take_stale(&name, &mut parts);
        if merge {
            match self.against_given(&name, &parts) {
                Ordering::Equal => {}
                Ordering::Greater => merge = false,
                Ordering::Less => {
                    // It is of no use beside a newer version.
                    self.stale.extend(parts.into_values());
                    self.asked.remove(&name);
                    self.current = None;
                    return self.next(false, last, now);
                }
            }
        }
        self.join_instead(&name, &late);
        let given = self.given.entry(name.clone()).or_default();
        if !merge {
            given.clear();
        }
        given.extend(parts.iter().map(|(agent, part)| (*agent, part.written)));
        let (there, of) = (given.len(), self.copiers.len());
        let writing: BTreeSet<&AgentId> = given.keys().chain(&self.writers).collect();
        let writing = writing.len();
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
            least: least.unwrap_or(if is_earlier { of } else { writing }),
            of,
            unconfirmed: least.is_none(),
        };
        let all: Vec<Part> = parts.values().cloned().collect();
        let beside = self.saved_whole(&name, &all, asked).filter(|_| !merge);
        if let Some(current) = &mut self.current {
            current.parts = parts;
            if !merge {
                current.wanted.only = None;
            }
            // Not asked again while it is being published.
            current.asked.insert(PUBLISHING);
        }
        if let Some(saved) = beside {
            return Some(self.put_beside(name, saved));
        }
        let parts = all;
        Some(Next::Publish {
            name,
            parts,
            merge,
            asked,
        })
    }

    /// Of these agents an earlier start's or an earlier version's part came. What they have written since joins what is put together now: it is
    /// no newer version.
    pub(super) fn join_instead(&mut self, name: &str, late: &BTreeSet<AgentId>) {
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
}
