//! What a job would wait for that is not submitted yet.
//!
//! It is filed as if it were submitted, asked about and taken out again: nothing of the state is copied for it,
//! and nothing of it is another afterwards. Those ahead of it wait as they do, since the last pass started what
//! could start; a plan over all that wait is made only where that is as short as a pass.

use super::budget::Budget;
use crate::expected_ends::expected_end;
use crate::live_job::Place;
use crate::pass::Pass;
use crate::preempt::rules;
use crate::promise::{Kept, Promises};
use crate::queue::{Key, QueueId};
use crate::{BackfillParameters, Finished, Job, State};
use model::{JobId, PendingReason, ReachedLimit, Timestamp};

/// What a job would wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WouldWait {
    /// Slurm's word for it.
    pub reason: PendingReason,
    /// When it would start if all jobs ran until their limits; none where that takes too much work to say.
    pub start: Option<Timestamp>,
    /// The limit of a QOS, an account or a user that it would pass.
    pub limit: Option<ReachedLimit>,
}

impl State {
    /// What a job would wait for if it were submitted now, its dependencies settled by those that have ended; none
    /// where it would start.
    #[must_use]
    pub fn wait_if_submitted(
        &mut self,
        record: Job,
        history: Vec<Finished>,
        now: Timestamp,
    ) -> Option<WouldWait> {
        let (id, version, next_id) = (record.id, self.version, self.next_id);
        // An element that leaves its array in what is played on must not be taken for it.
        self.next_id = next_id.max(id.0.saturating_add(1));
        self.take_in(record, history, now);
        let wait = self.wait_of(id, now);
        self.take_out(id);
        (self.version, self.next_id) = (version, next_id);
        wait
    }

    fn take_in(&mut self, record: Job, history: Vec<Finished>, now: Timestamp) {
        let id = record.id;
        // Of an array the first element is asked about.
        self.insert(Job {
            array: None,
            ..record
        });
        for finished in history {
            if self.dependents.contains_key(&finished.target) {
                let all = self.finished.entry(finished.target).or_default();
                all.insert(finished);
            }
        }
        let record = &self.jobs[&id].record;
        let is_known =
            !self.cluster.priority().is_multifactor || self.priorities.knows(&self.cluster, record);
        if is_known {
            self.prioritise(id, now);
        } else {
            // Another user would change the shares of all.
            let mut priorities = self.priorities.clone();
            let records = self.jobs.values().map(|job| &job.record);
            priorities.work_out(&self.cluster, records, now);
            let known = std::mem::replace(&mut self.priorities, priorities);
            self.prioritise(id, now);
            self.priorities = known;
        }
        self.refile(id, now);
    }

    fn take_out(&mut self, id: JobId) {
        self.unfile(id);
        self.forget_targets(id, None);
        let Some(job) = self.jobs.remove(&id) else {
            return;
        };
        self.accrual.note(&self.cluster, id);
        let record = job.record;
        let (uid, name) = (record.submitter.uid, &record.request.name);
        self.names.remove(uid, name, id);
        self.in_queue.take(&self.cluster, &record);
        self.versions.remove(&(record.version, id));
        for set in [&mut self.doomed, &mut self.changed, &mut self.shown] {
            set.remove(&id);
        }
    }

    fn wait_of(&self, id: JobId, now: Timestamp) -> Option<WouldWait> {
        let job = &self.jobs[&id];
        let begin = match job.derived.place {
            Place::Ready if self.is_pass_short() => return self.wait_in_line(id, now),
            Place::Ready => return self.wait_between_cycles(id, now),
            Place::Timed(at) | Place::Dependent(Some(at)) => Some(at),
            Place::Dependent(None) => self.all_depended_end(&job.record, now),
            Place::Nowhere | Place::Running | Place::Held | Place::Parked | Place::Impossible => {
                None
            }
        };
        let start = begin.filter(|_| self.is_pass_short());
        Some(WouldWait {
            reason: job.reason()?.clone(),
            start: start.and_then(|begin| self.start_behind_all(id, begin, now)),
            limit: None,
        })
    }

    /// When all jobs are over that one waits for, where all of them run.
    fn all_depended_end(&self, record: &Job, now: Timestamp) -> Option<Timestamp> {
        let targets = record.dependency.iter().flat_map(|it| it.targets());
        let ends = targets.map(|target| expected_end(&self.job(target)?.state, now));
        let ends: Vec<Timestamp> = ends.collect::<Option<_>>()?;
        ends.into_iter().max()
    }

    /// What a job waits for at its turn, all ahead of it waiting; none where it starts.
    fn wait_in_line(&self, id: JobId, now: Timestamp) -> Option<WouldWait> {
        let mut pass = self.new_pass();
        let mut turns = self.jobs[&id].derived.choices.len();
        while turns > 0
            && let Some((queue, key)) = self.next_in_order(&pass)
        {
            let starts = self.starts_at_turn(&mut pass, queue, key, now);
            if key.job == id && starts {
                return None;
            }
            turns -= usize::from(key.job == id);
        }
        let is_first = pass.blocked.values().any(|job| *job == id);
        let reason = match pass.limited.get(&id) {
            _ if is_first => pass.unavailable.get(&id),
            Some(reason) => Some(reason),
            None => Some(&PendingReason::Priority),
        };
        let reason = reason.cloned().unwrap_or(PendingReason::Resources);
        let job = &self.jobs[&id];
        let mut choices = job.derived.choices.iter();
        // What its partitions do not start has no start, whatever becomes free.
        if choices.all(|choice| self.may_start(job, choice).is_err()) {
            return Some(WouldWait {
                reason,
                start: None,
                limit: None,
            });
        }
        let planned = pass.promises.as_ref();
        let planned = planned.and_then(|promises| promises.plan.start_of(id));
        if !matches!(reason, PendingReason::OverLimit(_)) {
            let start = planned.or_else(|| self.start_behind_all(id, now, now));
            return Some(WouldWait {
                reason,
                start,
                limit: None,
            });
        }
        let start = self.start_under_limits(id, now);
        Some(self.over(id, reason, start, now))
    }

    /// The same between two cycles of backfill that take long: what the last one left free is known, and no plan
    /// is made.
    fn wait_between_cycles(&self, id: JobId, now: Timestamp) -> Option<WouldWait> {
        let job = &self.jobs[&id];
        let (mut reason, mut is_limited) = (PendingReason::Priority, true);
        for choice in &job.derived.choices {
            let attempt = self.attempt(job, choice, true, now);
            if let Err(limit) = self.may_attempt(&attempt, now) {
                reason = limit;
                continue;
            }
            is_limited = false;
            let queue = self.queue_of(&job.record, choice.partition);
            let key = self.key(&job.record, choice.priority);
            let is_first = self.ready.get(&queue).and_then(|it| it.first()) == Some(&key);
            if self.fits_between_cycles(&attempt, now)
                || (is_first && self.starts_at_turn(&mut self.new_pass(), queue, key, now))
            {
                return None;
            }
            reason = if is_first {
                PendingReason::Resources
            } else {
                PendingReason::Priority
            };
        }
        if is_limited && matches!(reason, PendingReason::OverLimit(_)) {
            return Some(self.over(id, reason, None, now));
        }
        Some(WouldWait {
            reason,
            start: None,
            limit: None,
        })
    }

    fn over(
        &self,
        id: JobId,
        reason: PendingReason,
        start: Option<Timestamp>,
        now: Timestamp,
    ) -> WouldWait {
        WouldWait {
            reason,
            start,
            limit: self.over_limit(id, now).map(|(limit, _)| limit),
        }
    }

    fn new_pass(&self) -> Pass {
        Pass {
            stopped: self.stopped(),
            by_user: self.is_by_user(),
            ..Pass::default()
        }
    }

    /// Whether a job starts at its turn; else it waits, and keeps others waiting.
    fn starts_at_turn(&self, pass: &mut Pass, queue: QueueId, key: Key, now: Timestamp) -> bool {
        let record = &self.jobs[&key.job].record;
        let claimant = rules::claimant(&self.cluster, record, queue.partition);
        pass.not_now = self.kept_for_stopped(&pass.stopped, claimant);
        if record.request.rare.component.is_some() {
            self.wait_together(pass, queue, key, now);
            return false;
        }
        let Some(tried) = self.queue_attempt(pass, queue, key, now) else {
            return false;
        };
        pass.passed.insert(queue, key);
        if self.drawn(pass, &tried.attempt, now).is_some() {
            return true;
        }
        if tried.is_behind && !self.may_try(pass, queue.partition, tried.attempt.job) {
            return false;
        }
        if self.waits_with_its_qos(pass, &tried, now) {
            return false;
        }
        match self.find_beside(pass, &tried, now) {
            Some(start) => match self.may_have(&self.ledger, &start, now) {
                Ok(()) => true,
                Err(reason) => {
                    self.keep_by_limit(pass, &tried, reason, now);
                    false
                }
            },
            None => {
                self.keep_waiting(pass, &tried, now);
                false
            }
        }
    }

    /// When a job finds a place not before a moment, once all that wait have one; none where those are more than a
    /// pass tries.
    fn start_behind_all(&self, id: JobId, begin: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let parameters = BackfillParameters {
            promises: usize::MAX,
            ..self.backfill.unwrap_or_default()
        };
        let mut promises = Promises::new(self, &parameters, now);
        let job = &self.jobs[&id];
        let mut pass = self.new_pass();
        promises.begin_step(begin);
        let mut from = begin;
        while let Some((queue, key)) = self.next_in_order(&pass) {
            pass.passed.insert(queue, key);
            if key.job == id {
                continue;
            }
            pass.tried += 1;
            if pass.tried > parameters.tests {
                return None;
            }
            let Some(tried) = self.queue_attempt(&mut pass, queue, key, now) else {
                continue;
            };
            let is_planned = promises.promise(self, &tried.later, Kept::ForNodes, now);
            // Where none goes before others they start in their order.
            if self.backfill.is_none() && is_planned == Ok(true) {
                let start = promises.plan.start_of(key.job);
                from = start.map_or(from, |start| start.max(from));
            }
        }
        let starts = job.derived.choices.iter().filter_map(|choice| {
            let attempt = self.attempt(job, choice, true, begin);
            let reserved = self.reserved_for(id);
            let found = promises.earliest(self, &attempt, from.0..=i64::MAX, &reserved);
            found.map(|start| start.at)
        });
        starts.min()
    }

    /// When a job starts that a limit keeps, behind those that the limit keeps too; none where that takes too much
    /// work to say, or where a job has to end before of which it is not known when.
    fn start_under_limits(&self, id: JobId, now: Timestamp) -> Option<Timestamp> {
        let record = &self.jobs[&id].record;
        let planned = self.played_start(record, now, &Budget::new()).start()?;
        let is_known = self
            .without_limit(&planned, &self.ahead_of(record), now)
            .is_none();
        is_known.then_some(planned.start.at)
    }
}
