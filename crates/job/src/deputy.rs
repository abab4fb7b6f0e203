//! Who brings a run back whose batch step was killed, and with it all that would have: first an
//! agent, and where they are gone too, a rank's wrapper.

use crate::conductor::{BatchStep, ClusterWord};
use folder::{Attempt, ComingBack, Event, EventTail, RunFolder};
use std::time::{Duration, Instant};

/// How long one answer of the cluster is waited for.
const ANSWER: Duration = Duration::from_secs(5);
/// The first and the longest pause between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// So many agents, and so many wrappers, may act; each further one later, where those before it are
/// gone as well.
const DEPUTIES: u32 = 3;
const NEXT_DEPUTY: Duration = Duration::from_secs(1);
/// How long a cluster that does not answer is asked: the job is being ended, and what is left of it
/// has no more than its `KillWait`.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// One that may act.
#[derive(Clone, Copy, Debug)]
pub struct Deputy<'a> {
    /// The run.
    pub run: &'a RunFolder,
    /// The start that was lost.
    pub attempt: Attempt,
    /// So many of its events are older than what is looked for.
    pub events_before: usize,
    /// Its place in the order of deputies of its kind.
    pub place: u32,
    /// How long others may take before it asks the cluster.
    pub after: Duration,
    /// How long a batch step that seems to live is given before nothing is done.
    pub doubt: Duration,
    /// What it means that the conductor was at the end of its job.
    pub stopping: Stopping,
}

/// What it means to a deputy that the conductor was about to stop the ranks or to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopping {
    /// Another looks after the run.
    IsSettled,
    /// It may have been killed over it.
    IsDoubt,
}

impl Deputy<'_> {
    /// Waits until it is clear whether the caller has to act; it alone has to then.
    #[must_use]
    pub fn must_act(&self) -> bool {
        if self.place >= DEPUTIES {
            return false;
        }
        let ask_after = self.after + NEXT_DEPUTY * self.place;
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        while !self.others_act() {
            if begun.elapsed() >= ask_after {
                let word = ClusterWord::ask(self.attempt.job, ANSWER);
                let patience = match word.map(|word| word.batch_step()) {
                    Some(BatchStep::Killed) => {
                        return self.run.claim_comeback(self.attempt).unwrap_or(false);
                    }
                    Some(BatchStep::Ended) => return false,
                    Some(BatchStep::Lives) => self.doubt,
                    None => LONGEST_SILENCE,
                };
                if begun.elapsed() >= ask_after + patience {
                    return false;
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
        false
    }

    /// Whether a conductor, its parent, or another deputy, has said what becomes of the start.
    fn others_act(&self) -> bool {
        let events = EventTail::new(self.run.events(self.attempt)).read();
        let events = events.unwrap_or_default();
        let said = events
            .iter()
            .skip(self.events_before)
            .any(|line| match &line.event {
                Event::Lost { .. }
                | Event::Terminated { .. }
                | Event::Finished { .. }
                | Event::Failed { .. }
                | Event::ComingBack {
                    how: ComingBack::Successor { .. },
                } => true,
                Event::Stopping { .. } | Event::ComingBack { .. } => {
                    self.stopping == Stopping::IsSettled
                }
                _ => false,
            });
        said || self.run.is_comeback_claimed(self.attempt)
    }
}
