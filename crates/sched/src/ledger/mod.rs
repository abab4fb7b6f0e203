//! Limits of QOS, accounts and users on what runs: what is held under each, and which of them keeps
//! a job from starting.
//!
//! A pass counts anew what runs, so that nothing can come apart. Slurm's order decides which value
//! of a limit counts: the partition's QOS, the job's, the user, the accounts upwards; the flag
//! `OverPartQOS` swaps the first two. Limits on groups hold at every level of the accounts, where no
//! QOS sets them. Not counted are
//! resources times minutes, and resources other than CPUs, memory, nodes and GPUs of any type.

mod after;
mod before;
mod chain;
mod submitted;
mod used;

pub(crate) use chain::Chain;
use chain::Counter;
use model::{JobRecord, PendingReason};
use resources::Cluster;
use std::collections::HashMap;
pub(crate) use used::Used;

/// What runs, by limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    held: HashMap<Counter, Used>,
    /// Whether the cluster has limits at all.
    counts: bool,
}

impl Ledger {
    /// Counts what runs; nothing where the cluster has no limits.
    pub(crate) fn count<'a>(
        cluster: &Cluster,
        running: impl Iterator<Item = &'a JobRecord>,
    ) -> Ledger {
        let mut ledger = Ledger {
            held: HashMap::new(),
            counts: cluster.has_limits(),
        };
        if !ledger.counts {
            return ledger;
        }
        for record in running {
            if let Some(used) = Used::of_record(record) {
                let partition = record.partitions();
                let partition = partition.and_then(|name| cluster.find_partition(name));
                ledger.add(&Chain::of(cluster, record, partition), used);
            }
        }
        ledger
    }

    /// Whether any limit can keep a job from starting.
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    /// A job starts.
    pub(crate) fn add(&mut self, chain: &Chain<'_>, used: Used) {
        for counter in chain.counters() {
            let held = self.held.entry(counter).or_default();
            *held = held.plus(used);
        }
    }

    fn held(&self, counter: &Counter) -> Used {
        self.held.get(counter).copied().unwrap_or_default()
    }
}

fn over(name: &str) -> Result<(), PendingReason> {
    Err(PendingReason::OverLimit(name.to_owned()))
}

#[cfg(test)]
mod tests;
