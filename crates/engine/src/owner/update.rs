//! `update`: a job that waits or runs is changed.

use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use crate::spec::{Because, SupervisorCall};
use api::{Answer, NamedJob, Refusal};
use model::{JobChange, JobId};
use sched::Event;

impl Owner {
    /// Changes a job, or all rows of an array: all that is asked, or nothing.
    pub(super) fn update(
        &mut self,
        named: NamedJob,
        changes: &[JobChange],
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let rows = match self.named_jobs(named, peer, turn.now) {
            Err(Refusal::AlreadyEnded { .. }) => {
                return Err(invalid("Job has already finished"));
            }
            rows => rows?,
        };
        let is_operator = rights::is_operator(peer.uid, sys::process::user());
        let mut updates = Vec::new();
        for id in rows {
            let record = self.state.job(id);
            let record = record.ok_or(Refusal::NoSuchJob { job: id })?;
            let rules = self.cluster.rules();
            let update = self
                .state
                .changed(record, changes, is_operator, rules, turn.now);
            let update = update.map_err(|denial| invalid(&denial.to_string()))?;
            let dependency = update.dependency.as_ref().and_then(Option::as_ref);
            let history = self.store.history(dependency);
            let history = history.map_err(|error| super::submit::store_refusal(&error))?;
            updates.push((id, update, history));
        }
        // Nothing is refused from here on: all rows change, or none did.
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
        Ok(Answer::Done)
    }

    /// A running job's supervisors end it at another moment.
    pub(super) fn tell_deadline(&self, job: JobId, turn: &mut Turn) {
        let (Some(active), Some(record)) = (self.running.get(&job), self.state.job(job)) else {
            return;
        };
        // Supervisors of a suspended job move it by the time that it stays suspended.
        let end = record.state.shown_end();
        let at = end.map(|end| end + self.state.over_time(record));
        for step in active.steps.keys() {
            for key in active.live_keys(*step) {
                let because = Because::Limit;
                let call = SupervisorCall::Deadline {
                    at,
                    because,
                    lost_node: None,
                    preempted: false,
                };
                turn.words.push((key, call));
            }
        }
    }
}

fn invalid(message: &str) -> Refusal {
    Refusal::Invalid {
        message: message.to_owned(),
    }
}
