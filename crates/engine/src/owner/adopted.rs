//! Supervisors that are no children of this engine's fork server, or whose end may have been missed: one thread waits
//! for each. What can't be told of one now is looked at again, and nothing follows from it; so is one that could not be
//! started for a reason that passes.

use super::clock::shift;
use super::turn::Turn;
use super::{Owner, RETRY_MS};
use crate::SupervisorKey;
use crate::message::Message;
use crate::messenger::lives;
use crate::outcome::NodeEnd;
use crate::record;
use crate::spec::ExitFile;
use crate::stopped::{self, LONGEST_STOP};
use model::{StepId, Timestamp};
use std::collections::BTreeSet;
use std::{io, thread};
use sys::process::PidFd;

/// Which supervisors are waited for, and which are to be looked at again.
#[derive(Debug, Default)]
pub(crate) struct Adopted {
    /// Those for which a thread waits.
    waited_for: BTreeSet<SupervisorKey>,
    unsure: BTreeSet<SupervisorKey>,
    /// Of which the log tells that they are looked at again.
    reported: BTreeSet<SupervisorKey>,
    /// When the unsure ones are looked at.
    look_at: Option<Timestamp>,
}

impl Adopted {
    /// When to look at some again.
    pub(super) fn next_look(&self) -> Option<Timestamp> {
        self.look_at
    }

    pub(super) fn shift(&mut self, by_ms: i64) {
        if let Some(moment) = &mut self.look_at {
            shift(moment, by_ms);
        }
    }
}

impl Owner {
    /// Waits, on a thread, for a supervisor that is no child of this engine's fork server; false when
    /// none lives.
    ///
    /// # Errors
    /// It can't be told, or not be waited for.
    pub(super) fn adopt(&mut self, key: SupervisorKey) -> io::Result<bool> {
        let Some(found) = record::look(&self.folder, key)? else {
            return Ok(false);
        };
        let holder = found.holder;
        if !lives(&holder)? {
            return Ok(false);
        }
        if self.adopted.waited_for.contains(&key) {
            return Ok(true);
        }
        let process = match PidFd::open(holder.pid) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            process => process?,
        };
        if process.start_time() != holder.start_time {
            return Ok(false);
        }
        let sender = self.sender.clone();
        thread::Builder::new()
            .name("adopted".to_owned())
            .stack_size(64 << 10)
            .spawn(move || {
                // An error here means that it can't be waited for: then it is looked at now.
                let _gone = stopped::wait_for_end(&process, LONGEST_STOP);
                let _owner = sender.send(Message::Gone(key));
            })?;
        self.adopted.waited_for.insert(key);
        Ok(true)
    }

    /// The thread that waited for a supervisor has ended.
    pub(super) fn adopted_gone(&mut self, key: SupervisorKey, turn: &mut Turn) {
        self.adopted.waited_for.remove(&key);
        self.supervisor_gone(key, turn);
    }

    /// What became of a supervisor can't be told now, or it can't be started.
    pub(super) fn look_later(&mut self, key: SupervisorKey, what: &str, now: Timestamp) {
        self.adopted.unsure.insert(key);
        if self.adopted.reported.insert(key) {
            tracing::warn!(step = %key, "{what}: it is looked at again");
        }
        let look_at = Timestamp(now.0 + RETRY_MS);
        self.adopted.look_at.get_or_insert(look_at);
    }

    /// Looks again at those of which nothing could be told.
    pub(super) fn look_at_unsure(&mut self, turn: &mut Turn) {
        if self.adopted.look_at.is_none_or(|at| at > turn.now) {
            return;
        }
        self.adopted.look_at = None;
        let reported = std::mem::take(&mut self.adopted.reported).into_iter();
        self.adopted.reported = reported.filter(|key| self.is_awaited(*key)).collect();
        for key in std::mem::take(&mut self.adopted.unsure) {
            match record::look(&self.folder, key) {
                Err(error) => self.look_later(key, &untold(&error), turn.now),
                found => {
                    let has_begun = !matches!(found, Ok(None));
                    if has_begun {
                        self.supervisor_gone(key, turn);
                    } else if !self.is_awaited(key) {
                        // It ended meanwhile.
                    } else if key.step == StepId::Batch {
                        self.start_again(key, turn);
                    } else {
                        self.give_up_unstarted(&[key], turn);
                    }
                }
            }
        }
    }

    /// No supervisor came so far as to take this batch step. Whichever is started now or was before, the first one
    /// alone runs it.
    fn start_again(&mut self, key: SupervisorKey, turn: &mut Turn) {
        if self.ending(key.job).is_none() {
            return self.launch_batch(key.job, turn);
        }
        let exit = ExitFile::unstarted(turn.now, None);
        match self.claim_ended(key, &exit) {
            Ok(()) => self.node_ended(key, NodeEnd::Exit(exit), turn),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.supervisor_gone(key, turn);
            }
            Err(error) => {
                let what = format!("it can't be noted that it never starts ({error})");
                self.look_later(key, &what, turn.now);
            }
        }
    }
}

/// What is said of a supervisor of which nothing can be told.
pub(super) fn untold(error: &io::Error) -> String {
    format!("whether its supervisor lives can't be told ({error})")
}
