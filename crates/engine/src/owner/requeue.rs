//! `requeue` and `hold`.

use super::elements::ElementAnswers;
use super::submit::store_refusal;
use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use crate::messenger::Caller;
use api::{Answer, NamedJob, Refusal};
use model::{
    ArrayFacts, ArraySpec, Ending, HeldBy, JobId, JobState, Outcome, PendingReason, RequeueHold,
    RestartCount, Seconds,
};
use sched::{Event, Job};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How jobs are queued again.
#[derive(Clone, Copy)]
pub(super) struct Requeue {
    pub(super) hold: RequeueHold,
    /// Only one that is still in this start.
    pub(super) restart: Option<RestartCount>,
    /// Only those that run.
    pub(super) only_running: bool,
}

/// What the store keeps of an array, or of another job.
struct ArrayFiles {
    has_script: bool,
    elements: Option<ArraySpec>,
}

impl Owner {
    /// Queues a job again, all elements of an array, or one of them.
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
        let (live, over) = match self.named_rows(named, peer, turn.now) {
            Err(Refusal::AlreadyEnded { job }) => {
                let ended = self
                    .store
                    .ended_by_id(job)
                    .map_err(|error| store_refusal(&error))?;
                let record = ended.into_iter().find(|record| record.id == job);
                let record = record.ok_or(Refusal::AlreadyEnded { job })?;
                let of_array = self.array_files(&record)?;
                return self.requeue_ended(record, &of_array, again, peer, turn);
            }
            rows => rows?,
        };
        // The other components of a heterogeneous job come back with the first.
        let live = if over.is_empty() {
            self.leaders(live)?
        } else {
            live
        };
        let mut answers = ElementAnswers::default();
        for job in live {
            let elements = self.state.job(job).map_or_else(Vec::new, Job::elements);
            answers.note(elements, self.requeue_live(job, again, peer, turn).err());
        }
        let of_array = over.first().map(|first| self.array_files(first));
        if let Some(of_array) = of_array.transpose()? {
            for record in over {
                let elements = record.elements();
                let answer = self.requeue_ended(record, &of_array, again, peer, turn);
                answers.note(elements, answer.err());
            }
        }
        answers.answer(named)
    }

    fn requeue_live(
        &mut self,
        job: JobId,
        again: Requeue,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<(), Refusal> {
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
            // A client of ours waits for it to be over: whoever cancels a run means that. `scontrol requeue` brings it
            // back, as in Slurm.
            JobState::Running {
                ending: Some(Ending::End(Outcome::Cancelled { .. })),
                ..
            } if again.restart.is_some() => {
                return Err(Refusal::invalid(&format!(
                    "job {job} is being cancelled and has not ended: ask again once it has"
                )));
            }
            JobState::Running { .. } => {
                let ending = Ending::Requeue {
                    hold: again.hold,
                    node_failed: false,
                };
                let first = turn.words.len();
                self.decide(job, ending, turn);
                // It may be the job's own.
                if let Some(caller) = Caller::new(peer.pid).map(Arc::new) {
                    let told = turn.words[first..].iter().map(|(key, _)| *key);
                    turn.callers
                        .extend(told.map(|key| (key, Arc::clone(&caller))));
                }
                self.consider_end(job, turn);
            }
            JobState::Pending { .. } | JobState::Ended { .. } => {
                return Err(Refusal::invalid("Job is pending execution"));
            }
        }
        turn.durable = true;
        Ok(())
    }

    /// Queues a job again that ended a while ago, as long as its files are there.
    fn requeue_ended(
        &mut self,
        mut record: Job,
        of_array: &ArrayFiles,
        again: Requeue,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let job = record.id;
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
        if !of_array.has_script {
            return Err(Refusal::AlreadyEnded { job });
        }
        let held = again.hold.reason();
        record.priority = match held {
            Some(_) => 0,
            None => record.unweighted_priority(),
        };
        record.state = JobState::Pending {
            reason: held.unwrap_or(PendingReason::None),
        };
        record.restarts += 1;
        record.submitted = turn.now;
        record.is_no_more_eligible();
        record.partition = None;
        let delay = self.state.cluster().requeue_delay();
        if delay > Seconds(0) {
            let not_before = &mut record.rare.not_before;
            *not_before = (*not_before).max(Some(turn.now + delay));
        }
        self.state.apply(Event::Submitted {
            record: Box::new(record),
            array: of_array.elements.as_ref().map(ArrayFacts::of),
            history: Vec::new(),
            at: turn.now,
        });
        turn.durable = true;
        Ok(Answer::Done)
    }

    /// What is kept once for all elements of a job's array.
    fn array_files(&self, record: &Job) -> Result<ArrayFiles, Refusal> {
        let array = record.array.as_ref().map(|place| place.array_job);
        let has_script = self.store.has_script(array.unwrap_or(record.id));
        let elements = array.map_or(Ok(None), |array| self.store.elements(array));
        Ok(ArrayFiles {
            has_script: has_script.map_err(|error| store_refusal(&error))?,
            elements: elements.map_err(|error| store_refusal(&error))?,
        })
    }

    pub(super) fn hold(
        &mut self,
        named: NamedJob,
        hold: Option<HeldBy>,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let (rows, over) = self.named_rows(named, peer, turn.now)?;
        // What an operator holds its owner does not release.
        let is_kept = |id: &JobId| {
            self.state.job(*id).is_some_and(|job| match &job.state {
                JobState::Pending { reason } => *reason == PendingReason::JobHeldAdmin,
                JobState::Running { held, .. } => *held == Some(HeldBy::Admin),
                JobState::Ended { .. } => false,
            })
        };
        let may_release = rights::is_operator(peer.uid, sys::process::user());
        let kept: BTreeSet<JobId> = match hold {
            None if !may_release => rows.iter().copied().filter(is_kept).collect(),
            _ => BTreeSet::new(),
        };
        let mut answers = ElementAnswers::default();
        for record in over {
            let finished = Refusal::invalid("Job has already finished");
            answers.note(record.elements(), Some(finished));
        }
        for job in rows {
            let at = turn.now;
            let elements = self.state.job(job).map_or_else(Vec::new, Job::elements);
            if kept.contains(&job) {
                answers.note(elements, Some(Refusal::invalid(api::ACCESS_DENIED)));
                continue;
            }
            answers.note(elements, None);
            self.state.apply(Event::Held { job, hold, at });
        }
        turn.durable = true;
        answers.answer(named)
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
