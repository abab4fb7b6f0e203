//! Limits on how many jobs run and wait, counted as they come and go.

use super::Chain;
use super::chain::Counter;
use crate::Job;
use crate::admit::partitions_of;
use crate::fault::{self, Fault};
use crate::live_job::LiveJob;
use model::ArrayTask;
use resources::{Cluster, Limits};
use std::collections::HashMap;

/// Jobs that run and wait by limit, each element of an array counted. A waiting job counts in each of its
/// partitions, and once it runs in that one. By limit nothing is counted where there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct InQueue {
    under: HashMap<Counter, usize>,
    all: usize,
}

/// How many jobs a job stands for.
fn elements(job: &Job) -> usize {
    match job.array.as_ref().map(|place| &place.task) {
        Some(ArrayTask::Waiting(_)) if fault::is(Fault::ArrayCountsOne) => 1,
        Some(ArrayTask::Waiting(spec)) => spec.indices.len(),
        Some(ArrayTask::One(_)) | None => 1,
    }
}

/// Whose limits a job meets: in the partition that it runs in, else in each of those that it names
/// (`_adjust_limit_usage` of acct_policy.c).
fn chains<'a>(cluster: &'a Cluster, job: &'a Job) -> Vec<Chain<'a>> {
    let all = partitions_of(cluster, job.partitions());
    if all.is_empty() {
        return vec![Chain::of(cluster, job, None)];
    }
    let chains = all.into_iter();
    chains
        .map(|partition| Chain::of(cluster, job, Some(partition)))
        .collect()
}

/// Where a job counts, once under each limit.
fn counters(cluster: &Cluster, job: &Job) -> Vec<Counter> {
    let mut chains = chains(cluster, job).into_iter();
    let mut all = chains
        .next()
        .map_or_else(Vec::new, |first| first.counters());
    for counter in chains.flat_map(|chain| chain.counters()) {
        if !all.contains(&counter) {
            all.push(counter);
        }
    }
    all
}

impl InQueue {
    /// Counts all jobs.
    pub(crate) fn count<'a>(cluster: &Cluster, jobs: impl Iterator<Item = &'a LiveJob>) -> InQueue {
        let mut all = InQueue::default();
        for job in jobs {
            all.add(cluster, &job.record);
        }
        all
    }

    /// A job comes, with all of its elements.
    pub(crate) fn add(&mut self, cluster: &Cluster, job: &Job) {
        self.all += elements(job);
        if cluster.has_limits() {
            for counter in counters(cluster, job) {
                *self.under.entry(counter).or_default() += elements(job);
            }
        }
    }

    /// A job goes, with all of its elements.
    pub(crate) fn take(&mut self, cluster: &Cluster, job: &Job) {
        self.take_some(cluster, job, elements(job));
    }

    /// Some elements of a job leave it.
    pub(crate) fn take_some(&mut self, cluster: &Cluster, job: &Job, elements: usize) {
        self.all = self.all.saturating_sub(elements);
        if !cluster.has_limits() {
            return;
        }
        for counter in counters(cluster, job) {
            match self.of(&counter).saturating_sub(elements) {
                0 => self.under.remove(&counter),
                left => self.under.insert(counter, left),
            };
        }
    }

    /// How many count under a limit.
    pub(super) fn of(&self, counter: &Counter) -> usize {
        self.under.get(counter).copied().unwrap_or(0)
    }

    /// Whether there would be too many with one more job: the last that Slurm counts up to it does not take.
    pub(crate) fn is_full(&self, cluster: &Cluster, job: &Job) -> bool {
        let most = cluster.most().jobs;
        most.is_some_and(|most| self.all + elements(job) >= most as usize)
    }

    /// The limit that one more job would pass, by Slurm's name; of each of its partitions.
    pub(crate) fn over(&self, cluster: &Cluster, job: &Job) -> Option<&'static str> {
        if !cluster.has_limits() {
            return None;
        }
        let mut chains = chains(cluster, job).into_iter();
        chains.find_map(|chain| self.over_in(&chain, elements(job)))
    }

    /// The limit that so many more jobs would pass in one of their partitions.
    fn over_in(&self, chain: &Chain<'_>, more: usize) -> Option<&'static str> {
        let full = |counter: &Counter, most: Option<u32>| {
            most.is_some_and(|most| self.of(counter) + more > most as usize)
        };
        let qos = || chain.qos_limits();
        let of_group = qos().find(|(_, it)| it.group.submitted.is_some());
        if let Some((qos, limits)) = of_group
            && full(&Counter::Qos(qos), limits.group.submitted)
        {
            return Some("QOSGrpSubmitJobsLimit");
        }
        let of_account = qos().find(|(_, it)| it.account.submitted.is_some());
        if let Some((qos, limits)) = of_account {
            let counter = Counter::QosAccount(qos, chain.account().to_owned());
            if full(&counter, limits.account.submitted) {
                return Some("MaxSubmitJobsPerAccount");
            }
        }
        let of_user = qos().find(|(_, it)| it.user.submitted.is_some());
        if let Some((qos, limits)) = of_user {
            let counter = Counter::QosUser(qos, chain.uid);
            if full(&counter, limits.user.submitted) {
                return Some("QOSMaxSubmitJobPerUserLimit");
            }
        }
        // What a QOS limits as well is up to the QOS.
        let is_full =
            |(counter, limits): (Counter, &Limits)| full(&counter, limits.group.submitted);
        if of_group.is_none() && chain.association_limits().any(is_full) {
            return Some("AssocGrpSubmitJobsLimit");
        }
        if of_account.is_some() || of_user.is_some() {
            return None;
        }
        let most = chain
            .association_limits()
            .find_map(|(_, it)| it.user.submitted);
        let own = chain.own_counter();
        let of_cluster = chain.cluster.limits_of_users().submitted;
        let is_full =
            full(&own, most) || (most.is_none() && full(&Counter::User(chain.uid), of_cluster));
        is_full.then_some("AssocMaxSubmitJobLimit")
    }
}
