//! One pass over the jobs that wait: who starts now.
//!
//! The queues of all partitions are walked as one, by tier, then by [`Key`]. The first job of a
//! partition for which nothing is free blocks its partition, and no other:
//! - without backfill none behind it starts, and its partition's nodes are not given to jobs of
//!   lower partitions either, as in Slurm's main scheduler;
//! - with backfill it has a promise, and those behind it, and in other partitions, start where they
//!   delay no promise; who can't has one too, as `bf_job_part_count_reserve` says.

use crate::fault::{self, Fault};
use crate::member::Member;
use crate::possible_start::Attempt;
use crate::preempt::{Claims, rules};
use crate::promise::{Kept, Promises};
use crate::queue::{Key, QueueId};
use crate::reserved::{Kind, TooFew};
use crate::{Action, State};
use model::{JobId, PendingReason, Timestamp};
use resources::{NodeSet, PartId, QosId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

/// Jobs of a partition that wait for each other: those without a reservation, or with the same one.
pub(crate) type Line = (PartId, usize);

/// What a pass came to know.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// The job that keeps those behind it waiting, by queue.
    pub(crate) blocked: BTreeMap<Line, JobId>,
    /// Where each partition's queue goes on.
    pub(crate) passed: BTreeMap<QueueId, Key>,
    /// Queues that were walked as far as they are.
    pub(crate) closed: BTreeSet<PartId>,
    /// Jobs that were tried behind a blocked one: in all, of each partition, of each user, of each user in a
    /// partition, of each association; the last two where that is bounded.
    pub(crate) tried: usize,
    pub(crate) tried_of_partition: BTreeMap<PartId, usize>,
    pub(crate) tried_of_user: HashMap<u32, usize>,
    pub(crate) tried_of_user_there: HashMap<(u32, PartId), usize>,
    pub(crate) tried_of_association: HashMap<Member, usize>,
    /// Jobs behind a blocked one that were not tried: others of their user, or of their partition, were.
    pub(crate) not_tried: Vec<JobId>,
    /// Jobs of a partition that have a promise.
    pub(crate) promised: BTreeMap<PartId, usize>,
    /// Nodes of blocked partitions: without backfill those are not given to others.
    pub(crate) withdrawn: NodeSet,
    /// Of these, those that jobs wait for that name them.
    pub(crate) named: NodeSet,
    /// Why the first of a partition waits, where that isn't for others to end.
    pub(crate) unavailable: BTreeMap<JobId, PendingReason>,
    /// What is known of what reservations leave.
    pub(crate) too_few: TooFew,
    /// Jobs in line that wait for a reservation or for a limit, before any is promised a place.
    pub(crate) passed_over: Vec<(Attempt, Kept)>,
    /// QOS whose jobs start in order alone, as a limit on all of them is reached.
    pub(crate) stopped_qos: BTreeSet<QosId>,
    /// Jobs of a partition that were tried in order.
    pub(crate) tried_in_order: BTreeMap<PartId, usize>,
    /// One was not tried because so many of its partition were.
    pub(crate) is_too_deep: bool,
    /// From the first blocked job on, with backfill.
    pub(crate) promises: Option<Promises>,
    /// Whose job it is decides what it may be given.
    pub(crate) by_user: bool,
    /// What did not fit, by the shortest limit: while nothing is given back none like it does.
    pub(crate) failed: HashMap<(usize, u32, Kind, bool), i64>,
    /// Why jobs do not start that others do not keep waiting.
    pub(crate) limited: BTreeMap<JobId, PendingReason>,
    /// One started that another is ahead of, or that was ahead of others in another partition.
    pub(crate) has_overtaken: bool,
    pub(crate) claims: Claims,
    /// Jobs that were stopped for others when it began.
    pub(crate) stopped: Vec<JobId>,
    /// Nodes of such jobs that the next one is not given now.
    pub(crate) not_now: NodeSet,
}

impl State {
    /// Starts what can start now.
    pub(crate) fn pass(&mut self, now: Timestamp) -> Vec<Action> {
        if self.backfill.is_none() || self.begins_cycle(now) {
            return self.walk(now, true);
        }
        let (backfill, plan) = (self.backfill.take(), std::mem::take(&mut self.plan));
        let new: Vec<JobId> = self.unseen.iter().copied().collect();
        let mut actions = self.walk(now, false);
        (self.backfill, self.plan) = (backfill, plan);
        actions.extend(self.start_between_cycles(new, now));
        actions
    }

    /// Tries those that wait, all that may be tried or, between two cycles, as far as they go in order.
    fn walk(&mut self, now: Timestamp, all: bool) -> Vec<Action> {
        self.count_reserved_cores(now);
        let mut actions = Vec::new();
        // Each look but the last starts a job, stops one or lets one go on, and none does so for ever.
        let most = 4 * self.jobs.len() + 4;
        let mut looks = 0;
        let pass = loop {
            looks += 1;
            let begun = actions.len();
            let mut pass = Pass {
                stopped: self.stopped(),
                by_user: self.is_by_user(),
                ..Pass::default()
            };
            while let Some((queue, key)) = self.next_in_order(&pass) {
                self.looked.jobs += 1;
                actions.extend(self.try_first(&mut pass, queue, key, now));
            }
            self.promise_passed_over(&mut pass, now);
            actions.extend(self.let_go_on(&mut pass, None, now));
            // Those beyond the depth are tried in the next pass.
            let goes_deeper = pass.is_too_deep && self.backfill.is_none() && actions.len() > begun;
            let again = pass.has_overtaken || goes_deeper;
            // What started may leave the promised ones other nodes: looked at once more, so that a
            // pass leaves nothing to the next.
            assert!(
                !cfg!(test) || looks < most,
                "ends: a pass looks again and again"
            );
            if !again || looks == most {
                break pass;
            }
        };
        self.looked.behind += pass.tried as u64;
        self.looked.promised += pass.promised.values().sum::<usize>() as u64;
        self.note_reasons(pass, all, now);
        actions
    }

    /// The job that is next over all queues: one that may preempt another goes before it.
    pub(crate) fn next_in_order(&self, pass: &Pass) -> Option<(QueueId, Key)> {
        let open = self
            .ready
            .iter()
            .filter(|(queue, _)| !pass.closed.contains(&queue.partition));
        let heads = open.filter_map(|(id, queue)| {
            let key = match pass.passed.get(id) {
                None => queue.first(),
                Some(passed) => queue
                    .range((Bound::Excluded(passed), Bound::Unbounded))
                    .next(),
            };
            let tier = if fault::is(Fault::TierIgnored) {
                0
            } else {
                self.cluster.partition(id.partition).tier
            };
            Some((Reverse(tier), *key?, *id))
        });
        if self.ready.keys().all(|id| id.qos.is_none()) {
            return heads.min().map(|(_, key, id)| (id, key));
        }
        let heads: Vec<_> = heads.collect();
        let mut next = heads.iter().min()?;
        // No QOS goes before itself, so that this ends.
        while let Some(before) = heads
            .iter()
            .filter(|(_, _, id)| self.goes_first(*id, next.2))
            .min()
        {
            next = before;
        }
        let (_, key, id) = next;
        Some((*id, *key))
    }

    /// Lets stopped jobs go on whose CPUs are free, before one that may not take their places, or
    /// after all.
    fn let_go_on(
        &mut self,
        pass: &mut Pass,
        before: Option<rules::Claimant>,
        now: Timestamp,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        for id in std::mem::take(&mut pass.stopped) {
            if self.goes_before(before, id) {
                pass.stopped.push(id);
                continue;
            }
            match self.go_on(id, now) {
                Some(action) => {
                    pass.has_overtaken = true;
                    if let Some(promises) = &mut pass.promises {
                        promises.goes_on(self, id);
                    }
                    actions.push(action);
                }
                None => pass.stopped.push(id),
            }
        }
        actions
    }

    /// Starts a job, or an element of it, if it may start and something is free for it.
    fn try_first(
        &mut self,
        pass: &mut Pass,
        queue: QueueId,
        key: Key,
        now: Timestamp,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        pass.not_now = NodeSet::default();
        if !pass.stopped.is_empty() {
            let record = &self.jobs[&key.job].record;
            let claimant = rules::claimant(&self.cluster, record, queue.partition);
            actions = self.let_go_on(pass, Some(claimant), now);
            pass.not_now = self.kept_for_stopped(&pass.stopped, claimant);
        }
        if self.jobs[&key.job].component().is_some() {
            actions.extend(self.try_together(pass, queue, key, now));
        } else {
            actions.extend(self.try_one(pass, queue, key, now));
        }
        actions
    }

    /// Whether users keep others from nodes: else what does not fit for one fits for none.
    pub(crate) fn is_by_user(&self) -> bool {
        self.kinds.has_private() || self.held.free.has_private_jobs()
    }
}
