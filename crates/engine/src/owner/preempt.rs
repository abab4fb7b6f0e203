//! Jobs whose places others take.

use super::Owner;
use super::turn::Turn;
use model::{Ending, JobId, JobState};

const SIGTERM: i32 = 15;
const SIGCONT: i32 = 18;

impl Owner {
    /// Ends a job whose place is taken; while it has grace time its steps are asked to end.
    pub(super) fn lost_place(&mut self, job: JobId, turn: &mut Turn) {
        let state = self.state.job(job).map(|record| &record.state);
        let Some(JobState::Running {
            ending: Some(Ending::Preempted { grace, .. }),
            ..
        }) = state
        else {
            return;
        };
        turn.durable = true;
        if grace.is_some() {
            for signal in [SIGCONT, SIGTERM] {
                self.signal_job(job, signal, false, false, turn);
            }
        } else {
            self.stop_steps(job, turn);
            self.consider_end(job, turn);
        }
    }
}
