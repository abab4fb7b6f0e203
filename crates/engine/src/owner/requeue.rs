//! `requeue` and `hold`.

use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use api::{Answer, NamedJob, Refusal};
use model::{
    ArrayFacts, Ending, HeldBy, JobId, JobState, PendingReason, RequeueHold, RestartCount,
};
use sched::{Event, Job, priority_of};

/// How jobs are queued again.
#[derive(Clone, Copy)]
pub(super) struct Requeue {
    pub(super) hold: RequeueHold,
    /// Only one that is still in this start.
    pub(super) restart: Option<RestartCount>,
    /// Only those that run.
    pub(super) only_running: bool,
}

impl Owner {
    /// Queues a job again, all running elements of an array, or one of them.
    pub(super) fn requeue(
        &mut self,
        named: NamedJob,
        again: Requeue,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        if named.component.is_some() {
            return Err(Refusal::NoSuchJob { job: named.job });
        }
        let rows = match self.named_jobs(named, peer, turn.now) {
            Err(Refusal::AlreadyEnded { job }) => {
                return self.requeue_ended(job, again, peer, turn);
            }
            // The other components of a heterogeneous job come back with the first.
            rows => self.leaders(rows?)?,
        };
        // Elements by what became of them.
        let mut answers: Vec<(Vec<u32>, Option<Refusal>)> = Vec::new();
        for job in rows {
            let elements = self.state.job(job).map_or_else(Vec::new, Job::elements);
            let answer = self.requeue_live(job, again, turn).err();
            match answers.iter_mut().find(|(_, known)| *known == answer) {
                Some((known, _)) => known.extend(elements),
                None => answers.push((elements, answer)),
            }
        }
        if answers.iter().all(|(_, answer)| answer.is_none()) {
            return Ok(Answer::Done);
        }
        let is_one = |elements: &[u32]| elements.is_empty() || named.element.is_some();
        if let [(elements, Some(refusal))] = &answers[..]
            && is_one(elements)
        {
            return Err(refusal.clone());
        }
        for (elements, _) in &mut answers {
            elements.sort_unstable();
        }
        answers.sort_by_key(|(elements, _)| elements.first().copied());
        let each = answers.into_iter().map(|(elements, answer)| {
            // As Slurm says it of those that are queued again beside others.
            let words = answer.map_or_else(|| "No error".to_owned(), |it| it.to_string());
            (elements, words)
        });
        Err(Refusal::OfElements {
            job: named.job,
            each: each.collect(),
        })
    }

    fn requeue_live(&mut self, job: JobId, again: Requeue, turn: &mut Turn) -> Result<(), Refusal> {
        let record = self.state.job(job).ok_or(Refusal::NoSuchJob { job })?;
        let is_late = again
            .restart
            .is_some_and(|restart| restart < record.restarts);
        let is_running = matches!(record.state, JobState::Running { .. });
        if is_late || again.only_running && !is_running {
            return Ok(());
        }
        refuse_unless_allowed(record)?;
        match &record.state {
            JobState::Running { .. } => {
                self.decide(job, Ending::Requeue { hold: again.hold }, turn);
                self.consider_end(job, turn);
            }
            JobState::Pending { .. } | JobState::Ended { .. } => {
                return Err(Refusal::Invalid {
                    message: "Job is pending execution".to_owned(),
                });
            }
        }
        turn.durable = true;
        Ok(())
    }

    /// Queues a job again that ended a while ago, as long as its files are there.
    fn requeue_ended(
        &mut self,
        job: JobId,
        again: Requeue,
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
        let is_late = again
            .restart
            .is_some_and(|restart| restart < record.restarts);
        if is_late || again.only_running {
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
        let held = again.hold.reason();
        record.priority = match held {
            Some(_) => 0,
            None => priority_of(&record.request),
        };
        record.state = JobState::Pending {
            reason: held.unwrap_or(PendingReason::None),
        };
        record.restarts += 1;
        record.submitted = turn.now;
        record.eligible = None;
        record.partition = None;
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
        named: NamedJob,
        hold: Option<HeldBy>,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let rows = self.named_jobs(named, peer, turn.now)?;
        // What an operator holds its owner does not release.
        let is_kept = |id: &JobId| {
            self.state.job(*id).is_some_and(|job| match &job.state {
                JobState::Pending { reason } => *reason == PendingReason::JobHeldAdmin,
                JobState::Running { held, .. } => *held == Some(HeldBy::Admin),
                JobState::Ended { .. } => false,
            })
        };
        let may_release = rights::is_operator(peer.uid, sys::process::user());
        if hold.is_none() && !may_release && rows.iter().any(is_kept) {
            return Err(Refusal::Invalid {
                message: "Access/permission denied".to_owned(),
            });
        }
        for job in rows {
            let at = turn.now;
            self.state.apply(Event::Held { job, hold, at });
        }
        turn.durable = true;
        Ok(Answer::Done)
    }
}

fn refuse_unless_allowed(record: &sched::Job) -> Result<(), Refusal> {
    if record.may_requeue() {
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
