//! Jobs that start together or not at all: the components of a heterogeneous job.
//!
//! Each waits for itself: for its hold, its dependency, its moment. Once nothing but room is missing
//! to any of them, the first stands in the queues for all. No two are placed on one node, as Slurm's
//! backfill, which alone starts such jobs there, has it (whole nodes are kept for each in turn). A magnetic
//! reservation draws none of them, as Slurm's backfill counts no reservation that a component doesn't name.

use crate::ledger::Ledger;
use crate::pass::{Line, Pass};
use crate::possible_start::{Attempt, PossibleStart};
use crate::promise::Promises;
use crate::queue::{Key, QueueId};
use crate::{Action, Job, State};
use model::{Allocation, JobId, JobState, PendingReason, Timestamp};
use resources::PartId;
use std::collections::btree_map::Entry;

/// A moment at which all fit is looked for so often: each look moves to where one more of them fits.
const LOOKS: usize = 64;

impl State {
    /// The live components of a heterogeneous job, in order; a job alone where it is none.
    #[must_use]
    pub fn components(&self, id: JobId) -> Vec<JobId> {
        let place = self.jobs.get(&id).and_then(|job| job.component());
        let Some(place) = place else {
            return vec![id];
        };
        let ids = place.ids();
        ids.filter(|id| self.jobs.contains_key(id)).collect()
    }

    /// Whether a live job may be queued again: components all are, or none is, as the first has it.
    #[must_use]
    pub fn may_requeue(&self, id: JobId) -> bool {
        let first = self.components(id).into_iter().next();
        let first = first.and_then(|first| self.jobs.get(&first));
        first.is_some_and(|job| job.record.may_requeue())
    }

    /// Whether a job stands in the queues: of components, the first where all could start.
    pub(crate) fn is_queued(&self, id: JobId) -> bool {
        let all = self.components(id);
        let is_ready = |id: &JobId| {
            self.jobs
                .get(id)
                .is_some_and(crate::live_job::LiveJob::is_ready)
        };
        all.first() == Some(&id) && all.iter().all(is_ready)
    }

    /// Puts the first of a job's components into the queues if all could start, else none.
    pub(crate) fn enqueue_together(&mut self, id: JobId) {
        let all = self.components(id);
        let Some(first) = all.first().copied() else {
            return;
        };
        self.unqueue(first);
        for id in &all {
            self.unseen.remove(id);
        }
        if all.iter().all(|id| self.jobs[id].is_ready()) {
            self.queue(first);
            // Any of them may just have been changed.
            let is_new = |id: &JobId| self.jobs[id].reason() == Some(&PendingReason::None);
            if all.iter().any(is_new) {
                self.unseen.insert(first);
            }
            return;
        }
        // What a pass said of them is over; those that wait for another say why.
        for id in all {
            let job = &self.jobs[&id];
            // One that has just been held is filed a moment later.
            let is_held = job.reason().is_some_and(PendingReason::is_hold);
            if job.is_ready() && !is_held {
                self.set_reason(id, PendingReason::None);
            }
        }
    }

    fn line_together(&self, queue: QueueId, job: JobId) -> Line {
        (queue.partition, self.reserved_for(job).number())
    }

    /// A job's components at their turn in a queue; none where they may not start whatever is free.
    fn turn_together(
        &self,
        pass: &mut Pass,
        queue: QueueId,
        key: Key,
        now: Timestamp,
    ) -> Option<(Promises, Vec<Vec<Attempt>>)> {
        let line = self.line_together(queue, key.job);
        pass.passed.insert(queue, key);
        let ids = self.components(key.job);
        let attempts = match self.attempts_together(&ids, queue.partition, now) {
            Ok(attempts) => attempts,
            Err(reason) => {
                pass.limited.insert(key.job, reason);
                return None;
            }
        };
        if pass.blocked.contains_key(&line) && !self.may_try(pass, queue.partition, key.job) {
            return None;
        }
        let parameters = self.backfill.unwrap_or_default();
        let taken = pass.promises.clone();
        let mut promises = taken.unwrap_or_else(|| Promises::new(self, &parameters, now));
        promises.not_now.clone_from(&pass.not_now);
        if self.backfill.is_none() && line.1 == 0 {
            promises.leave(&pass.withdrawn);
        }
        Some((promises, attempts))
    }

    /// A job's components wait at their turn: for room, or for a limit.
    pub(crate) fn wait_together(&self, pass: &mut Pass, queue: QueueId, key: Key, now: Timestamp) {
        let Some((promises, attempts)) = self.turn_together(pass, queue, key, now) else {
            return;
        };
        let Some(all) = self.earliest_together(&promises, &attempts, now, now) else {
            let line = self.line_together(queue, key.job);
            return self.keep_together(pass, key.job, line, (promises, &attempts), now);
        };
        if let Err(reason) = self.may_have_all(&all, now) {
            pass.limited.insert(key.job, reason);
        }
    }

    /// Starts all components of a job if there is room for all.
    pub(crate) fn try_together(
        &mut self,
        pass: &mut Pass,
        queue: QueueId,
        key: Key,
        now: Timestamp,
    ) -> Vec<Action> {
        let line = self.line_together(queue, key.job);
        let is_behind = pass.blocked.contains_key(&line);
        let Some((promises, attempts)) = self.turn_together(pass, queue, key, now) else {
            return Vec::new();
        };
        if let Some(all) = self.earliest_together(&promises, &attempts, now, now) {
            if let Err(reason) = self.may_have_all(&all, now) {
                pass.limited.insert(key.job, reason);
                return Vec::new();
            }
            let lets_others = pass.blocked.values().any(|job| *job == key.job);
            pass.has_overtaken |= is_behind || lets_others;
            let mut actions = Vec::new();
            for start in all {
                if let Some(promises) = &mut pass.promises {
                    promises.take(self, &start, start.until_limit());
                }
                actions.extend(self.start(&start, is_behind, now));
            }
            return actions;
        }
        self.keep_together(pass, key.job, line, (promises, &attempts), now);
        Vec::new()
    }

    /// Nothing is free for a job's components now: they may block those behind them, and may be promised a place.
    fn keep_together(
        &self,
        pass: &mut Pass,
        job: JobId,
        line: Line,
        (mut promises, attempts): (Promises, &[Vec<Attempt>]),
        now: Timestamp,
    ) {
        let partition = line.0;
        if let Entry::Vacant(first) = pass.blocked.entry(line) {
            first.insert(job);
            if line.1 == 0 {
                let nodes = &self.cluster.partition(partition).nodes;
                pass.withdrawn.add(nodes);
            }
        }
        let Some(parameters) = &self.backfill else {
            if self.reservations.is_empty() {
                pass.closed.insert(partition);
            }
            return;
        };
        let promised = pass.promised.entry(partition).or_default();
        if *promised < parameters.promises && !self.keeps_no_place(job) {
            *promised += 1;
            let far = Timestamp(i64::MAX);
            if let Some(all) = self.earliest_together(&promises, attempts, now, far) {
                for start in &all {
                    promises.promised(self, start, now);
                }
            }
            pass.promises = Some(promises);
        }
    }

    /// The partitions in which each may start: the first of them in this one, each of the others in
    /// its own; the error is why one may start in none.
    fn attempts_together(
        &self,
        ids: &[JobId],
        partition: PartId,
        now: Timestamp,
    ) -> Result<Vec<Vec<Attempt>>, PendingReason> {
        let of_job = |(index, id): (usize, &JobId)| {
            let job = &self.jobs[id];
            let all = job.derived.choices.iter();
            let all = all.filter(|choice| index > 0 || choice.partition == partition);
            let (mut open, mut reason) = (Vec::new(), PendingReason::Resources);
            for choice in all {
                match self.may_start(job, choice) {
                    Ok(()) => open.push(self.attempt(job, choice, true, now)),
                    Err(closed) => reason = closed,
                }
            }
            if open.is_empty() {
                return Err(reason);
            }
            Ok(open)
        };
        ids.iter().enumerate().map(of_job).collect()
    }

    /// Whether limits let all components start so.
    fn may_have_all(&self, all: &[PossibleStart], now: Timestamp) -> Result<(), PendingReason> {
        let mut ledger = self.ledger.clone();
        let mut all = all.iter();
        all.try_for_each(|start| self.count_component(&mut ledger, start, now))
    }

    /// Counts a component under its limits, those before it counted already.
    fn count_component(
        &self,
        ledger: &mut Ledger,
        start: &PossibleStart,
        now: Timestamp,
    ) -> Result<(), PendingReason> {
        if !Ledger::counts(&self.cluster) {
            return Ok(());
        }
        let Attempt {
            job, choice, span, ..
        } = &start.attempt;
        let partition = self.cluster.partition(choice.partition);
        let record = Job {
            partition: Some(partition.name.as_str().into()),
            state: JobState::Running {
                since: now,
                allocation: Allocation { nodes: Vec::new() },
                limit: span.limit,
                ending: None,
                suspension: None,
                held: None,
                end_moved_ms: 0,
            },
            ..self.jobs[job].record.clone()
        };
        self.may_have(ledger, start, now)?;
        ledger.started(&self.cluster, &record, &start.shares);
        Ok(())
    }

    /// The first moment at which there is room for all, each for as long as it may run and in
    /// whichever of its partitions is free first.
    fn earliest_together(
        &self,
        promises: &Promises,
        attempts: &[Vec<Attempt>],
        from: Timestamp,
        until: Timestamp,
    ) -> Option<Vec<PossibleStart>> {
        let mut at = from;
        'look: for _ in 0..LOOKS {
            let mut left = promises.clone();
            let mut all = Vec::new();
            for of_one in attempts {
                let found = of_one.iter().filter_map(|attempt| {
                    let reserved = self.reserved_for(attempt.job);
                    left.earliest(self, attempt, at.0..=until.0, &reserved)
                });
                let start = found.min_by_key(|start| start.at)?;
                if start.at > at {
                    at = start.at;
                    continue 'look;
                }
                left.occupy(self, &start);
                all.push(start);
            }
            return Some(all);
        }
        None
    }

    /// Says of all components of a job why none started.
    pub(crate) fn set_reason_of_all(&mut self, id: JobId, reason: &PendingReason) {
        for id in self.components(id) {
            self.set_reason(id, reason.clone());
        }
    }
}
