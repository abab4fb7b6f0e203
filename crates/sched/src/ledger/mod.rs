//! Limits of QOS, accounts and users on what runs: what is held under each, and which of them keeps
//! a job from starting.
//!
//! What runs is counted at each start and end. Slurm's order decides which value
//! of a limit counts: the partition's QOS, the job's, the user, the accounts upwards; the flag
//! `OverPartQOS` swaps the first two. Limits on groups hold at every level of the accounts, where no
//! QOS sets them. Licences are counted here too: a job for which there are none waits, and keeps no
//! other up.

mod after;
mod before;
mod chain;
mod node_limits;
mod overdrawn;
mod passed;
mod spent;
mod submitted;
mod used;

use crate::Job;
use crate::fault::{self, Fault};
pub(crate) use after::Wanted;
pub(crate) use chain::{Chain, Counter};
use model::{JobId, JobState, LicenceCount, PendingReason, Timestamp};
pub(crate) use overdrawn::BudgetChecks;
pub(crate) use passed::{Over, Passed};
use resources::{Cluster, Share};
pub(crate) use spent::Spent;
pub use spent::{Spender, Spending};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
pub(crate) use submitted::InQueue;
pub(crate) use used::Used;
use used::licences_of;

/// What runs, by limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    held: HashMap<Counter, Held>,
    licences: BTreeMap<String, u32>,
    /// Where each running job is counted, and as what.
    jobs: HashMap<JobId, Counted>,
}

/// What is held under one limit.
#[derive(Clone, Debug, Default, PartialEq)]
struct Held {
    used: Used,
    /// Of each TRES the sum over all jobs of what they hold times the second at which they end:
    /// what they may still use is that less the time times what is held.
    ends: Vec<i128>,
}

/// A running job.
#[derive(Clone, Debug, PartialEq)]
struct Counted {
    counters: Vec<Counter>,
    used: Used,
    /// Seconds since 1970.
    end: i64,
    licences: Vec<LicenceCount>,
}

impl Ledger {
    /// Whether anything can keep a job from starting.
    pub(crate) fn counts(cluster: &Cluster) -> bool {
        cluster.has_limits() || !cluster.licences().is_empty()
    }

    /// Counts what runs.
    pub(crate) fn count<'a>(
        cluster: &Cluster,
        running: impl Iterator<Item = (&'a Job, Cow<'a, [Share]>)>,
    ) -> Ledger {
        let mut ledger = Ledger::default();
        for (record, shares) in running {
            ledger.started(cluster, record, &shares);
        }
        ledger
    }

    /// A job runs with these shares; one that was counted before is counted anew.
    pub(crate) fn started(&mut self, cluster: &Cluster, record: &Job, shares: &[Share]) {
        let JobState::Running { since, limit, .. } = &record.state else {
            return;
        };
        if !Ledger::counts(cluster) {
            return;
        }
        self.ended(record);
        let partition = record.partitions();
        let partition = partition.and_then(|name| cluster.find_partition(name));
        let counters = Chain::of(cluster, record, partition).counters();
        let partition = partition.map(|partition| cluster.partition(partition));
        let used = Used::of(cluster, partition, &record.request, shares);
        let unmoved = *since + limit.unwrap_or(crate::expected_ends::UNLIMITED);
        let counted = Counted {
            counters,
            used,
            end: seconds(record.state.limit_ends().unwrap_or(unmoved)),
            licences: licences_of(&record.request),
        };
        for counter in &counted.counters {
            let held = self.held.entry(counter.clone()).or_default();
            held.used.add(&counted.used);
            held.ends
                .resize(held.ends.len().max(counted.used.tres.len()), 0);
            for (at, ends) in held.ends.iter_mut().enumerate() {
                *ends += i128::from(counted.used.get(at)) * i128::from(counted.end);
            }
        }
        for licence in &counted.licences {
            let held = self.licences.entry(licence.name.clone()).or_default();
            *held = held.saturating_add(licence.count);
        }
        self.jobs.insert(record.id, counted);
    }

    /// A job runs no more.
    pub(crate) fn ended(&mut self, record: &Job) {
        let Some(counted) = self.jobs.remove(&record.id) else {
            return;
        };
        for counter in counted.counters {
            let Some(held) = self.held.get_mut(&counter) else {
                continue;
            };
            if !fault::is(Fault::StaysCounted) {
                held.used.take(&counted.used);
            }
            for (at, ends) in held.ends.iter_mut().enumerate() {
                *ends -= i128::from(counted.used.get(at)) * i128::from(counted.end);
            }
            if held.used.jobs == 0 {
                self.held.remove(&counter);
            }
        }
        for licence in counted.licences {
            let left = self.licences.get(&licence.name).copied().unwrap_or(0);
            match left.saturating_sub(licence.count) {
                0 => self.licences.remove(&licence.name),
                left => self.licences.insert(licence.name, left),
            };
        }
    }

    /// How many licences of a name running jobs hold.
    pub(crate) fn licences(&self, name: &str) -> u32 {
        self.licences.get(name).copied().unwrap_or(0)
    }

    fn jobs(&self, counter: &Counter) -> u32 {
        self.held.get(counter).map_or(0, |held| held.used.jobs)
    }

    /// What is held of the TRES at a place.
    fn held(&self, counter: &Counter, at: usize) -> u64 {
        self.held.get(counter).map_or(0, |held| held.used.get(at))
    }

    /// What running jobs may still use of the TRES at a place until their limits, times seconds. One
    /// that is over its limit counts as it is until it is killed.
    fn still_to_use(&self, counter: &Counter, at: usize, now: Timestamp) -> u128 {
        let Some(held) = self.held.get(counter) else {
            return 0;
        };
        let ends = held.ends.get(at).copied().unwrap_or(0);
        let passed = i128::from(held.used.get(at)) * i128::from(seconds(now));
        u128::try_from(ends - passed).unwrap_or(0)
    }
}

#[cfg(test)]
impl Ledger {
    /// It is what a recount makes, no licence is given twice, and no user has more of a TRES than so
    /// much, or than before the pass: nodes that come back with another configuration make jobs larger
    /// that run.
    pub(crate) fn check(
        &self,
        state: &crate::State,
        before: &Ledger,
        most_of_user: u64,
        tres: &str,
    ) {
        let cluster = &state.cluster;
        let counted = Ledger::count(cluster, state.running_shares());
        assert_eq!(*self, counted, "ledger: a recount differs");
        for licence in cluster.licences() {
            assert!(self.licences(&licence.name) <= licence.count, "{licence:?}");
        }
        let place = cluster.limited_tres().iter().position(|own| own == tres);
        for (counter, held) in &self.held {
            if let (Counter::QosUser(..), Some(at)) = (counter, place) {
                let held_before = before.held.get(counter).map_or(0, |held| held.used.get(at));
                let most = most_of_user.max(held_before);
                assert!(held.used.get(at) <= most, "{counter:?}: {held:?}");
            }
        }
    }
}

impl crate::State {
    /// How many licences of a name running jobs hold.
    #[must_use]
    pub fn licences_held(&self, name: &str) -> u32 {
        self.ledger.licences(name)
    }
}

fn seconds(at: Timestamp) -> i64 {
    at.0.div_euclid(1000)
}

fn over(name: &str) -> Result<(), PendingReason> {
    Err(PendingReason::OverLimit(name.to_owned()))
}

#[cfg(test)]
mod tests;
