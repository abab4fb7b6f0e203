//! Limits on how many jobs run and wait.

use super::Chain;
use super::chain::Counter;
use crate::Job;
use crate::State;
use model::ArrayTask;
use std::collections::HashMap;

impl State {
    /// The limit on submitted jobs that a new one would pass, by Slurm's name; those that run and
    /// wait count, and each element of an array.
    #[must_use]
    pub fn over_submit_limit(&self, record: &Job) -> Option<&'static str> {
        let cluster = &self.cluster;
        if !cluster.has_limits() {
            return None;
        }
        let elements = |record: &Job| match record.array.as_ref().map(|it| &it.task) {
            Some(ArrayTask::Waiting(spec)) => spec.indices.len(),
            Some(ArrayTask::One(_)) | None => 1,
        };
        let chain_of = |record: &Job| {
            let names = record.partitions();
            let partition = names.and_then(|names| names.split(',').next());
            let partition = partition.and_then(|name| cluster.find_partition(name));
            Chain::of(cluster, record, partition).counters()
        };
        let mut there: HashMap<Counter, usize> = HashMap::new();
        for record in self.live() {
            for counter in chain_of(record) {
                *there.entry(counter).or_default() += elements(record);
            }
        }
        let full = |counter: &Counter, most: Option<u32>| {
            let there = there.get(counter).copied().unwrap_or(0);
            most.is_some_and(|most| there + elements(record) > most as usize)
        };
        let partition = record.partitions();
        let partition = partition.and_then(|names| names.split(',').next());
        let partition = partition.and_then(|name| cluster.find_partition(name));
        let chain = Chain::of(cluster, record, partition);
        for (qos, limits) in chain.qos_limits() {
            if full(&Counter::Qos(qos), limits.group.submitted) {
                return Some("QOSGrpSubmitJobsLimit");
            }
        }
        let first = chain
            .qos_limits()
            .find(|(_, it)| it.account.submitted.is_some());
        if let Some((qos, limits)) = first {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            if full(&counter, limits.account.submitted) {
                return Some("MaxSubmitJobsPerAccount");
            }
        }
        let of_qos = chain
            .qos_limits()
            .find(|(_, it)| it.user.submitted.is_some());
        if let Some((qos, limits)) = of_qos {
            let counter = Counter::QosUser(qos, chain.uid);
            let is_full = full(&counter, limits.user.submitted);
            return is_full.then_some("QOSMaxSubmitJobPerUserLimit");
        }
        for (counter, limits) in chain.association_limits() {
            if full(&counter, limits.group.submitted) {
                return Some("AssocGrpSubmitJobsLimit");
            }
        }
        let most = chain
            .association_limits()
            .find_map(|(_, it)| it.user.submitted);
        let own = Counter::Association(chain.account.clone(), chain.uid);
        let of_cluster = cluster.limits_of_users().submitted;
        let is_full =
            full(&own, most) || (most.is_none() && full(&Counter::User(chain.uid), of_cluster));
        is_full.then_some("AssocMaxSubmitJobLimit")
    }
}
