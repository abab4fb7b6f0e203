//! One pass over the jobs that wait: who starts now.
//!
//! The queues of all partitions are walked as one, by tier, then by [`Key`]. The first job of a
//! partition for which nothing is free blocks its partition, and no other:
//! - without backfill none behind it starts, and its partition's nodes are not given to jobs of
//!   lower partitions either, as in Slurm's main scheduler;
//! - with backfill it has a promise, and those behind it, and in other partitions, start where they
//!   delay no promise; who can't has one too, as `bf_job_part_count_reserve` says.

use crate::deadline::Span;
use crate::fault::{self, Fault};
use crate::kinds::{Choice, Need, find_unreserved};
use crate::ledger::{Chain, Ledger};
use crate::preempt::{Claims, Wanting, rules};
use crate::promise::{Promises, UNLIMITED};
use crate::queue::{Key, QueueId};
use crate::reservations::{Kind, Reserved};
use crate::{Action, State};
use model::{JobId, PendingReason, Timestamp};
use resources::{NodeSet, PartId, Pick, Share};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

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
    /// Jobs that were tried behind a blocked one: in all, of each partition, of each user.
    pub(crate) tried: usize,
    pub(crate) tried_of_partition: BTreeMap<PartId, usize>,
    pub(crate) tried_of_user: HashMap<u32, usize>,
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
            let mut pass = Pass {
                stopped: self.stopped(),
                by_user: self.is_by_user(),
                ..Pass::default()
            };
            while let Some((queue, key)) = self.next_in_order(&pass) {
                self.looked.jobs += 1;
                actions.extend(self.try_first(&mut pass, queue, key, now));
            }
            actions.extend(self.let_go_on(&mut pass, None, now));
            // What started may leave the promised ones other nodes: looked at once more, so that a
            // pass leaves nothing to the next.
            assert!(
                !cfg!(test) || looks < most,
                "ends: a pass looks again and again"
            );
            if !pass.has_overtaken || looks == most {
                break pass;
            }
        };
        self.looked.behind += pass.tried as u64;
        self.looked.promised += pass.promised.values().sum::<usize>() as u64;
        self.note_reasons(pass, all, now);
        actions
    }

    /// The job that is next over all queues: one that may preempt another goes before it.
    fn next_in_order(&self, pass: &Pass) -> Option<(QueueId, Key)> {
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
            self.try_one(pass, queue, key, &mut actions, now);
        }
        actions
    }

    fn try_one(
        &mut self,
        pass: &mut Pass,
        queue: QueueId,
        key: Key,
        actions: &mut Vec<Action>,
        now: Timestamp,
    ) {
        let partition = queue.partition;
        let job = &self.jobs[&key.job];
        let Some(mut choice) = job.choice(partition).cloned() else {
            pass.passed.insert(queue, key);
            return;
        };
        choice.few_until = self.few_until(job, &choice).filter(|until| *until > now);
        let request = Arc::clone(&job.record.request);
        let reserved = self.reservations.left_to(&request);
        let line = (partition, reserved.number());
        let is_behind = pass.blocked.contains_key(&line);
        let later = self.span_of(job, &choice, true, now);
        let mut span = if is_behind {
            later
        } else {
            self.span_of(job, &choice, false, now)
        };
        let mut may_start = self.may_start(job, &choice);
        if may_start.is_ok() && Ledger::counts(&self.cluster) {
            let chain = Chain::of(&self.cluster, &job.record, Some(partition));
            may_start = self
                .may_spend(&chain, now)
                .and_then(|()| Ok(self.before(&self.ledger, &chain, span.limit, now)?));
        }
        if let Err(reason) = may_start {
            pass.limited.insert(key.job, reason);
            pass.passed.insert(queue, key);
            return;
        }
        let user = job.record.submitter.uid;
        if let Some(name) = self.drawn(pass, key.job, &choice, span, now) {
            let (name, shares) = name;
            pass.has_overtaken |= is_behind;
            if let Some(promises) = &mut pass.promises {
                let end = now + span.limit.unwrap_or(UNLIMITED);
                promises.take(self, &choice, user, &shares, (now.0, end.0));
            }
            let start = self.start(key.job, &choice, span.limit, &shares, now);
            if let Some(Action::Start { job, .. }) = &start {
                self.draw(*job, name);
                self.count_reserved_cores(now);
            }
            actions.extend(start);
            return;
        }
        if is_behind && !self.may_try(pass, partition, user) {
            pass.passed.insert(queue, key);
            pass.not_tried.push(key.job);
            return;
        }
        let mut found = None;
        if !is_behind && self.backfill.is_some() && line.1 == 0 && !pass.withdrawn.is_empty() {
            // As Slurm's main scheduler goes: beside the nodes of partitions whose first job waits.
            let kept = pass.not_now.clone();
            pass.not_now.add(&pass.withdrawn);
            found = self.find_now(pass, &choice, user, span.length, now, &reserved);
            pass.not_now = kept;
        }
        if found.is_none() {
            found = self.find_now(pass, &choice, user, span.length, now, &reserved);
        }
        let mut has_taken = false;
        if found.is_none() {
            let wanting = Wanting {
                job: key.job,
                choice: &choice,
                limit: span.limit,
                length: span.length,
                now,
            };
            match self.preempt_for(pass, &wanting) {
                Ok(taken) => {
                    has_taken = !taken.is_empty();
                    pass.has_overtaken |= has_taken;
                    if taken.iter().any(|it| matches!(it, Action::Suspend(_))) {
                        pass.failed.clear();
                        let reserved = self.reservations.left_to(&request);
                        found = self.find_now(pass, &choice, user, span.length, now, &reserved);
                    } else if taken.is_empty()
                        && self.backfill.is_some()
                        && later.length < span.length
                    {
                        span = later;
                        let reserved = self.reservations.left_to(&request);
                        found = self.find_now(pass, &choice, user, span.length, now, &reserved);
                    }
                    actions.extend(taken);
                }
                Err(reason) => {
                    pass.limited.insert(key.job, reason);
                    pass.passed.insert(queue, key);
                    return;
                }
            }
        }
        if let Some(mut shares) = found {
            let may_have =
                self.may_have(&self.ledger, key.job, (&choice, span.limit), &shares, now);
            if let Err(reason) = may_have {
                pass.limited.insert(key.job, reason);
                pass.passed.insert(queue, key);
                return;
            }
            // Not beside what was suspended for it.
            if !is_behind && !has_taken {
                let found = (choice, span, shares);
                (choice, span, shares) = self.first_asked(pass, key.job, found, now);
            }
            // One that kept others waiting in another of its partitions does so no more.
            let lets_others = pass.blocked.values().any(|job| *job == key.job);
            pass.has_overtaken |= is_behind || lets_others;
            self.looked.backfilled += u64::from(is_behind);
            if let Some(promises) = &mut pass.promises
                && !fault::is(Fault::SpentTwice)
            {
                let end = now + span.limit.unwrap_or(UNLIMITED);
                promises.take(self, &choice, user, &shares, (now.0, end.0));
            }
            actions.extend(self.start(key.job, &choice, span.limit, &shares, now));
            return;
        }
        pass.passed.insert(queue, key);
        let named = choice.need.compiled.demand.required.iter();
        let named: NodeSet = named.filter_map(|name| self.cluster.node(name)).collect();
        let times = (now, later.length);
        if let Some(reason) = self.waits_for_reservation(&request, &named, partition, times) {
            pass.limited.insert(key.job, reason);
            self.promise(pass, key.job, &choice, user, later, now);
            return;
        }
        if !is_behind {
            let reason = self.why_first(&choice, pass);
            if named.is_empty() {
                if let Some(reason) = reason {
                    pass.unavailable.insert(key.job, reason);
                }
                pass.blocked.insert(line, key.job);
                if line.1 == 0 && !fault::is(Fault::NodesNotWithdrawn) {
                    pass.withdrawn.add(&self.cluster.partition(partition).nodes);
                }
            } else {
                // Those behind it wait for none but the nodes that it names.
                let reason = reason.unwrap_or(PendingReason::Resources);
                pass.limited.insert(key.job, reason);
                pass.withdrawn.add(&named);
                pass.named.add(&named);
                self.promise(pass, key.job, &choice, user, later, now);
                return;
            }
        }
        if self.backfill.is_none() && self.reservations.is_empty() {
            pass.closed.insert(partition);
            return;
        }
        let is_planned = self.promise(pass, key.job, &choice, user, later, now);
        if is_behind
            && is_planned == Some(false)
            && (self.too_few_nodes(&choice, &NodeSet::default()) || self.lacks_nodes(&choice))
        {
            let all = &self.cluster.partition(partition).nodes;
            let reason = self.unavailable(&choice, self.nodes_that_are_down(all.iter()));
            pass.limited.insert(key.job, reason);
        }
    }

    /// A place in a reservation that draws jobs to itself, for one that names none.
    fn drawn(
        &self,
        pass: &mut Pass,
        job: JobId,
        choice: &Choice,
        span: Span,
        now: Timestamp,
    ) -> Option<(String, Vec<Share>)> {
        let record = &self.jobs[&job].record;
        let user = record.submitter.uid;
        for reserved in self.reservations.magnetic(record, now) {
            let found = self.find_now(pass, choice, user, span.length, now, &reserved);
            if let (Some(shares), Some(name)) = (found, reserved.name())
                && self
                    .may_have(&self.ledger, job, (choice, span.limit), &shares, now)
                    .is_ok()
            {
                return Some((name.to_owned(), shares));
            }
        }
        None
    }

    /// Promises a job its place, where a pass promises it one: whether there will be one.
    fn promise(
        &self,
        pass: &mut Pass,
        job: JobId,
        choice: &Choice,
        user: u32,
        span: Span,
        now: Timestamp,
    ) -> Option<bool> {
        let parameters = self.backfill.as_ref()?;
        let promised = pass.promised.entry(choice.partition).or_default();
        // One whose QOS says NoReserve starts when it can, and nothing is kept for it.
        if *promised >= parameters.promises || self.keeps_no_place(job) {
            return None;
        }
        *promised += 1;
        let promises = pass.promises.take();
        let mut promises = promises.unwrap_or_else(|| Promises::new(self, parameters, now));
        let is_planned = promises.promise(self, job, choice, user, span, now);
        pass.promises = Some(promises);
        match is_planned {
            Ok(is_planned) => Some(is_planned),
            Err(reason) => {
                pass.unavailable.insert(job, reason);
                None
            }
        }
    }

    /// Whether a job's QOS has the flag `NoReserve`.
    pub(crate) fn keeps_no_place(&self, job: JobId) -> bool {
        let qos = crate::member::qos_of(&self.cluster, &self.jobs[&job].record);
        qos.is_some_and(|qos| self.cluster.qos()[usize::from(qos.0)].has_flag("NoReserve"))
    }

    /// Whether one more job behind a blocked one is tried; counts it.
    pub(crate) fn may_try(&self, pass: &mut Pass, partition: PartId, user: u32) -> bool {
        let Some(parameters) = &self.backfill else {
            return false;
        };
        let of_partition = pass.tried_of_partition.entry(partition).or_default();
        if pass.tried >= parameters.tests || *of_partition >= parameters.tests_of_partition {
            pass.closed.insert(partition);
            return false;
        }
        let of_user = pass.tried_of_user.entry(user).or_default();
        if *of_user >= parameters.tests_of_user {
            return false;
        }
        pass.tried += 1;
        *of_partition += 1;
        *of_user += 1;
        true
    }

    /// A place that delays no job with a promise.
    pub(crate) fn find_now(
        &self,
        pass: &mut Pass,
        choice: &Choice,
        user: u32,
        limit: i64,
        now: Timestamp,
        reserved: &Reserved<'_>,
    ) -> Option<Vec<Share>> {
        let need: &Arc<Need> = &choice.need;
        let waits = choice.few_until.is_some();
        let need = Arc::as_ptr(need) as usize;
        let owner = if pass.by_user { user } else { 0 };
        let like = (need, owner, reserved.kind(), waits);
        let failed = pass.failed.get(&like).filter(|_| !fault::forgets());
        let is_stale = fault::is(Fault::StaleMemo);
        if failed.is_some_and(|shortest| *shortest <= limit || is_stale) {
            return None;
        }
        let limit = if fault::is(Fault::LimitIgnored) {
            1000
        } else {
            limit
        };
        let promises = pass.promises.as_mut();
        let promises = promises.filter(|_| !fault::is(Fault::PromiseIgnored));
        let found = if let Some(promises) = promises {
            promises.not_now.clone_from(&pass.not_now);
            let found = promises.earliest(self, choice, user, limit, now.0..=now.0, reserved);
            found.map(|(_, shares)| shares)
        } else {
            let is_kept =
                self.backfill.is_none() && !pass.withdrawn.is_empty() && reserved.number() == 0;
            let mut without = pass.not_now.clone();
            if is_kept {
                without.add(&pass.withdrawn);
            }
            let (cluster, free) = (&self.cluster, &self.held.free);
            let closed = reserved.closed(cluster, now.0, limit);
            let pick = Pick {
                user,
                without: (!without.is_empty()).then_some(&without),
                few_switches: waits,
                ..Pick::default()
            };
            find_unreserved(cluster, choice, free, pick, closed)
        };
        if found.is_none() && pass.not_now.is_empty() {
            pass.failed.insert(like, limit);
        }
        found
    }

    /// Whether users keep others from nodes: else what does not fit for one fits for none.
    pub(crate) fn is_by_user(&self) -> bool {
        self.kinds.has_private() || self.held.free.has_private_jobs()
    }
}
