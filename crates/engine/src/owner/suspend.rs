//! `suspend`, `resume` and `notify`: what `scontrol` does with running jobs.

use super::components::ONE_COMPONENT;
use super::elements::ElementAnswers;
use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use crate::spec::SupervisorCall;
use api::{Answer, NamedJob, Refusal};
use model::{JobId, JobState, StepId};
use sched::Event;

/// Of what is over or just ending.
const OVER: &str = "Job/step already completing or completed";

impl Owner {
    /// Suspends a running job, or the running elements of an array, or resumes them. As in Slurm an
    /// operator's right, and a resumed job does not wait for its CPUs.
    pub(super) fn suspend(
        &mut self,
        named: NamedJob,
        suspend: bool,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        if !rights::is_operator(peer.uid, sys::process::user()) {
            return Err(Refusal::invalid(api::ACCESS_DENIED));
        }
        if named.component.is_some() {
            return Err(Refusal::invalid(ONE_COMPONENT));
        }
        let (live, over) = self.named_rows(named, peer, turn.now)?;
        let (mut changed, mut answers) = (Vec::new(), ElementAnswers::default());
        for record in over {
            answers.note(record.elements(), Some(Refusal::invalid(OVER)));
        }
        for id in live {
            let Some(record) = self.state.job(id) else {
                // Says what it is: unknown, or over.
                self.owned(id, peer)?;
                continue;
            };
            let refused = match &record.state {
                JobState::Pending { .. } => Some("Job is pending execution"),
                JobState::Ended { .. }
                | JobState::Running {
                    ending: Some(_), ..
                } => Some(OVER),
                state if suspend || state.is_suspended() => None,
                JobState::Running { .. } => Some("Job is not suspended"),
            };
            if refused.is_none() {
                changed.push(id);
            }
            answers.note(record.elements(), refused.map(Refusal::invalid));
        }
        let at = turn.now;
        for job in changed {
            let state = self.state.job(job).map(|record| &record.state);
            let had_own_end =
                matches!(state, Some(JobState::Running { end_moved_ms, .. }) if *end_moved_ms != 0);
            self.state.apply(if suspend {
                Event::Suspended { job, at }
            } else {
                Event::Resumed { job, at }
            });
            self.tell_suspension(job, turn);
            if had_own_end && !suspend {
                // It no longer counts. Others' supervisors move their ends themselves, those of steps too.
                self.tell_deadline(job, turn);
            }
        }
        turn.durable = true;
        answers.answer(named)
    }

    /// Has a line written where the user of a running job sees it: in the output of a batch script, else
    /// on the terminals of its steps' `srun`s.
    pub(super) fn notify(
        &mut self,
        job: JobId,
        text: &str,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        self.owned(job, peer)?;
        let record = self.state.job(job);
        let record = record.filter(|it| !matches!(it.state, JobState::Pending { .. }));
        let (Some(record), Some(active)) = (record, self.running.get(&job)) else {
            return Err(Refusal::invalid(
                "Requested operation is presently disabled",
            ));
        };
        let reached = active.steps.keys();
        let reached = reached.filter(|step| !record.batch || **step == StepId::Batch);
        // One of a step's nodes is enough.
        let keys: Vec<_> = reached
            .filter_map(|step| active.live_keys(*step).next())
            .collect();
        if keys.is_empty() {
            return Err(Refusal::invalid(
                "Requested operation is presently disabled",
            ));
        }
        for key in keys {
            let text = text.to_owned();
            turn.words.push((key, SupervisorCall::Say { text }));
        }
        Ok(Answer::Done)
    }

    /// Has the processes of a job stopped, or let go on, as its row says.
    pub(super) fn tell_suspension(&self, job: JobId, turn: &mut Turn) {
        let (Some(active), Some(record)) = (self.running.get(&job), self.state.job(job)) else {
            return;
        };
        let call = if record.state.is_suspended() {
            SupervisorCall::Suspend
        } else {
            SupervisorCall::Resume
        };
        for step in active.steps.keys() {
            for key in active.live_keys(*step) {
                turn.words.push((key, call.clone()));
            }
        }
    }
}
