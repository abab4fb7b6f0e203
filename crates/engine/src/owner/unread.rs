//! A store that could not be written, and then not be read either: memory tells of what was never written. Until the
//! store can be read again nothing is taken in.

use super::job_programs::JobPrograms;
use super::turn::Turn;
use super::{Owner, RETRY_MS};
use crate::message::{Message, PendingCall};
use api::{Answer, Call, Refusal};
use model::{JobId, RestartCount, StepId, Timestamp};
use std::collections::BTreeMap;

/// What could not be read again, and what waits for that.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// Why the store can't be read, where it has to be.
    why: Option<String>,
    /// What happened since, or in a turn that could not be written, and that nothing else says.
    put_off: Vec<Message>,
    /// The programs of running jobs' starts as they stood before the turn that could not be written: no row tells of
    /// them.
    programs: FormerPrograms,
}

/// The programs of jobs' starts, as they stood at some time.
pub(crate) type FormerPrograms = BTreeMap<(JobId, RestartCount), JobPrograms>;

impl Unread {
    /// Whether the store has to be read, and could not be yet.
    pub(super) fn is_so(&self) -> bool {
        self.why.is_some()
    }

    /// Whether something waits to be taken in again.
    pub(super) fn has_put_off(&self) -> bool {
        !self.put_off.is_empty()
    }
}

impl Owner {
    /// A turn is about to change what no row tells of a job's start.
    pub(super) fn note_programs(&self, job: JobId, turn: &mut Turn) {
        if let Some(active) = self.running.get(&job) {
            let former = turn.former_programs.entry((job, active.restart));
            former.or_insert_with(|| active.programs.clone());
        }
    }

    /// Keeps what no row tells, as it stood before a turn that could not be written, and what happened in it.
    pub(super) fn keep_unwritten(&mut self, turn: &mut Turn) {
        self.unread.put_off.append(&mut turn.told_once);
        let former = std::mem::take(&mut turn.former_programs).into_iter();
        let running = self.running.iter_mut();
        let others = running.map(|(job, active)| {
            let now = std::mem::take(&mut active.programs);
            ((*job, active.restart), now)
        });
        for (start, programs) in former.chain(others) {
            // What is known already stood before.
            self.unread.programs.entry(start).or_insert(programs);
        }
    }

    /// Memory is as the rows are.
    pub(super) fn was_read(&mut self) {
        self.unread.why = None;
        let mut kept = std::mem::take(&mut self.unread.programs);
        for (job, active) in &mut self.running {
            if let Some(programs) = kept.remove(&(*job, active.restart)) {
                if programs.failed.is_some() {
                    active.steps.remove(&StepId::Batch);
                }
                active.programs = programs;
            }
        }
    }

    /// The store can't be read: memory may tell of what was never written.
    pub(super) fn was_not_read(&mut self, why: String) {
        self.unread.why = Some(why);
    }

    /// After a turn that could not be written, once it is time: what is to be taken in again, as soon as the store
    /// can be read.
    pub(super) fn put_off(&mut self) -> Vec<Message> {
        let now = self.clock.now();
        if self.retry_at.is_some_and(|at| at > now) {
            return Vec::new();
        }
        if self.unread.is_so() {
            if !self.reload(now) {
                self.retry_at = Some(Timestamp(now.0 + RETRY_MS));
                return Vec::new();
            }
            // What became of those that ran is looked at in this turn.
            self.retry_at = Some(Timestamp(0));
        }
        std::mem::take(&mut self.unread.put_off)
    }

    /// A message, unless it has to wait, or be refused, until the store can be read.
    pub(super) fn unless_unread(&mut self, message: Message) -> Option<Message> {
        let Some(why) = &self.unread.why else {
            return Some(message);
        };
        match message {
            Message::Call(asked) if !matches!(asked.call, Call::Handover(_) | Call::Stop) => {
                let PendingCall { reply, .. } = *asked;
                let message = why.clone();
                // A client that is gone asks again, or never will.
                let _gone = reply.send(Answer::Refused(Refusal::Store { message }));
                None
            }
            Message::Call(_) | Message::ForkServerLost | Message::SocketGone | Message::Stop => {
                Some(message)
            }
            Message::Disconnected(_)
            | Message::ForkServer(_)
            | Message::Gone(_)
            | Message::OrphansEnded(..)
            | Message::ProgramEnded(..)
            | Message::NoticeShown
            | Message::NetworksLost => {
                self.unread.put_off.push(message);
                None
            }
        }
    }
}
