//! One job at its turn in the queue of a partition: it starts, takes the place of others, is promised one,
//! or waits for something else than room.

use crate::fault::{self, Fault};
use crate::kinds::find_unreserved;
use crate::ledger::Chain;
use crate::member::{Member, association_of};
use crate::pass::{Line, Pass};
use crate::possible_start::{Attempt, PossibleStart};
use crate::promise::{Kept, Promises};
use crate::queue::{Key, QueueId};
use crate::reserved::{Reserved, TooFew};
use crate::{Action, State};
use model::{JobId, PendingReason, Timestamp};
use resources::{NodeSet, PartId, Pick, Sharing};
use std::borrow::Cow;

/// A job that may start as far as its limits go.
#[derive(Debug)]
pub(crate) struct QueueAttempt {
    pub(crate) attempt: Attempt,
    /// The same as it is promised a place.
    pub(crate) later: Attempt,
    pub(crate) line: Line,
    /// Another of its line waits.
    pub(crate) is_behind: bool,
}

impl State {
    /// A job at its turn in a queue; none where it may not start whatever is free.
    pub(crate) fn queue_attempt(
        &self,
        pass: &mut Pass,
        queue: QueueId,
        key: Key,
        now: Timestamp,
    ) -> Option<QueueAttempt> {
        let job = &self.jobs[&key.job];
        let Some(choice) = job.choice(queue.partition) else {
            pass.passed.insert(queue, key);
            return None;
        };
        let line = (queue.partition, self.reserved_for(key.job).number());
        let is_behind = pass.blocked.contains_key(&line) || self.is_too_deep(pass, queue.partition);
        let later = self.attempt(job, choice, true, now);
        let attempt = if is_behind {
            later.clone()
        } else {
            self.attempt(job, choice, false, now)
        };
        let may_start = self.may_start(job, choice);
        let limits = || self.may_pass_limits(&attempt, now);
        if let Err(reason) = may_start.clone().and_then(|()| limits()) {
            if may_start.is_ok() {
                self.pass_over_limited(pass, later, is_behind, &reason, now);
            }
            pass.limited.insert(key.job, reason);
            pass.passed.insert(queue, key);
            return None;
        }
        Some(QueueAttempt {
            attempt,
            later,
            line,
            is_behind,
        })
    }

    /// Whether as many jobs of a partition were tried in order as there may be (`partition_job_depth`); counts
    /// one more if not.
    fn is_too_deep(&self, pass: &mut Pass, partition: PartId) -> bool {
        let Some(depth) = self.cluster.queue_rules().depth else {
            return false;
        };
        let tried = pass.tried_in_order.entry(partition).or_default();
        let is_too_deep = *tried >= depth;
        *tried += usize::from(!is_too_deep);
        pass.is_too_deep |= is_too_deep;
        is_too_deep
    }

    /// Starts a job, or an element of it, if it may start and something is free for it.
    pub(crate) fn try_one(
        &mut self,
        pass: &mut Pass,
        queue: QueueId,
        key: Key,
        now: Timestamp,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(tried) = self.queue_attempt(pass, queue, key, now) else {
            return actions;
        };
        let (attempt, is_behind) = (&tried.attempt, tried.is_behind);
        if let Some((name, start)) = self.drawn(pass, attempt, now) {
            pass.has_overtaken |= is_behind;
            let start = self.start_in_pass(pass, &start, is_behind, now);
            if let Some(Action::Start { job, .. }) = &start {
                self.draw(*job, name);
                self.count_reserved_cores(now);
            }
            actions.extend(start);
            return actions;
        }
        if is_behind && !self.may_try(pass, queue.partition, attempt.job) {
            pass.passed.insert(queue, key);
            pass.not_tried.push(key.job);
            return actions;
        }
        if self.waits_with_its_qos(pass, &tried, now) {
            pass.passed.insert(queue, key);
            return actions;
        }
        let found = match self.find_room(pass, &tried, &mut actions, now) {
            Ok(found) => found,
            Err(reason) => {
                self.keep_by_limit(pass, &tried, reason, now);
                pass.passed.insert(queue, key);
                return actions;
            }
        };
        if let Some(mut start) = found {
            if let Err(reason) = self.may_have(&self.ledger, &start, now) {
                self.keep_by_limit(pass, &tried, reason, now);
                pass.passed.insert(queue, key);
                return actions;
            }
            // Not beside what was suspended for it.
            if !is_behind && actions.is_empty() {
                start = self.first_asked(pass, start, now);
            }
            // One that kept others waiting in another of its partitions does so no more.
            let lets_others = pass.blocked.values().any(|job| *job == key.job);
            pass.has_overtaken |= is_behind || lets_others;
            self.looked.backfilled += u64::from(is_behind);
            actions.extend(self.start_in_pass(pass, &start, is_behind, now));
            return actions;
        }
        pass.passed.insert(queue, key);
        self.keep_waiting(pass, &tried, now);
        actions
    }

    /// Starts a job, and takes its place from those that are promised one.
    fn start_in_pass(
        &mut self,
        pass: &mut Pass,
        start: &PossibleStart,
        is_behind: bool,
        now: Timestamp,
    ) -> Option<Action> {
        pass.too_few = TooFew::default();
        if let Some(promises) = &mut pass.promises
            && !fault::is(Fault::SpentTwice)
        {
            promises.take(self, start, start.until_limit());
        }
        self.start(start, is_behind, now)
    }

    /// A place for a job; where none is free, that of jobs that it preempts, or one for its shortest limit
    /// where it preempts none.
    ///
    /// The error is the limit that does not let it preempt.
    fn find_room(
        &mut self,
        pass: &mut Pass,
        tried: &QueueAttempt,
        actions: &mut Vec<Action>,
        now: Timestamp,
    ) -> Result<Option<PossibleStart>, PendingReason> {
        let found = self.find_free(pass, tried, now);
        if found.is_some() {
            return Ok(found);
        }
        let QueueAttempt { attempt, later, .. } = tried;
        let taken = self.preempt_for(pass, attempt, now)?;
        pass.has_overtaken |= !taken.is_empty();
        let again = if taken.iter().any(|it| matches!(it, Action::Suspend(_))) {
            pass.failed.clear();
            Some(attempt)
        } else if taken.is_empty() && self.has_shorter(tried) {
            Some(later)
        } else {
            None
        };
        actions.extend(taken);
        let reserved = self.reserved_for(attempt.job);
        Ok(again.and_then(|attempt| self.find_now(pass, attempt, now, &reserved)))
    }

    /// A place for a job at its turn that is free.
    fn find_free(
        &self,
        pass: &mut Pass,
        tried: &QueueAttempt,
        now: Timestamp,
    ) -> Option<PossibleStart> {
        let attempt = &tried.attempt;
        let reserved = self.reserved_for(attempt.job);
        let is_in_line = !tried.is_behind && self.backfill.is_some() && reserved.number() == 0;
        if is_in_line && !pass.withdrawn.is_empty() {
            // As Slurm's main scheduler goes: beside the nodes of partitions whose first job waits.
            let kept = pass.not_now.clone();
            pass.not_now.add(&pass.withdrawn);
            let found = self.find_now(pass, attempt, now, &reserved);
            pass.not_now = kept;
            if found.is_some() {
                return found;
            }
        }
        self.find_now(pass, attempt, now, &reserved)
    }

    /// Whether a job has a shorter limit that is tried where its own finds no room.
    fn has_shorter(&self, tried: &QueueAttempt) -> bool {
        self.backfill.is_some() && tried.later.span.length < tried.attempt.span.length
    }

    /// A place for a job that takes no other's; with its shortest limit where its own finds none.
    pub(crate) fn find_beside(
        &self,
        pass: &mut Pass,
        tried: &QueueAttempt,
        now: Timestamp,
    ) -> Option<PossibleStart> {
        let found = self.find_free(pass, tried, now);
        let reserved = self.reserved_for(tried.attempt.job);
        found.or_else(|| {
            let later = self.has_shorter(tried).then_some(&tried.later)?;
            self.find_now(pass, later, now, &reserved)
        })
    }

    /// Nothing is free for a job now: it may block those behind it, and may be promised a place.
    pub(crate) fn keep_waiting(&self, pass: &mut Pass, tried: &QueueAttempt, now: Timestamp) {
        let QueueAttempt {
            later,
            line,
            is_behind,
            ..
        } = tried;
        let Attempt { job, choice, .. } = later;
        let partition = choice.partition;
        let named = choice.need.compiled.demand.required.iter();
        let named: NodeSet = named.filter_map(|name| self.cluster.node(name)).collect();
        if let Some(reason) = self.waits_for_reservation(later, &named, &mut pass.too_few, now) {
            pass.limited.insert(*job, reason);
            if *is_behind {
                self.promise(pass, later, Kept::ForNodes, now);
            } else {
                pass.passed_over.push((later.clone(), Kept::ForNodes));
            }
            return;
        }
        if let Err(reason) = self.may_have_if_idle(later, now) {
            self.keep_by_limit(pass, tried, reason, now);
            return;
        }
        if !is_behind {
            let reason = self.why_first(choice, pass);
            if self.is_below_threshold(later, now) {
                let reason = reason.unwrap_or(PendingReason::Resources);
                pass.limited.insert(*job, reason);
                return;
            }
            if named.is_empty() {
                if let Some(reason) = reason {
                    pass.unavailable.insert(*job, reason);
                }
                pass.blocked.insert(*line, *job);
                if line.1 == 0 && !fault::is(Fault::NodesNotWithdrawn) {
                    pass.withdrawn.add(&self.cluster.partition(partition).nodes);
                }
            } else {
                // Those behind it wait for none but the nodes that it names.
                let reason = reason.unwrap_or(PendingReason::Resources);
                pass.limited.insert(*job, reason);
                pass.withdrawn.add(&named);
                pass.named.add(&named);
                self.promise(pass, later, Kept::ForNodes, now);
                return;
            }
        }
        if self.backfill.is_none() && self.reservations.is_empty() {
            pass.closed.insert(partition);
            return;
        }
        let is_planned = self.promise(pass, later, Kept::ForNodes, now);
        if *is_behind
            && is_planned == Some(false)
            && (self.too_few_nodes(choice, &NodeSet::default()) || self.lacks_nodes(choice))
        {
            let all = &self.cluster.partition(partition).nodes;
            let reason = self.unavailable(choice, self.nodes_that_are_down(all.iter()));
            pass.limited.insert(*job, reason);
        }
    }

    /// A place in a reservation that draws jobs to itself, for one that names none, or in one of several that
    /// it names.
    pub(crate) fn drawn(
        &self,
        pass: &mut Pass,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Option<(Box<str>, PossibleStart)> {
        let record = &self.jobs[&attempt.job].record;
        for reserved in self.reservations.tried(record, now) {
            let found = self.find_now(pass, attempt, now, &reserved);
            if let (Some(start), Some(name)) = (found, reserved.name())
                && self.may_have(&self.ledger, &start, now).is_ok()
            {
                return Some((name.into(), start));
            }
        }
        None
    }

    /// Whether limits let a job have what it asks for; as in Slurm, one that is over a limit besides waits for
    /// that, and keeps no other waiting. What whole nodes give is not counted before they are chosen.
    fn may_have_if_idle(&self, attempt: &Attempt, now: Timestamp) -> Result<(), PendingReason> {
        let need = &attempt.choice.need;
        if need.when_idle.is_empty() || need.compiled.demand.sharing == Sharing::Whole {
            return Ok(());
        }
        let start = attempt.starting(now, need.when_idle.clone());
        self.may_have(&self.ledger, &start, now)
    }

    /// Promises those their places that a pass went over as they wait for a reservation or a limit: jobs in line
    /// behind them start whatever they are promised, as in Slurm's main scheduler.
    pub(crate) fn promise_passed_over(&self, pass: &mut Pass, now: Timestamp) {
        for (attempt, kept) in std::mem::take(&mut pass.passed_over) {
            // It may have started in another partition.
            if self.is_queued(attempt.job) {
                self.promise(pass, &attempt, kept, now);
            }
        }
    }

    /// Promises a job its place, where a pass promises it one: whether there will be one.
    pub(crate) fn promise(
        &self,
        pass: &mut Pass,
        attempt: &Attempt,
        kept: Kept,
        now: Timestamp,
    ) -> Option<bool> {
        self.promise_passed_over(pass, now);
        let parameters = self.backfill.as_ref()?;
        let partition = attempt.choice.partition;
        let promised = pass.promised.entry(partition).or_default();
        // One whose QOS says NoReserve starts when it can, and nothing is kept for it.
        if *promised >= parameters.promises
            || self.keeps_no_place(attempt.job)
            || self.is_below_threshold(attempt, now)
        {
            return None;
        }
        *promised += 1;
        let promises = pass.promises.take();
        let mut promises = promises.unwrap_or_else(|| Promises::new(self, parameters, now));
        let is_planned = promises.promise(self, attempt, kept, now);
        pass.promises = Some(promises);
        match is_planned {
            Ok(is_planned) => Some(is_planned),
            Err(reason) => {
                pass.unavailable.insert(attempt.job, reason);
                None
            }
        }
    }

    /// Whether no place is kept for a job so far: its priority is below that from which on one is (`MinPrioThreshold`,
    /// else `bf_min_prio_reserve`), or it could start for a shorter time than that (`bf_min_age_reserve`).
    pub(crate) fn is_below_threshold(&self, attempt: &Attempt, now: Timestamp) -> bool {
        let record = &self.jobs[&attempt.job].record;
        let rules = self.cluster.queue_rules();
        let chain = || Chain::of(&self.cluster, record, Some(attempt.choice.partition));
        let limit = self.cluster.has_limits().then(chain);
        let least = limit.and_then(|chain| chain.priority_threshold());
        let waits_too_short = rules.least_wait.is_some_and(|least| {
            let eligible = record.eligible;
            eligible.is_none_or(|since| since + least > now)
        });
        let least = least.or(rules.least_priority);
        waits_too_short || least.is_some_and(|least| attempt.choice.priority < least)
    }

    /// Whether a job's QOS has the flag `NoReserve`.
    pub(crate) fn keeps_no_place(&self, job: JobId) -> bool {
        let qos = crate::member::qos_of(&self.cluster, &self.jobs[&job].record);
        qos.is_some_and(|qos| self.cluster.qos()[usize::from(qos.0)].has_flag("NoReserve"))
    }

    /// Whether one more job behind a blocked one is tried; counts it.
    pub(crate) fn may_try(&self, pass: &mut Pass, partition: PartId, job: JobId) -> bool {
        let Some(parameters) = &self.backfill else {
            return false;
        };
        let record = &self.jobs[&job].record;
        let user = record.submitter.uid;
        let of_partition = pass.tried_of_partition.entry(partition).or_default();
        if pass.tried >= parameters.tests || *of_partition >= parameters.tests_of_partition {
            pass.closed.insert(partition);
            return false;
        }
        let of_user = pass.tried_of_user.entry(user).or_default();
        if *of_user >= parameters.tests_of_user {
            return false;
        }
        let mut others: Vec<&mut usize> = Vec::new();
        if parameters.tests_of_user_there < usize::MAX {
            let tried = pass.tried_of_user_there.entry((user, partition));
            let tried = tried.or_default();
            if *tried >= parameters.tests_of_user_there {
                return false;
            }
            others.push(tried);
        }
        if parameters.tests_of_association < usize::MAX
            && association_of(&self.cluster, record).is_some()
        {
            let member = Member::of(&self.cluster, record);
            let tried = pass.tried_of_association.entry(member).or_default();
            if *tried >= parameters.tests_of_association {
                return false;
            }
            others.push(tried);
        }
        others.into_iter().for_each(|tried| *tried += 1);
        pass.tried += 1;
        *of_partition += 1;
        *of_user += 1;
        true
    }

    /// A place that delays no job with a promise.
    pub(crate) fn find_now(
        &self,
        pass: &mut Pass,
        attempt: &Attempt,
        now: Timestamp,
        reserved: &Reserved<'_>,
    ) -> Option<PossibleStart> {
        let choice = &attempt.choice;
        let waits = choice.few_until.is_some();
        let owner = if pass.by_user { attempt.user } else { 0 };
        let like = (attempt.need(), owner, reserved.kind(), waits);
        let failed = pass.failed.get(&like).filter(|_| !fault::forgets());
        let is_stale = fault::is(Fault::StaleMemo);
        let length = attempt.span.length;
        if failed.is_some_and(|shortest| *shortest <= length || is_stale) {
            return None;
        }
        let mut attempt = Cow::Borrowed(attempt);
        if fault::is(Fault::LimitIgnored) {
            attempt.to_mut().span.length = 1000;
        }
        let promises = pass.promises.as_mut();
        let promises = promises.filter(|_| !fault::is(Fault::PromiseIgnored));
        let found = if let Some(promises) = promises {
            promises.not_now.clone_from(&pass.not_now);
            promises.earliest(self, &attempt, now.0..=now.0, reserved)
        } else {
            let is_kept =
                self.backfill.is_none() && !pass.withdrawn.is_empty() && reserved.number() == 0;
            let mut without = pass.not_now.clone();
            if is_kept {
                without.add(&pass.withdrawn);
            }
            let (cluster, free) = (&self.cluster, &self.held.free);
            let closed = reserved.closed(cluster, now.0, attempt.span.length);
            let pick = Pick {
                user: attempt.user,
                without: (!without.is_empty()).then_some(&without),
                later: attempt.later.as_deref(),
                few_switches: waits,
                ..Pick::default()
            };
            let shares = find_unreserved(cluster, choice, free, pick, closed);
            shares.map(|shares| attempt.starting(now, shares))
        };
        if found.is_none() && pass.not_now.is_empty() {
            pass.failed.insert(like, attempt.span.length);
        }
        found
    }
}
