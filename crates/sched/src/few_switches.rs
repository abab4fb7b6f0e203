//! How long a job waits for nodes behind few switches (`--switches=COUNT@TIME`).

use crate::State;
use crate::kinds::Choice;
use crate::live_job::LiveJob;
use model::{JobId, Seconds, Timestamp};
use std::collections::BTreeSet;

/// The longest such wait, and that of a job that names none: Slurm's own `max_switch_wait`.
const LONGEST: Seconds = Seconds(300);

/// When jobs stop waiting for that, so that a pass comes then. Those that are over may be left out:
/// two states with and without them do the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct SwitchWaits(BTreeSet<(Timestamp, JobId)>);

impl PartialEq for SwitchWaits {
    fn eq(&self, _other: &SwitchWaits) -> bool {
        true
    }
}

impl SwitchWaits {
    pub(crate) fn first(&self) -> Option<Timestamp> {
        self.0.first().map(|(at, _)| *at)
    }

    pub(crate) fn forget_until(&mut self, now: Timestamp) {
        while self.first().is_some_and(|first| first <= now) {
            self.0.pop_first();
        }
    }

    pub(crate) fn insert(&mut self, at: Timestamp, job: JobId) {
        self.0.insert((at, job));
    }

    pub(crate) fn remove(&mut self, at: Timestamp, job: JobId) {
        self.0.remove(&(at, job));
    }
}

impl State {
    /// Until when a job takes no nodes behind more switches than it asks for; none where it takes
    /// any.
    pub(crate) fn few_until(&self, job: &LiveJob, choice: &Choice) -> Option<Timestamp> {
        if self.cluster.switches().is_empty() {
            return None;
        }
        let asked = choice.need.compiled.demand.switches?;
        let wait = asked.wait.map_or(LONGEST, Seconds).min(LONGEST);
        Some(job.record.eligible? + wait)
    }
}
