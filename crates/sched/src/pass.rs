//! One pass over the jobs that wait: who starts now.
//!
//! The queues of all partitions are walked as one, by tier, then by [`Key`]. The first job of a
//! partition for which nothing is free blocks its partition, and no other:
//! - without backfill none behind it starts, and its partition's nodes are not given to jobs of
//!   lower partitions either, as in Slurm's main scheduler;
//! - with backfill it has a promise, and those behind it, and in other partitions, start where they
//!   do not delay it.

use crate::kinds::{Choice, Need, find};
use crate::ledger::{Chain, Ledger, Used};
use crate::promise::Promises;
use crate::queue::Key;
use crate::{Action, State};
use model::{JobId, JobState, PendingReason, Timestamp};
use resources::{NodeSet, PartId, Share};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;
use std::sync::Arc;

/// Most jobs behind the first of its partition that a pass tries, as Slurm's `bf_max_job_test`.
const MOST_TRIED: usize = 500;

/// What a pass came to know.
#[derive(Debug, Default)]
struct Pass {
    /// The job that keeps those behind it waiting, by partition.
    blocked: BTreeMap<PartId, JobId>,
    /// Where each partition's queue goes on.
    passed: BTreeMap<PartId, Key>,
    /// Queues that were walked as far as they are.
    closed: BTreeSet<PartId>,
    /// Jobs behind the first that were tried.
    tried: BTreeMap<PartId, usize>,
    /// Nodes of blocked partitions.
    withdrawn: NodeSet,
    promises: Promises,
    /// What runs under each limit.
    ledger: Ledger,
    /// What did not fit: while nothing is given back none like it does.
    failed: HashSet<(usize, u32, u64)>,
    /// Why jobs do not start that others do not keep waiting.
    limited: BTreeMap<JobId, PendingReason>,
    /// One started that another is ahead of, or that was ahead of others in another partition.
    has_overtaken: bool,
}

impl State {
    /// Starts what can start now.
    pub(crate) fn pass(&mut self, now: Timestamp) -> Vec<Action> {
        let mut actions = Vec::new();
        let pass = loop {
            let mut pass = Pass {
                ledger: Ledger::count(&self.cluster, self.running()),
                ..Pass::default()
            };
            while let Some((partition, key)) = self.next_in_order(&pass) {
                actions.extend(self.try_first(&mut pass, partition, key, now));
            }
            // What started may leave the promised ones other nodes: looked at once more, so that a
            // pass leaves nothing to the next.
            if !pass.has_overtaken {
                break pass;
            }
        };
        self.note_reasons(pass);
        actions
    }

    /// The job that is next over all partitions.
    fn next_in_order(&self, pass: &Pass) -> Option<(PartId, Key)> {
        let open = self
            .ready
            .iter()
            .filter(|(partition, _)| !pass.closed.contains(partition));
        let first = open.filter_map(|(partition, queue)| {
            let key = match pass.passed.get(partition) {
                None => queue.first(),
                Some(passed) => queue
                    .range((Bound::Excluded(passed), Bound::Unbounded))
                    .next(),
            };
            let tier = self.cluster.partition(*partition).tier;
            Some((Reverse(tier), *key?, *partition))
        });
        first.min().map(|(_, key, partition)| (partition, key))
    }

    /// Starts a job, or an element of it, if it may start and something is free for it.
    fn try_first(
        &mut self,
        pass: &mut Pass,
        partition: PartId,
        key: Key,
        now: Timestamp,
    ) -> Option<Action> {
        let job = &self.jobs[&key.job];
        let choice = job.choice(partition)?.clone();
        let limit = self.limit_of(job, &choice);
        let chain = || Chain::of(&self.cluster, &job.record, Some(partition));
        let chain = pass.ledger.counts().then(chain);
        let mut may_start = self.may_start(job, &choice);
        if let (Ok(()), Some(chain)) = (&may_start, &chain) {
            may_start = pass.ledger.before(chain, limit);
        }
        if let Err(reason) = may_start {
            pass.limited.insert(key.job, reason);
            pass.passed.insert(partition, key);
            return None;
        }
        let user = job.record.uid;
        let is_behind = pass.blocked.contains_key(&partition);
        let end = match limit {
            Some(limit) => now + limit,
            None => now + crate::promise::UNLIMITED,
        };
        let found = self.find_now(pass, &choice, user, end);
        if let Some(shares) = found {
            if let Some(chain) = &chain {
                let used = Used::of_shares(&shares);
                if let Err(reason) = pass.ledger.after(chain, used) {
                    pass.limited.insert(key.job, reason);
                    pass.passed.insert(partition, key);
                    return None;
                }
                pass.ledger.add(chain, used);
            }
            // One that kept others waiting in another of its partitions does so no more.
            let lets_others = pass.blocked.values().any(|job| *job == key.job);
            pass.has_overtaken |= is_behind || lets_others;
            pass.promises
                .take(&self.cluster, &choice, user, &shares, end);
            return self.start(key.job, &choice, &shares, now);
        }
        pass.passed.insert(partition, key);
        if is_behind {
            let tried = pass.tried.entry(partition).or_default();
            *tried += 1;
            if *tried >= MOST_TRIED {
                pass.closed.insert(partition);
            }
            return None;
        }
        pass.blocked.insert(partition, key.job);
        let has_promise = self.backfills && self.promise(&mut pass.promises, &choice, user, now);
        if !has_promise {
            pass.closed.insert(partition);
            pass.withdrawn.add(&self.cluster.partition(partition).nodes);
        }
        None
    }

    /// A place that delays no job with a promise.
    fn find_now(
        &self,
        pass: &mut Pass,
        choice: &Choice,
        user: u32,
        end: Timestamp,
    ) -> Option<Vec<Share>> {
        let delayed = pass.promises.delayed_by(end);
        let need: &Arc<Need> = &choice.need;
        let like = (Arc::as_ptr(need) as usize, user, delayed);
        if pass.failed.contains(&like) {
            return None;
        }
        let free = match delayed {
            0 => &self.held.free,
            delayed => pass
                .promises
                .left_by(&self.cluster, &self.held.free, delayed),
        };
        let without = (!pass.withdrawn.is_empty()).then_some(&pass.withdrawn);
        let found = find(
            &self.cluster,
            choice.partition,
            &need.compiled,
            free,
            user,
            without,
        );
        if found.is_none() {
            pass.failed.insert(like);
        }
        found
    }

    /// Starts a job, or the first of the elements that wait in its row.
    fn start(
        &mut self,
        row: JobId,
        choice: &Choice,
        shares: &[Share],
        now: Timestamp,
    ) -> Option<Action> {
        let job = &self.jobs[&row];
        let reason = job.reason().cloned().unwrap_or(PendingReason::None);
        let limit = self.limit_of(job, choice);
        let demand = &choice.need.compiled.demand;
        let user = job.record.uid;
        let id = match job.waiting() {
            [] => row,
            [first, ..] => {
                let first = *first;
                self.split_off(row, first)
            }
        };
        self.unfile(id);
        let (allocation, holding) = self.held.start(&self.cluster, demand, user, shares);
        let partition = &self.cluster.partition(choice.partition).name;
        let job = self.jobs.get_mut(&id)?;
        job.record.partition = Some(partition.clone());
        job.record.priority = choice.priority;
        for other in &mut job.derived.choices {
            other.priority = choice.priority;
        }
        job.derived.holding = Some(holding);
        job.record.state = JobState::Running {
            since: now,
            allocation,
            limit,
            ending: None,
        };
        self.touch(id);
        self.refile(id, now);
        let target = self.jobs[&id].target();
        if let Some(array) = self.arrays.get(&target).filter(|array| array.is_full()) {
            for row in array.rows.clone() {
                if self.jobs[&row].is_ready() {
                    self.refile(row, now);
                }
            }
        }
        self.notify_by_name(id, target, now);
        Some(Action::Start { job: id, reason })
    }

    /// Says of each job why it did not start, where that is not what was said before.
    fn note_reasons(&mut self, pass: Pass) {
        // One that waited in one of its partitions may have started in another.
        let waits = |job: &JobId| self.jobs.get(job).is_some_and(crate::job::Job::is_ready);
        let first: BTreeSet<JobId> = pass.blocked.values().copied().filter(waits).collect();
        let limited: BTreeSet<JobId> = pass.limited.keys().copied().filter(waits).collect();
        let former = std::mem::replace(&mut self.first, first.clone());
        let formerly_limited = std::mem::replace(&mut self.limited, limited);
        for job in &first {
            self.set_reason(*job, PendingReason::Resources);
        }
        // Another job comes first now.
        let unseen = std::mem::take(&mut self.unseen);
        for job in former.iter().chain(&formerly_limited).chain(&unseen) {
            let is_ready = self.jobs.get(job).is_some_and(crate::job::Job::is_ready);
            if is_ready && !first.contains(job) && !pass.limited.contains_key(job) {
                self.set_reason(*job, PendingReason::Priority);
            }
        }
        for (job, reason) in pass.limited {
            if !first.contains(&job) {
                self.set_reason(job, reason);
            }
        }
    }
}
