//! From the store to memory: at the engine's start, and after a transaction that failed.

use super::active_job::{ActiveJob, LiveStep, Over};
use super::adopted::untold;
use super::turn::Turn;
use super::{Clock, Owner, batch_step};
use crate::SupervisorKey;
use crate::engine_cluster::EngineCluster;
use crate::outcome;
use crate::record;
use crate::store::{Store, StoreError};
use model::{Ending, JobId, JobState, StepId, StepState, Timestamp};
use sched::{Job, State};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads the scheduler's state, what running jobs have, and the clock that both go by.
pub(crate) fn read(
    store: &Store,
    cluster: &EngineCluster,
    now: Timestamp,
) -> Result<(State, BTreeMap<JobId, ActiveJob>, Clock), StoreError> {
    let (nodes, numbers) = (Arc::clone(&cluster.cluster), Arc::clone(&cluster.numbers));
    let mut state = State::rebuild(nodes, numbers, store.saved()?, now);
    state.set_backfill(cluster.backfill());
    state.set_zone(sys::local_zone(), now);
    let mut running = BTreeMap::new();
    for record in state.running() {
        let mut active = ActiveJob::new(record, store.record_tag(submitted_as(record))?);
        if let Some(row) = batch_step::of(record) {
            active.steps.insert(StepId::Batch, LiveStep::new(row));
        }
        running.insert(record.id, active);
    }
    for (job, active) in &mut running {
        for row in store.steps(*job, active.restart)? {
            let step = row.record.step;
            if let StepId::Number(number) = step {
                active.next_step = active.next_step.max(number + 1);
            }
            active.note_usage(row.record.usage);
            for share in &row.record.nodes {
                active.programs.has_run(&share.node);
            }
            match row.record.state {
                StepState::Running => {
                    active.steps.insert(step, LiveStep::new(row));
                }
                // How the job ends was decided and written when its script ended.
                StepState::Ended {
                    status,
                    timed_out,
                    at,
                } if step == StepId::Batch => {
                    let outcome = outcome::of_status(status, timed_out);
                    active.over = Some(Over {
                        outcome,
                        status,
                        at,
                    });
                    active.steps.remove(&step);
                }
                ended @ StepState::Ended { .. } => active.note_end(&ended),
            }
        }
    }
    Ok((state, running, Clock::of(store)?))
}

/// The id that a job was submitted under: its own, or its array's.
pub(super) fn submitted_as(record: &Job) -> JobId {
    let array = record.array.as_ref();
    array.map_or(record.id, |place| place.array_job)
}

impl Owner {
    /// Drops memory and makes it anew from the store; false where that can't be read.
    pub(super) fn reload(&mut self, now: Timestamp) -> bool {
        match read(&self.store, &self.cluster, now) {
            Ok((state, running, clock)) => {
                self.state = state;
                self.running = running;
                self.clock = clock;
                self.open_events = self.store.node_events(true).unwrap_or_default();
                // Versions that were given out may come again for other rows.
                for waiter in self.waiters.drain(..) {
                    let _gone = waiter
                        .reply
                        .send(api::Answer::Refused(api::Refusal::Stopping));
                }
                self.was_read();
                true
            }
            // Nothing is accepted until it can be read.
            Err(error) => {
                tracing::error!("the store can't be read again: {error}");
                self.was_not_read(error.to_string());
                false
            }
        }
    }

    /// Looks what became of every supervisor that was alive when the rows were written.
    /// `start`: this engine just began, and what was never started is started now.
    pub(super) fn recover(&mut self, turn: &mut Turn, start: bool) {
        let keys: Vec<SupervisorKey> = self
            .running
            .values()
            .flat_map(|active| {
                let steps = active.steps.keys();
                steps.flat_map(|step| active.live_keys(*step))
            })
            .collect();
        let rebooted = start && self.has_rebooted();
        let mut unstarted = Vec::new();
        for key in keys {
            let found = match record::look(&self.folder, key) {
                Ok(found) => found,
                Err(error) => {
                    self.look_later(key, &untold(&error), turn.now);
                    continue;
                }
            };
            if found.is_some() || rebooted {
                self.supervisor_gone(key, turn);
            } else if key.step == StepId::Batch {
                // Its supervisor was never forked, or was and has not come so far as to say so.
                // In that case one of the two finds the other's record and ends.
                self.launch_batch(key.job, turn);
            } else if start {
                unstarted.push(key);
            }
        }
        self.give_up_unstarted(&unstarted, turn);
        if start {
            self.relock_gpus();
            self.abandon_allocations(turn.now);
            self.sweep_at = Some(turn.now);
        }
        let jobs: Vec<JobId> = self.running.keys().copied().collect();
        for job in jobs {
            let state = self.state.job(job).map(|record| &record.state);
            let (ending, was_suspended) = match state {
                Some(JobState::Running {
                    ending, suspension, ..
                }) => {
                    let was_suspended = suspension.as_ref().is_some_and(|it| it.was_suspended());
                    (ending.clone(), was_suspended)
                }
                _ => (None, false),
            };
            // Said again, as the end below: the former engine may not have come so far.
            if ending.is_none() {
                self.kill_what_stayed(job, turn);
            }
            // Another limit too.
            if start && ending.is_none() && !was_suspended {
                self.repeat_deadline(job, turn);
            }
            // Its own programs after the start that failed may not have run, of which no row tells.
            if ending.is_none()
                && self.is_left_by_leader(job)
                && let Some(active) = self.running.get_mut(&job)
            {
                let failed = &mut active.programs.failed;
                failed.get_or_insert_with(|| "the start of its first component failed".to_owned());
            }
            let in_grace = matches!(ending, Some(Ending::Preempted { grace: Some(_), .. }));
            if was_suspended && (ending.is_none() || in_grace) {
                self.tell_suspension(job, turn);
            }
            if let Some(
                Ending::End(_) | Ending::Requeue { .. } | Ending::Preempted { grace: None, .. },
            ) = ending
            {
                self.stop_steps(job, turn);
            }
            self.recall_lost(job);
            self.consider_end(job, turn);
        }
    }

    fn has_rebooted(&mut self) -> bool {
        let boot_id = sys::boot_id();
        match self.store.note_boot(&boot_id) {
            Ok(former) => former.is_some_and(|former| former != boot_id),
            Err(error) => {
                tracing::warn!("the boot can't be noted: {error}");
                false
            }
        }
    }
}
