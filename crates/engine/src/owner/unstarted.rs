//! Steps that a former engine wrote down and did not start: their `srun` had no answer, and asks
//! again.

use super::Owner;
use super::turn::Turn;
use crate::SupervisorKey;
use crate::outcome::NodeEnd;
use crate::record::Record;
use crate::spec::{ExitFile, PidFile};
use std::io;

impl Owner {
    /// Ends the steps of these supervisors, none of which has a record. The request that made such
    /// a step makes another when it is sent again, and the job goes on.
    ///
    /// A supervisor that was forked and has not come so far as to say so finds its step taken. One
    /// that was quicker is adopted, and the request is answered with its step.
    pub(super) fn give_up_unstarted(&mut self, keys: &[SupervisorKey], turn: &mut Turn) {
        let why = "the step's supervisor had not begun when it was looked for".to_owned();
        let exit = ExitFile::unstarted(turn.now, Some(why));
        let claimed: Vec<SupervisorKey> = keys
            .iter()
            .filter(|key| match self.claim_ended(**key, &exit) {
                Ok(()) => true,
                Err(error) => {
                    tracing::warn!(step = %key, "it is not given up: {error}");
                    false
                }
            })
            .copied()
            .collect();
        for key in keys {
            if !claimed.contains(key) {
                self.supervisor_gone(*key, turn);
                continue;
            }
            let running = self.running.get_mut(&key.job);
            let Some(live) = running.and_then(|active| active.steps.get_mut(&key.step)) else {
                continue;
            };
            live.row.token.clear();
            let of_step = claimed
                .iter()
                .filter(|other| (other.job, other.step) == (key.job, key.step));
            // Where it runs on other nodes it is as if this one had failed.
            let whole = of_step.count() == live.ends.len();
            let end = if whole {
                NodeEnd::Exit(exit.clone())
            } else {
                NodeEnd::Lost
            };
            self.node_ended(*key, end, turn);
        }
    }

    /// Takes a step that no supervisor holds, and writes down how it ended.
    pub(super) fn claim_ended(&self, key: SupervisorKey, exit: &ExitFile) -> io::Result<()> {
        let this = PidFile::of_this_process(sys::boot_id());
        Record::claim(key.record(&self.folder), key, &this, None)?.end(exit)
    }
}
