//! Who brings a run back whose batch step was killed, and with it all that would have: first an
//! agent, and where they are gone too, a rank's wrapper.

use crate::conductor::{BatchStep, ClusterWord};
use folder::{Attempt, ComebackClaim, ComebackState, Event, EventTail, RunFolder};
use std::time::{Duration, Instant};

/// How long one answer of the cluster is waited for.
const ANSWER: Duration = Duration::from_secs(5);
/// The first and the longest pause between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// So many agents, and so many wrappers, may act; each further one later, where those before it are
/// gone as well.
const DEPUTIES: u32 = 3;
const NEXT_DEPUTY: Duration = Duration::from_secs(1);
/// How long a batch step that seems to live is given whose loss was said by a process that is no
/// longer seen: file systems without locks show none.
const DOUBT_OF_LOST: Duration = Duration::from_secs(2);
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
    /// What it means that the conductor was at the end of its job, or had lost it.
    pub stopping: Stopping,
}

/// What it means to a deputy that the conductor was about to stop the ranks or to come back, or
/// that a loss was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopping {
    /// Another looks after the run.
    IsSettled,
    /// It may have been killed over it.
    IsDoubt,
}

impl Deputy<'_> {
    /// Waits until it is clear whether the caller has to act; it alone has to then, as long as it holds
    /// the claim. Where another has to, until that one has done it, or is gone too.
    #[must_use]
    pub fn must_act(&self) -> Option<ComebackClaim> {
        if self.place >= DEPUTIES {
            return None;
        }
        let ask_after = self.after + NEXT_DEPUTY * self.place;
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            let recorded = self.recorded();
            if recorded == Recorded::Settled {
                return None;
            }
            if recorded == Recorded::Taken {
                if begun.elapsed() >= LONGEST_SILENCE {
                    return None;
                }
            } else if begun.elapsed() >= ask_after {
                let word = ClusterWord::ask(self.attempt.job, ANSWER);
                let patience = match word.map(|word| word.batch_step()) {
                    Some(BatchStep::Killed) => match self.run.claim_comeback(self.attempt) {
                        Ok(Some(claim)) => return Some(claim),
                        // Another was faster, or is just looking.
                        Ok(None) => LONGEST_SILENCE,
                        Err(_) => return None,
                    },
                    Some(BatchStep::Ended) => return None,
                    Some(BatchStep::Lives) if recorded == Recorded::Lost => {
                        DOUBT_OF_LOST.min(self.doubt)
                    }
                    Some(BatchStep::Lives) => self.doubt,
                    None => LONGEST_SILENCE,
                };
                if begun.elapsed() >= ask_after + patience {
                    return None;
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// What a conductor, its parent, or another deputy, has recorded of the start.
    fn recorded(&self) -> Recorded {
        let claim = self.run.comeback_state(self.attempt);
        // Once a deputy has claimed it, no batch step is there that would settle what it had begun.
        let stopping = match claim {
            ComebackState::Held | ComebackState::Abandoned => Stopping::IsDoubt,
            ComebackState::Unclaimed | ComebackState::Settled => self.stopping,
        };
        let path = self.run.events(self.attempt);
        let events = EventTail::new(path.clone()).read().unwrap_or_default();
        let events = events.iter().skip(self.events_before);
        let recorded = events.map(|line| what_is_recorded(&line.event, stopping));
        match (recorded.max().unwrap_or(Recorded::Nothing), claim) {
            (Recorded::Settled, _) | (_, ComebackState::Settled) => Recorded::Settled,
            (_, ComebackState::Held) => Recorded::Taken,
            (Recorded::Lost, _) if folder::has_writer(&path) => Recorded::Settled,
            (_, ComebackState::Abandoned) => Recorded::Lost,
            (recorded, ComebackState::Unclaimed) => recorded,
        }
    }
}

/// What events say of who brings the run back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Recorded {
    Nothing,
    /// A process had begun to, which may have been killed since.
    Lost,
    /// Another deputy does at this moment.
    Taken,
    /// It is clear, or the batch step does.
    Settled,
}

fn what_is_recorded(event: &Event, stopping: Stopping) -> Recorded {
    match event {
        Event::Lost { .. } => Recorded::Lost,
        event if event.settles() => Recorded::Settled,
        Event::Stopping { .. } | Event::ComingBack { .. } if stopping == Stopping::IsSettled => {
            Recorded::Settled
        }
        _ => Recorded::Nothing,
    }
}
