//! `cancel`: what `scancel` does.

use super::components::ONE_COMPONENT;
use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use crate::spec::{Reach, SupervisorCall};
use api::{Answer, CancelRequest, NamedJob, Refusal, Selector};
use model::{
    ArrayTask, Ending, JobId, JobState, JobStateName, Outcome, StepId, Timestamp, WaitStatus,
};
use sched::{Event, Job};
use sys::signals::{SIGCONT, SIGKILL, SIGSTOP};

impl Owner {
    pub(super) fn cancel(
        &mut self,
        request: CancelRequest,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let CancelRequest {
            selector,
            signal,
            batch,
            full,
        } = request;
        match selector {
            Selector::Step(job, step) => {
                self.owned(job, peer)?;
                self.cancel_step(job, step, signal, peer, turn)?;
            }
            Selector::Elements(array_job, tasks) => {
                self.owned(array_job, peer)?;
                self.cancel_elements(array_job, &tasks, signal, batch, full, peer, turn);
            }
            Selector::Job(job) => {
                self.owned(job, peer)?;
                self.refuse_component(job)?;
                let ids = self.jobs_of_id(job);
                let is_over =
                    |id: &JobId| self.state.job(*id).is_some_and(|it| it.state.is_finished());
                if ids.iter().all(is_over) {
                    return Err(Refusal::AlreadyEnded { job });
                }
                for id in ids {
                    self.cancel_job(id, signal, batch, full, peer, turn);
                }
            }
            Selector::Matching { .. } => {
                let all = self.state.live();
                let chosen = all.filter(|record| {
                    rights::may_change(peer.uid, record.submitter.uid) && matches(&selector, record)
                });
                let ids: Vec<JobId> = chosen.map(|record| record.id).collect();
                for id in ids {
                    self.cancel_job(id, signal, batch, full, peer, turn);
                }
            }
        }
        Ok(Answer::Done)
    }

    /// The live rows that an id stands for: the job, all of the array, or all components.
    pub(super) fn jobs_of_id(&self, id: JobId) -> Vec<JobId> {
        let array: Vec<JobId> = self.state.rows_of_array(id).map(|row| row.id).collect();
        if !array.is_empty() {
            return array;
        }
        let mut all = vec![id];
        all.extend(self.led_by(id));
        all
    }

    /// The live rows that are named; elements that wait with others get rows of their own.
    ///
    /// # Errors
    /// There is no such job or element, it is over, or it is another user's.
    pub(super) fn named_jobs(
        &mut self,
        named: NamedJob,
        peer: Peer,
        at: Timestamp,
    ) -> Result<Vec<JobId>, Refusal> {
        let NamedJob {
            job,
            element,
            component,
        } = named;
        if let Some(component) = component {
            let own = self.component_of(job, component);
            let own = own.map_err(|_| Refusal::NoSuchJob { job })?;
            self.owned(own, peer)?;
            return Ok(vec![own]);
        }
        let Some(element) = element else {
            self.owned(job, peer)?;
            return Ok(self.jobs_of_id(job));
        };
        if self.state.rows_of_array(job).next().is_some() {
            self.owned(job, peer)?;
            let rows = self.state.rows_of_elements(job, &[element], at);
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        match self.ended_element(job, element)? {
            Some(row) => Err(Refusal::AlreadyEnded { job: row.id }),
            None => Err(Refusal::NoSuchJob { job }),
        }
    }

    /// An element that is over and in the store.
    pub(super) fn ended_element(&self, array: JobId, element: u32) -> Result<Option<Job>, Refusal> {
        let ended = self.store.ended_by_id(array);
        let ended = ended.map_err(|error| super::submit::store_refusal(&error))?;
        let is_it = |row: &Job| match row.array.as_ref().map(|place| &place.task) {
            Some(ArrayTask::One(one)) => *one == element,
            Some(ArrayTask::Waiting(waiting)) => waiting.indices.contains(&element),
            None => false,
        };
        Ok(ended.into_iter().find(is_it))
    }

    /// A component that waits can't be ended alone: what is left would be another job.
    fn refuse_component(&self, job: JobId) -> Result<(), Refusal> {
        let record = self.state.job(job);
        let place = record.and_then(|record| record.request.rare.component);
        let waits = record.is_some_and(|it| matches!(it.state, JobState::Pending { .. }));
        if waits && place.is_some_and(|place| place.leader != job) {
            return Err(Refusal::Invalid {
                message: ONE_COMPONENT.to_owned(),
            });
        }
        Ok(())
    }

    fn cancel_job(
        &mut self,
        job: JobId,
        signal: Option<i32>,
        batch: bool,
        full: bool,
        peer: Peer,
        turn: &mut Turn,
    ) {
        let Some(record) = self.state.job(job) else {
            return;
        };
        let running = matches!(record.state, JobState::Running { .. });
        match signal {
            Some(signal) if signal != SIGKILL => {
                self.signal_job(job, signal, batch, full, turn);
                self.note_stop(job, signal, turn);
            }
            // The script alone is killed; the job ends as any whose script does.
            _ if running && batch && record.batch => {
                self.signal_job(job, SIGKILL, true, full, turn);
            }
            _ if running => {
                let outcome = Outcome::cancelled(peer.uid, WaitStatus::default());
                self.decide(job, Ending::End(outcome), turn);
                if signal == Some(SIGKILL) {
                    self.signal_job(job, SIGKILL, false, true, turn);
                }
                self.consider_end(job, turn);
                turn.durable = true;
            }
            _ => {
                let (by, at) = (peer.uid, turn.now);
                self.state.apply(Event::CancelledWaiting { job, by, at });
                self.disown_allocation(job, turn);
                turn.durable = true;
            }
        }
    }

    /// Without `batch` or `full` the steps get it and the batch script does not.
    pub(super) fn signal_job(
        &self,
        job: JobId,
        signal: i32,
        batch: bool,
        full: bool,
        turn: &mut Turn,
    ) {
        let Some(active) = self.running.get(&job) else {
            return;
        };
        for step in active.steps.keys() {
            let is_batch = *step == StepId::Batch;
            let reach = match (is_batch, batch, full) {
                (true, _, true) | (false, false, _) | (false, true, true) => Reach::All,
                (true, true, false) => Reach::Tasks,
                (true, false, false) | (false, true, false) => continue,
            };
            let call = SupervisorCall::Signal { signal, reach };
            for key in active.live_keys(*step) {
                turn.words.push((key, call.clone()));
            }
        }
    }

    /// A job whose steps get SIGSTOP is shown as STOPPED until they get SIGCONT, whichever of them it was sent to.
    fn note_stop(&mut self, job: JobId, signal: i32, turn: &mut Turn) {
        let has_steps = self
            .running
            .get(&job)
            .is_some_and(|active| !active.steps.is_empty());
        if has_steps && matches!(signal, SIGSTOP | SIGCONT) {
            let (is_stopped, at) = (signal == SIGSTOP, turn.now);
            self.state.apply(Event::Stopped {
                job,
                is_stopped,
                at,
            });
            turn.durable = true;
        }
    }

    fn cancel_step(
        &mut self,
        job: JobId,
        step: StepId,
        signal: Option<i32>,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<(), Refusal> {
        let active = self.running.get(&job);
        let active = active.ok_or(Refusal::NotRunning { job })?;
        if !active.steps.contains_key(&step) {
            return Err(Refusal::NoSuchJob { job });
        }
        let call = match (signal, step) {
            (Some(signal), _) => SupervisorCall::Signal {
                signal,
                reach: Reach::All,
            },
            (None, StepId::Batch) => {
                self.stop_step((job, active), step, turn);
                return Ok(());
            }
            (None, StepId::Number(_)) => {
                for part in self.parts_of_step(job, step) {
                    let active = self.running.get_mut(&part);
                    if let Some(live) = active.and_then(|active| active.steps.get_mut(&step)) {
                        live.row.record.cancelled_by = Some(peer.uid);
                        turn.steps.insert((part, step));
                    }
                }
                SupervisorCall::Kill
            }
        };
        for key in self.keys_of_step(job, step) {
            turn.words.push((key, call.clone()));
        }
        if let Some(signal) = signal {
            self.note_stop(job, signal, turn);
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one scancel, taken apart")]
    fn cancel_elements(
        &mut self,
        array_job: JobId,
        tasks: &[u32],
        signal: Option<i32>,
        batch: bool,
        full: bool,
        peer: Peer,
        turn: &mut Turn,
    ) {
        let rows = self.state.rows_of_array(array_job);
        let is_named = |task: &u32| tasks.contains(task);
        let rows: Vec<(JobId, Named)> = rows
            .map(|row| {
                let named = match row.array.as_ref().map(|place| &place.task) {
                    // All that wait together end together: none gets an id of its own.
                    Some(ArrayTask::Waiting(waiting)) if waiting.indices.iter().all(is_named) => {
                        Named::Whole
                    }
                    Some(ArrayTask::Waiting(_)) => Named::Partly,
                    Some(ArrayTask::One(task)) if is_named(task) => Named::Whole,
                    Some(ArrayTask::One(_)) | None => Named::Not,
                };
                (row.id, named)
            })
            .collect();
        for (id, named) in rows {
            match named {
                Named::Whole => self.cancel_job(id, signal, batch, full, peer, turn),
                Named::Partly if signal.is_none_or(|signal| signal == SIGKILL) => {
                    self.state.apply(Event::CancelledElements {
                        job: id,
                        tasks: tasks.to_vec(),
                        by: peer.uid,
                        at: turn.now,
                    });
                    turn.durable = true;
                }
                Named::Partly | Named::Not => {}
            }
        }
    }

    /// The owner of a live job, or root, may do something with it.
    pub(super) fn owned(&self, job: JobId, peer: Peer) -> Result<(), Refusal> {
        let live = self.state.job(job);
        let live = live.or_else(|| self.state.rows_of_array(job).next());
        let Some(record) = live else {
            // It is written at the end of this turn.
            if self.state.has_just_ended(job) {
                return Err(Refusal::AlreadyEnded { job });
            }
            let ended = self.store.ended_by_id(job);
            let ended = ended.map_err(|error| super::submit::store_refusal(&error))?;
            return Err(if ended.is_empty() {
                Refusal::NoSuchJob { job }
            } else {
                Refusal::AlreadyEnded { job }
            });
        };
        if !rights::may_change(peer.uid, record.submitter.uid) {
            return Err(Refusal::NotYours {
                job,
                owner: record.submitter.user.clone(),
            });
        }
        Ok(())
    }
}

/// How much of a row of an array a filter chose.
enum Named {
    Whole,
    /// Some of the elements that wait together, or none of them.
    Partly,
    Not,
}

fn matches(selector: &Selector, record: &Job) -> bool {
    let Selector::Matching {
        uid,
        name,
        state,
        partition,
        account,
        qos,
    } = selector
    else {
        return false;
    };
    let request = &record.request;
    if matches!(record.state, JobState::Ended { .. }) {
        return false;
    }
    let state_name = JobStateName::base_of(&record.state);
    let state_name = [state_name.long(), state_name.compact()];
    let same = |asked: &Option<String>, has: Option<&str>| {
        asked.as_deref().is_none_or(|asked| Some(asked) == has)
    };
    uid.is_none_or(|uid| uid == record.submitter.uid)
        && same(name, Some(&request.name))
        && state.as_deref().is_none_or(|asked| {
            state_name
                .iter()
                .any(|name| name.eq_ignore_ascii_case(asked))
        })
        && same(partition, record.partitions())
        && same(account, request.account.as_deref())
        && same(qos, request.qos.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{PendingReason, Request, RequeueHold, Submitter};
    use std::sync::Arc;

    #[track_caller]
    fn check(state: JobState, asked: &str, want: bool) {
        let submitter = Arc::new(Submitter::default());
        let mut record = Job::submitted(JobId(1), Request::default(), submitter, Timestamp(0));
        record.state = state;
        let selector = Selector::Matching {
            uid: None,
            name: None,
            state: Some(asked.to_owned()),
            partition: None,
            account: None,
            qos: None,
        };
        assert_eq!(matches(&selector, &record), want, "{asked}");
    }

    fn pending(reason: PendingReason) -> JobState {
        JobState::Pending { reason }
    }

    fn running(ending: Option<Ending>) -> JobState {
        JobState::Running {
            since: Timestamp(0),
            limit: None,
            allocation: model::Allocation::default(),
            ending,
            suspension: None,
            held: None,
            end_moved_ms: 0,
        }
    }

    /// `SPECIAL_EXIT` and `COMPLETING` are flags beside the state that a filter names.
    #[test]
    fn a_filter_names_the_state_below_the_flags() {
        check(pending(PendingReason::Resources), "PENDING", true);
        check(pending(PendingReason::SpecialExit), "PENDING", true);
        check(pending(PendingReason::HeldSpecialExit), "pd", true);
        check(pending(PendingReason::SpecialExit), "SPECIAL_EXIT", false);
        check(pending(PendingReason::SpecialExit), "RUNNING", false);
        check(running(None), "RUNNING", true);
        check(running(None), "PENDING", false);
        let hold = RequeueHold::No;
        check(
            running(Some(Ending::Requeue {
                hold,
                node_failed: false,
            })),
            "PENDING",
            true,
        );
        check(
            running(Some(Ending::Requeue {
                hold,
                node_failed: false,
            })),
            "RUNNING",
            false,
        );
        let end = Ending::End(Outcome::Completed);
        check(running(Some(end.clone())), "RUNNING", false);
        check(running(Some(end)), "COMPLETING", false);
    }
}
