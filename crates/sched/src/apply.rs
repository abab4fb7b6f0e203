//! What events do to the state.

use crate::array::Array;
use crate::between_cycles::LeftFree;
use crate::fault::{self, Fault};
use crate::ledger::Ledger;
use crate::live_job::LiveJob;
use crate::{Event, Finished, Job, State};
use model::{
    ComponentPlace, Ending, HeldBy, JobId, JobState, Outcome, PendingReason, Ran, Seconds,
    Timestamp, WaitStatus,
};
use std::sync::Arc;

/// A job that is queued again so soon after its start would be started again and again at full
/// speed, as one whose script requeues itself.
const SOON_MS: i64 = 1000;
/// For how long it then waits at least, where the cluster does not say more
/// ([`resources::Cluster::requeue_delay`]).
const REQUEUE_DELAY: Seconds = Seconds(1);

impl State {
    /// Takes in what happened. What follows from it is up to [`State::schedule`].
    pub fn apply(&mut self, event: Event) {
        if !LeftFree::outlives(&event) {
            self.left_free.forget();
        }
        match event {
            Event::Submitted {
                record,
                array,
                history,
                at,
            } => {
                if let (Some(place), Some(facts)) = (&record.array, array) {
                    let array = self.arrays.entry(place.array_job);
                    array.or_insert_with(|| Array::new(facts));
                }
                self.submitted(*record, history, at);
            }
            Event::Ending { job, ending } => self.ending(job, ending),
            Event::Gone { job, outcome, at } => self.gone(job, outcome, at),
            Event::StartFailed { job, at } => {
                self.queue_again(job, 0, PendingReason::LaunchFailedRequeuedHeld, at);
            }
            Event::CancelledWaiting { job, by, at } => {
                if self.jobs.get(&job).is_some_and(LiveJob::is_pending) {
                    self.remove(job, cancelled(by), at);
                }
            }
            Event::CancelledElements { job, tasks, by, at } => {
                for task in tasks {
                    let row = self.jobs.get(&job);
                    if row.is_some_and(|row| row.waiting().contains(&task)) {
                        let element = self.split_off(job, task);
                        self.remove(element, cancelled(by), at);
                    }
                }
            }
            Event::Updated {
                job,
                update,
                history,
                at,
            } => self.update(job, *update, history, at),
            Event::Held { job, hold, at } => self.held(job, hold, at),
            Event::Suspended { job, at } => self.suspend(job, true, false, at),
            Event::Resumed { job, at } => self.suspend(job, false, false, at),
            Event::Stopped {
                job,
                is_stopped,
                at,
            } => self.note_stop(job, is_stopped, at),
            Event::Shrunk { job, nodes, at } => self.shrink(job, &nodes, at),
            Event::ClockSet { by_ms } => self.clock_set(by_ms),
            Event::GpusBarred(gpus) => {
                self.barred = gpus.into_iter().collect();
                self.bar_gpus();
            }
            Event::CpusBarred(cpus) => {
                self.barred_cpus = cpus;
                self.bar_cpus();
            }
            Event::UsageBeginsAnew { of, at } => self.usage_begins_anew(&of, at),
            Event::NodeMarked { node, mark } => self.mark_node(node, mark),
            Event::ReservationChanged { name, reservation } => {
                self.reservation_changed(name, reservation.map(|it| *it));
            }
            Event::Reconfigured { cluster, at } => self.reconfigure(cluster, at),
        }
    }

    fn clock_set(&mut self, by_ms: i64) {
        let expiries = std::mem::take(&mut self.expiries);
        let moved = expiries.into_iter();
        self.expiries = moved.map(|(at, job)| (plus(at, by_ms), job)).collect();
        let ids: Vec<JobId> = self.running.iter().copied().collect();
        for id in ids {
            let Some(job) = self.jobs.get_mut(&id) else {
                continue;
            };
            if let JobState::Running {
                since,
                suspension,
                ending,
                ..
            } = &mut job.record.state
            {
                // What a former start gave back stays where it was.
                if let Some(resized) = job.record.rare.resized.filter(|at| at > since) {
                    job.record.rare.resized = Some(plus(resized, by_ms));
                }
                *since = plus(*since, by_ms);
                if let Some(Ending::Preempted {
                    grace: Some(until), ..
                }) = ending
                {
                    *until = plus(*until, by_ms);
                }
                if let Some(suspension) = suspension {
                    suspension.at = plus(suspension.at, by_ms);
                }
                self.touch(id);
            }
        }
        self.ledger = Ledger::count(&self.cluster, self.running_shares());
    }

    fn submitted(&mut self, record: Job, history: Vec<Finished>, at: Timestamp) {
        let id = record.id;
        self.next_id = self.next_id.max(id.0.saturating_add(1));
        self.insert(record);
        self.touch(id);
        let job = &self.jobs[&id];
        // Queued again: what it was before no longer counts.
        let (target, task) = (job.target(), job.task());
        if let Some(finished) = self.finished.get_mut(&target) {
            finished.retain(|finished| task.is_some() && finished.task != task);
        }
        if id != target {
            self.finished.remove(&id);
        }
        // The store does not know yet what ended since the changes were last taken.
        let just_ended = self.ended.iter().flat_map(Finished::of);
        for finished in history.into_iter().chain(just_ended) {
            if self.dependents.contains_key(&finished.target) {
                let all = self.finished.entry(finished.target).or_default();
                all.insert(finished);
            }
        }
        self.prioritise(id, at);
        self.refile(id, at);
    }

    pub(crate) fn ending(&mut self, id: JobId, new: Ending) {
        self.forget_expiry(id);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let JobState::Running { ending, .. } = &mut job.record.state else {
            return;
        };
        // The first decision stands, but for these.
        let overrules = match (&*ending, &new) {
            (None, _) => true,
            (
                Some(Ending::Requeue { .. } | Ending::Preempted { .. }),
                Ending::End(Outcome::Cancelled { .. }),
            ) => true,
            // In its grace time it ended by itself, or somebody ends it otherwise.
            (Some(Ending::Preempted { grace: Some(_), .. }), _) => true,
            // A script that failed because its node was just lost is heard of before the loss.
            (Some(Ending::End(Outcome::Failed { .. })), Ending::Requeue { .. }) => true,
            // Somebody wants one back whose end is not through, also one that is cancelled (`_job_requeue_op` of
            // job_mgr.c).
            (
                Some(Ending::End(_)),
                Ending::Requeue {
                    node_failed: false, ..
                },
            ) => true,
            (Some(_), _) => false,
        };
        if overrules {
            *ending = Some(new);
            self.touch(id);
        }
    }

    fn gone(&mut self, id: JobId, outcome: Outcome, at: Timestamp) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let JobState::Running {
            ending,
            since,
            held,
            ..
        } = &job.record.state
        else {
            return;
        };
        let held = *held;
        let soon = at.since(*since) < SOON_MS;
        if fault::is(Fault::NotQueuedAgain) && matches!(ending, Some(Ending::Preempted { .. })) {
            return self.remove(id, outcome, at);
        }
        match ending {
            Some(Ending::Requeue { hold, .. }) if let Some(reason) = hold.reason() => {
                self.queue_again(id, 0, reason, at);
            }
            Some(
                Ending::Requeue { .. }
                | Ending::Preempted {
                    requeue: true,
                    grace: None,
                    ..
                },
            ) => {
                let (priority, reason) = match held {
                    Some(held) => (0, held.reason()),
                    None => (job.record.unweighted_priority(), PendingReason::None),
                };
                if soon && let Some(job) = self.jobs.get_mut(&id) {
                    let not_before = &mut job.record.rare.not_before;
                    *not_before = (*not_before).max(Some(at + REQUEUE_DELAY));
                }
                self.queue_again(id, priority, reason, at);
            }
            Some(Ending::End(_) | Ending::Preempted { .. }) | None => {
                self.remove(id, outcome, at);
            }
        }
    }

    /// A running job waits again, behind those that wait already.
    fn queue_again(&mut self, id: JobId, priority: u32, reason: PendingReason, at: Timestamp) {
        if !self.stop_running(id, at) {
            return;
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            job.record.state = JobState::Pending { reason };
            job.record.restarts += 1;
            job.record.submitted = at;
            let delay = self.cluster.requeue_delay();
            if delay > Seconds(0) {
                let not_before = &mut job.record.rare.not_before;
                *not_before = (*not_before).max(Some(at + delay));
            }
            job.record.is_no_more_eligible();
            job.record.priority = priority;
            self.in_queue.take(&self.cluster, &job.record);
            job.record.partition = None;
            self.in_queue.add(&self.cluster, &job.record);
            self.touch(id);
        }
        self.prioritise(id, at);
        self.refile(id, at);
        if let Some(job) = self.jobs.get(&id) {
            let (target, array_job) = (job.target(), job.array_job());
            self.notify_by_name(id, target, at);
            if let Some(array_job) = array_job {
                self.unpark(array_job, at);
            }
        }
    }

    /// Gives back what a running job holds; false when it doesn't run.
    fn stop_running(&mut self, id: JobId, at: Timestamp) -> bool {
        self.settle_spent(id, at);
        let Some(job) = self.jobs.get_mut(&id) else {
            return false;
        };
        if self.cluster.priority().is_multifactor {
            self.priorities.settle(&self.cluster, &job.record, at);
        }
        let JobState::Running { allocation, .. } = &job.record.state else {
            return false;
        };
        self.ledger.ended(&job.record);
        let holding = job.derived.holding.take();
        if let (Some(holding), false) = (holding, self.held.is_overdrawn) {
            self.held.give(&self.cluster, &holding, allocation);
        }
        self.forget_expiry(id);
        self.unfile(id);
        if self.held.is_overdrawn {
            self.recount();
        }
        true
    }

    /// Files anew the rows of an array that waited for a place under its throttle.
    pub(crate) fn unpark(&mut self, array_job: JobId, at: Timestamp) {
        let array = self.arrays.get(&array_job);
        let parked = array.map(|array| array.parked.clone());
        for id in parked.unwrap_or_default() {
            self.refile(id, at);
        }
    }

    /// A live job ended.
    pub(crate) fn remove(&mut self, id: JobId, mut outcome: Outcome, at: Timestamp) {
        self.stop_running(id, at);
        self.unfile(id);
        self.forget_targets(id, None);
        let Some(job) = self.jobs.remove(&id) else {
            return;
        };
        self.accrual.note(&self.cluster, id);
        self.changed.remove(&id);
        self.versions.remove(&(job.record.version, id));
        self.shown.remove(&id);
        let (target, array_job) = (job.target(), job.array_job());
        // Those that are left wait for it no more.
        let mut others = job.component().into_iter().flat_map(ComponentPlace::ids);
        if let Some(other) = others.find(|id| self.jobs.contains_key(id)) {
            self.enqueue_together(other);
        }
        let mut record = job.record;
        self.in_queue.take(&self.cluster, &record);
        let suspended_ms = record.state.suspended_ms(at);
        let ran = match record.state {
            JobState::Running {
                since,
                allocation,
                limit,
                ..
            } => Some(Ran {
                since,
                allocation,
                limit,
                suspended_ms,
            }),
            JobState::Pending { reason } => {
                if let Outcome::Cancelled { waited_for, .. } = &mut outcome {
                    *waited_for = Some(reason);
                }
                None
            }
            JobState::Ended { .. } => None,
        };
        record.state = JobState::Ended { outcome, at, ran };
        self.version += 1;
        record.version = self.version;
        for finished in Finished::of(&record) {
            if self.dependents.contains_key(&finished.target) {
                let all = self.finished.entry(finished.target).or_default();
                all.insert(finished);
            }
        }
        let (uid, request) = (record.submitter.uid, Arc::clone(&record.request));
        self.ended.push(record);
        self.names.remove(uid, &request.name, id);
        if let Some(array_job) = array_job
            && let Some(array) = self.arrays.get_mut(&array_job)
        {
            array.rows.remove(&id);
            if array.rows.is_empty() {
                self.arrays.remove(&array_job);
            } else {
                self.unpark(array_job, at);
            }
        }
        self.notify_by_name(id, target, at);
        self.notify_singletons(uid, &request.name, at);
    }

    /// Ends those whose dependency can't be met any more, where they or the cluster ask for that.
    pub(crate) fn end_doomed(&mut self, at: Timestamp) {
        while let Some(id) = self.doomed.pop_first() {
            let job = self
                .jobs
                .get(&id)
                .filter(|job| job.reason() == Some(&PendingReason::DependencyNeverSatisfied));
            if job.is_some() {
                self.remove(id, cancelled(Outcome::NO_USER), at);
            }
        }
    }

    fn held(&mut self, id: JobId, hold: Option<HeldBy>, at: Timestamp) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let is_held = job.record.priority == 0;
        match (&mut job.record.state, hold) {
            (JobState::Running { held, .. }, hold) => {
                *held = hold;
                return self.touch(id);
            }
            (JobState::Pending { reason }, Some(by)) => {
                let is_by_someone = matches!(
                    reason,
                    PendingReason::JobHeldUser | PendingReason::JobHeldAdmin
                );
                // How it came to be held is told on.
                if is_by_someone || !reason.is_hold() {
                    *reason = by.reason();
                }
                job.record.priority = 0;
                job.record.is_no_more_eligible();
            }
            (JobState::Pending { reason }, None) if is_held => {
                *reason = PendingReason::None;
                // A priority that was set is gone (`_release_job_rec` of job_mgr.c).
                if job.record.rare.priority_set.is_some() {
                    job.record.rare.priority_set = None;
                }
                job.record.priority = job.record.unweighted_priority();
            }
            (JobState::Pending { .. } | JobState::Ended { .. }, _) => return,
        }
        self.touch(id);
        self.prioritise(id, at);
        self.refile(id, at);
    }
}

fn plus(moment: Timestamp, millis: i64) -> Timestamp {
    Timestamp(moment.0.saturating_add(millis))
}

fn cancelled(by: u32) -> Outcome {
    Outcome::cancelled(by, WaitStatus::default())
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
