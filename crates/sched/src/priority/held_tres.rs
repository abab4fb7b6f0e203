//! What running jobs hold, and what they may still use of it.

use crate::ledger::usage_factor;
use crate::member::{self, Member};
use crate::{Job, State};
use model::{JobState, Timestamp};
use resources::Cluster;
use std::collections::BTreeMap;

/// How many times a second of a job counts of what is used, as its QOS says (`UsageFactor`).
pub(super) fn usage_factor_of(cluster: &Cluster, record: &Job) -> f64 {
    let qos = member::qos_of(cluster, record);
    usage_factor(qos.map(|qos| &cluster.qos()[usize::from(qos.0)]))
}

/// What a running job holds of a TRES by Slurm's name; nothing of another.
pub(super) fn amount_held(cluster: &Cluster, record: &Job, tres: &str) -> f64 {
    let JobState::Running { allocation, .. } = &record.state else {
        return 0.0;
    };
    let shares = allocation.nodes.iter();
    let gpus = |kind: Option<&str>| {
        let counts = shares.clone().filter_map(|share| {
            let node = cluster.node(&share.node)?;
            let of_kind = |index: &&u32| match kind {
                None => true,
                Some(kind) => cluster.class(node).is_gpu_called(**index, kind),
            };
            Some(share.gpus.iter().filter(of_kind).count())
        });
        counts.sum::<usize>() as f64
    };
    match tres {
        "billing" => {
            let partition = record.partition.as_deref();
            let partition = partition.and_then(|name| cluster.find_partition(name));
            let of = |name: &str| amount_held(cluster, record, name);
            match partition {
                Some(id) => cluster.partition(id).billing.billed(&of),
                None => of("cpu"),
            }
        }
        "cpu" => allocation.cpus() as f64,
        "mem" => shares.map(|share| share.memory as f64).sum(),
        "node" => allocation.nodes.len() as f64,
        "gres/gpu" => gpus(None),
        other => other
            .strip_prefix("gres/gpu:")
            .map_or(0.0, |kind| gpus(Some(kind))),
    }
}

impl State {
    /// What running jobs hold of the TRES of these names times the seconds until their limits, as their QOS count
    /// them, by user in each account (`grp_used_tres_run_secs` of acct_policy.c). Those without a limit are left
    /// out.
    #[must_use]
    pub fn run_seconds(&self, names: &[String], now: Timestamp) -> BTreeMap<Member, Vec<f64>> {
        let mut all: BTreeMap<Member, Vec<f64>> = BTreeMap::new();
        for record in self.running() {
            let JobState::Running {
                since,
                limit: Some(limit),
                end_moved_ms,
                ..
            } = &record.state
            else {
                continue;
            };
            let moved = record.state.suspended_ms(now).saturating_add(*end_moved_ms);
            let left = (*since + *limit).0.saturating_add(moved) - now.0;
            let seconds = (left / 1000).max(0) as f64;
            let seconds = seconds * usage_factor_of(&self.cluster, record);
            let sums = all.entry(self.member(record));
            let sums = sums.or_insert_with(|| vec![0.0; names.len()]);
            for (sum, name) in sums.iter_mut().zip(names) {
                *sum += amount_held(&self.cluster, record, name).floor() * seconds;
            }
        }
        all
    }
}
