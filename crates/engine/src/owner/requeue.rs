//! `requeue` and `hold`.

use super::end::may_requeue;
use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use api::{Answer, Refusal};
use model::{ArrayFacts, Ending, JobId, JobState, PendingReason, RestartCount};
use sched::{Event, priority_of};

impl Owner {
    pub(super) fn requeue(
        &mut self,
        job: JobId,
        hold: bool,
        restart: Option<RestartCount>,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        match self.owned(job, peer) {
            Err(Refusal::AlreadyEnded { .. }) => {
                return self.requeue_ended(job, hold, restart, peer, turn);
            }
            owned => owned?,
        }
        let record = self.state.job(job).ok_or(Refusal::NoSuchJob { job })?;
        if restart.is_some_and(|restart| restart < record.restarts) {
            return Ok(Answer::Done);
        }
        refuse_unless_allowed(record)?;
        match &record.state {
            JobState::Running { .. } => {
                self.decide(job, Ending::Requeue { hold }, turn);
                self.consider_end(job, turn);
                turn.durable = true;
                Ok(Answer::Done)
            }
            JobState::Pending { .. } if hold => self.hold(job, true, peer, turn),
            JobState::Pending { .. } | JobState::Ended { .. } => Err(Refusal::Invalid {
                message: "Job is pending execution".to_owned(),
            }),
        }
    }

    /// Queues a job again that ended a while ago, as long as its files are there.
    fn requeue_ended(
        &mut self,
        job: JobId,
        hold: bool,
        restart: Option<RestartCount>,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let ended = self.store.ended_by_id(job);
        let ended = ended.map_err(|error| super::submit::store_refusal(&error))?;
        let record = ended.into_iter().find(|record| record.id == job);
        let mut record = record.ok_or(Refusal::AlreadyEnded { job })?;
        if !rights::may_change(peer.uid, record.submitter.uid) {
            return Err(Refusal::NotYours {
                job,
                owner: record.submitter.user.clone(),
            });
        }
        if restart.is_some_and(|restart| restart < record.restarts) {
            return Ok(Answer::Done);
        }
        refuse_unless_allowed(&record)?;
        let array = record.array.as_ref().map(|place| place.array_job);
        let script = self.store.has_script(array.unwrap_or(job));
        if !script.map_err(|error| super::submit::store_refusal(&error))? {
            return Err(Refusal::AlreadyEnded { job });
        }
        let elements = match array {
            Some(array) => self.store.elements(array),
            None => Ok(None),
        };
        let elements = elements.map_err(|error| super::submit::store_refusal(&error))?;
        record.state = JobState::Pending {
            reason: PendingReason::None,
        };
        record.restarts += 1;
        record.submitted = turn.now;
        record.eligible = None;
        record.partition = None;
        record.priority = if hold {
            0
        } else {
            priority_of(&record.request)
        };
        self.state.apply(Event::Submitted {
            record: Box::new(record),
            array: elements.as_ref().map(ArrayFacts::of),
            history: Vec::new(),
            at: turn.now,
        });
        turn.durable = true;
        Ok(Answer::Done)
    }

    pub(super) fn hold(
        &mut self,
        job: JobId,
        hold: bool,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        self.owned(job, peer)?;
        let mut any = false;
        for id in self.jobs_of_id(job) {
            let record = self.state.job(id);
            if record.is_some_and(|record| matches!(record.state, JobState::Pending { .. })) {
                let (job, at) = (id, turn.now);
                self.state.apply(Event::Held { job, hold, at });
                any = true;
            }
        }
        if !any {
            return Err(Refusal::Invalid {
                message: "Job is no longer pending execution".to_owned(),
            });
        }
        turn.durable = true;
        Ok(Answer::Done)
    }
}

fn refuse_unless_allowed(record: &sched::Job) -> Result<(), Refusal> {
    if may_requeue(record) {
        Ok(())
    } else {
        Err(refusal(record))
    }
}

/// Why a job can't be queued again.
pub(super) fn refusal(record: &sched::Job) -> Refusal {
    let because = if record.batch {
        "it was submitted with --no-requeue"
    } else {
        "it has no batch script"
    };
    Refusal::NotRequeueable {
        job: record.id,
        because: because.to_owned(),
    }
}
