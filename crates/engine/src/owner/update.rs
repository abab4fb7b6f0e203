//! `update`: a job that waits or runs is changed.

use super::elements::ElementAnswers;
use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use crate::spec::{Because, SupervisorCall};
use api::{Answer, NamedJob, Refusal};
use model::{JobChange, JobId, StepId, Timestamp};
use sched::Event;

const FINISHED: &str = "Job has already finished";

impl Owner {
    /// Changes a job or elements of an array: of each all that is asked, or nothing.
    pub(super) fn update(
        &mut self,
        named: NamedJob,
        changes: &[JobChange],
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let (live, over) = match self.named_rows(named, peer, turn.now) {
            Err(Refusal::AlreadyEnded { .. }) => return Err(Refusal::invalid(FINISHED)),
            rows => rows?,
        };
        let is_operator = rights::is_operator(peer.uid, sys::process::user());
        let (mut updates, mut answers) = (Vec::new(), ElementAnswers::default());
        for record in over {
            answers.note(record.elements(), Some(Refusal::invalid(FINISHED)));
        }
        for id in live {
            let record = self.state.job(id);
            let record = record.ok_or(Refusal::NoSuchJob { job: id })?;
            let rules = self.cluster.rules();
            let update = self
                .state
                .changed(record, changes, is_operator, rules, turn.now);
            let update = match update {
                Ok(update) => update,
                Err(denial) if record.array.is_some() => {
                    let refusal = Refusal::invalid(&denial.to_string());
                    answers.note(record.elements(), Some(refusal));
                    continue;
                }
                // Components of one job change together.
                Err(denial) => return Err(Refusal::invalid(&denial.to_string())),
            };
            answers.note(record.elements(), None);
            let dependency = update.dependency.as_ref().and_then(Option::as_ref);
            let history = self.store.history(dependency);
            let history = history.map_err(|error| super::submit::store_refusal(&error))?;
            updates.push((id, update, history));
        }
        // Nothing is refused from here on.
        for (job, mut update, history) in updates {
            let gives_back = std::mem::take(&mut update.gives_back);
            let hold = update.hold;
            let moves_end = update.limit.is_some() || update.end_moved_ms.is_some();
            self.state.apply(Event::Updated {
                job,
                update: Box::new(update),
                history,
                at: turn.now,
            });
            if hold {
                let at = turn.now;
                let hold = Some(rights::holder(peer.uid, false));
                self.state.apply(Event::Held { job, hold, at });
            }
            if !gives_back.is_empty() {
                self.give_back(job, gives_back, turn);
            }
            if moves_end {
                self.tell_deadline(job, turn);
            }
        }
        turn.durable = true;
        answers.answer(named)
    }

    /// A running job's supervisors end it at another moment; a step ends before that where a limit of its own says so.
    pub(super) fn tell_deadline(&self, job: JobId, turn: &mut Turn) {
        self.say_deadline(job, &|_step, at| deadline(at), turn);
    }

    /// Says when a job ends to supervisors that a former engine may not have told.
    pub(super) fn repeat_deadline(&self, job: JobId, turn: &mut Turn) {
        let call = |step, at| match step {
            StepId::Batch => deadline(at),
            StepId::Number(_) => SupervisorCall::JobLimit { at },
        };
        self.say_deadline(job, &call, turn);
    }

    fn say_deadline(
        &self,
        job: JobId,
        call: &dyn Fn(StepId, Option<Timestamp>) -> SupervisorCall,
        turn: &mut Turn,
    ) {
        let (Some(active), Some(record)) = (self.running.get(&job), self.state.job(job)) else {
            return;
        };
        // Supervisors of a suspended job move it by the time that it stays suspended.
        let end = record.state.shown_end();
        let at = end.map(|end| end + self.state.over_time(record));
        for step in active.steps.keys() {
            for key in active.live_keys(*step) {
                turn.words.push((key, call(*step, at)));
            }
        }
    }
}

fn deadline(at: Option<Timestamp>) -> SupervisorCall {
    SupervisorCall::Deadline {
        at,
        because: Because::Limit,
        lost_node: None,
        preempted: false,
        job: None,
    }
}
