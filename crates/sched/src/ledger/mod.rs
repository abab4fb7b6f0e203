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
mod shared_nodes;
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
use resources::{Cluster, NodeId, Qos, Share};
use shared_nodes::{JobsOfNodes, nodes_of};
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
    /// Where a limit of the cluster counts them.
    nodes: JobsOfNodes,
    /// Of each TRES what they may still use.
    to_use: Vec<ToUse>,
}

/// What jobs may still use of a TRES until their ends, in parts ([`PARTS`]): each second of a job counts as its
/// QOS says (`UsageFactor`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ToUse {
    /// A second.
    rate: i128,
    /// The sum over all jobs of the same times the second at which they end: what they may still use is that
    /// less the time times the rate.
    ends: i128,
}

/// A second of one of a TRES has so many parts: factors have fractions, and whole numbers add up exactly.
const PARTS: f64 = 1e6;

/// A running job.
#[derive(Clone, Debug, PartialEq)]
struct Counted {
    counters: Vec<Counter>,
    used: Used,
    /// Where a limit of the cluster counts them.
    nodes: Vec<NodeId>,
    /// Seconds since 1970.
    end: i64,
    /// So many parts does a second of one of a TRES count.
    factor: i128,
    licences: Vec<LicenceCount>,
}

impl Counted {
    /// How many parts of the TRES at a place it uses a second.
    fn rate(&self, at: usize) -> i128 {
        i128::from(self.used.get(at)) * self.factor
    }
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
        let chain = Chain::of(cluster, record, partition);
        let partition = partition.map(|partition| cluster.partition(partition));
        let used = Used::of(cluster, partition, &record.request, shares);
        let unmoved = *since + limit.unwrap_or(crate::expected_ends::UNLIMITED);
        let counted = Counted {
            counters: chain.counters(),
            used,
            nodes: nodes_of(cluster, shares),
            end: seconds(record.state.limit_ends().unwrap_or(unmoved)),
            factor: (chain.usage_factor() * PARTS) as i128,
            licences: licences_of(&record.request),
        };
        for counter in &counted.counters {
            let held = self.held.entry(counter.clone()).or_default();
            held.used.add(&counted.used);
            held.nodes.add(&counted.nodes);
            let len = held.to_use.len().max(counted.used.tres.len());
            held.to_use.resize(len, ToUse::default());
            for (at, to_use) in held.to_use.iter_mut().enumerate() {
                let rate = counted.rate(at);
                to_use.rate += rate;
                to_use.ends += rate * i128::from(counted.end);
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
        let Some(mut counted) = self.jobs.remove(&record.id) else {
            return;
        };
        for counter in std::mem::take(&mut counted.counters) {
            let Some(held) = self.held.get_mut(&counter) else {
                continue;
            };
            if !fault::is(Fault::StaysCounted) {
                held.used.take(&counted.used);
                held.nodes.take(&counted.nodes);
            }
            for (at, to_use) in held.to_use.iter_mut().enumerate() {
                let rate = counted.rate(at);
                to_use.rate -= rate;
                to_use.ends -= rate * i128::from(counted.end);
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
        let ToUse { rate, ends } = held.to_use.get(at).copied().unwrap_or_default();
        let left = ends - rate * i128::from(seconds(now));
        u128::try_from(left / PARTS as i128).unwrap_or(0)
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

/// How much a second of a QOS's job counts of what is used.
pub(crate) fn usage_factor(qos: Option<&Qos>) -> f64 {
    // Slurm takes no other.
    qos.map_or(1.0, |qos| qos.usage_factor.clamp(0.0, 1e9))
}

fn seconds(at: Timestamp) -> i64 {
    at.0.div_euclid(1000)
}

fn over(name: &str) -> Result<(), PendingReason> {
    Err(PendingReason::OverLimit(name.to_owned()))
}

#[cfg(test)]
mod tests;
