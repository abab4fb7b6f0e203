//! Allocations without a batch script (`salloc`, `srun` outside a job): they belong to the
//! connection that asked for them, unless `salloc --no-shell` did.

use super::Owner;
use super::active_job::Over;
use super::clock::shift;
use super::turn::Turn;
use crate::message::Peer;
use crate::outcome;
use api::step_io::PROLOG_FAILED;
use api::{Answer, Refusal};
use model::{Ending, JobId, JobRecord, JobState, Outcome, Timestamp, WaitStatus};
use sched::{Event, Job};

/// How long an allocation lives without a connection: time enough for its client to come back
/// after the engine was replaced.
const ABANDONED_MS: i64 = 30_000;

/// Whose an allocation is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owned {
    /// A connection's.
    By(u64),
    /// Without a client since a restart of the engine; ended at this moment.
    Until(Timestamp),
}

impl Owner {
    pub(super) fn own_allocation(&mut self, job: JobId, connection: u64, turn: &mut Turn) {
        let former = self.allocations.insert(job, Owned::By(connection));
        turn.former_owners.push((job, former));
    }

    /// The end of no connection ends the job any more.
    pub(super) fn disown_allocation(&mut self, job: JobId, turn: &mut Turn) {
        if let Some(former) = self.allocations.remove(&job) {
            turn.former_owners.push((job, Some(former)));
        }
    }

    /// The turn could not be written: allocations are whose they were. Those whose client is gone end with the next
    /// attempt.
    pub(super) fn restore_owners(&mut self, turn: &mut Turn, next: Timestamp) {
        for (job, former) in turn.former_owners.drain(..).rev() {
            match former {
                Some(owned) => self.allocations.insert(job, owned),
                None => self.allocations.remove(&job),
            };
        }
        for owned in self.allocations.values_mut() {
            let is_gone = match owned {
                Owned::By(connection) => turn.disconnected.contains(connection),
                Owned::Until(at) => *at <= turn.now,
            };
            if is_gone {
                *owned = Owned::Until(next);
            }
        }
    }

    /// How an allocation stands whose client would have to ask for that next.
    pub(super) fn allocation_now(&self, job: JobId) -> Option<JobRecord> {
        self.allocations.get(&job)?;
        let record = self.state.job(job)?;
        Some(self.shown_record(record, self.state.planned_on(job)))
    }

    /// After a start of the engine: clients of allocations must come again.
    pub(super) fn abandon_allocations(&mut self, now: Timestamp) {
        let live = self.state.live();
        // A component lasts as long as the first one.
        let own_client = |record: &Job| {
            let place = record.request.rare.component;
            place.is_none_or(|place| place.leader == record.id)
        };
        let live = live.filter(|record| !record.batch && !record.request.rare.no_shell);
        let live = live.filter(|record| own_client(record));
        let until = Timestamp(now.0 + ABANDONED_MS);
        for record in live {
            let owned = self.allocations.entry(record.id);
            owned.or_insert(Owned::Until(until));
        }
    }

    pub(super) fn disconnected(&mut self, connection: u64, turn: &mut Turn) {
        turn.disconnected.push(connection);
        let left = self.allocations.iter().filter_map(|(job, owned)| {
            matches!(owned, Owned::By(by) if *by == connection).then_some(*job)
        });
        let left: Vec<JobId> = left.collect();
        for job in left {
            self.end_allocation(job, turn);
        }
    }

    pub(super) fn release_abandoned(&mut self, turn: &mut Turn) {
        let left = self.allocations.iter().filter_map(|(job, owned)| {
            matches!(owned, Owned::Until(at) if *at <= turn.now).then_some(*job)
        });
        let left: Vec<JobId> = left.collect();
        for job in left {
            self.end_allocation(job, turn);
        }
    }

    pub(super) fn shift_allocations(&mut self, by_ms: i64) {
        for owned in self.allocations.values_mut() {
            if let Owned::Until(at) = owned {
                shift(at, by_ms);
            }
        }
    }

    pub(super) fn next_abandoned(&self) -> Option<Timestamp> {
        let moments = self.allocations.values().filter_map(|owned| match owned {
            Owned::Until(at) => Some(*at),
            Owned::By(_) => None,
        });
        moments.min()
    }

    /// The client is gone without a report.
    fn end_allocation(&mut self, job: JobId, turn: &mut Turn) {
        self.disown_allocation(job, turn);
        let Some(record) = self.state.job(job) else {
            return;
        };
        let by = record.submitter.uid;
        if matches!(record.state, JobState::Pending { .. }) {
            let at = turn.now;
            self.state.apply(Event::CancelledWaiting { job, by, at });
            return;
        }
        let status = WaitStatus::default();
        self.end_running(job, Outcome::cancelled(by, status), status, turn);
    }

    fn end_running(&mut self, job: JobId, outcome: Outcome, status: WaitStatus, turn: &mut Turn) {
        if let Some(active) = self.running.get_mut(&job) {
            let outcome = outcome.clone();
            let at = turn.now;
            active.over = Some(Over {
                outcome,
                status,
                at,
            });
        }
        self.decide(job, Ending::End(outcome), turn);
        self.consider_end(job, turn);
    }

    pub(super) fn release(
        &mut self,
        job: JobId,
        status: WaitStatus,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        match self.owned(job, peer) {
            // Released before, and the answer was lost.
            Err(Refusal::AlreadyEnded { .. }) => return Ok(Answer::Done),
            owned => owned?,
        }
        let record = self.state.job(job).ok_or(Refusal::NoSuchJob { job })?;
        if record.batch {
            return Err(Refusal::Invalid {
                message: format!("job {job} has a batch script: cancel it instead"),
            });
        }
        let is_pending = matches!(record.state, JobState::Pending { .. });
        self.disown_allocation(job, turn);
        if is_pending {
            let (by, at) = (peer.uid, turn.now);
            self.state.apply(Event::CancelledWaiting { job, by, at });
            turn.durable = true;
        } else {
            // The word of its step's end may still be on its way.
            self.look_for_ends(job, turn);
            // `srun` outside a job ends as its step did: for the step's limit, if that ended it.
            let step = self.running.get(&job).and_then(|active| active.timed_out);
            let over = self.deadline(job).is_some_and(|at| at <= turn.now);
            let timed_out = over || step == Some(status);
            // `srun` outside a job has no other status then; the command of `salloc` has its own.
            let is_lost = self.failed_prologs.has(job) && status == WaitStatus::default();
            let outcome = if is_lost {
                Outcome::LaunchFailed {
                    message: PROLOG_FAILED.to_owned(),
                }
            } else {
                outcome::of_status(status, timed_out)
            };
            // Not flushed, as no end is: the client that says it would be lost with the machine, too.
            self.end_running(job, outcome, status, turn);
        }
        Ok(Answer::Done)
    }

    /// The time limit of an allocation is over.
    pub(super) fn expire(&mut self, job: JobId, turn: &mut Turn) {
        let status = WaitStatus::default();
        self.decide(job, Ending::End(Outcome::Timeout { status }), turn);
        self.consider_end(job, turn);
    }
}
