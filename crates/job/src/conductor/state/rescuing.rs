//! After the loss of agents, or of the conductor with them: fresh agents bring out what is complete
//! on the nodes, once no process writes there any more.

use super::copy_progress::CopyProgress;
use super::{ConductorState, Effect, Facts, Phase, Stage, Why, later};
use crate::protocol::Order;
use folder::{Event, TrainingProgress};
use model::Timestamp;
use std::time::Duration;

/// How long fresh agents and the end of the ranks are waited for.
const LONGEST: Duration = Duration::from_secs(15);

/// A conductor that was killed, as the one after it finds its start.
#[derive(Clone, Debug)]
pub struct Loss {
    /// In words.
    pub cause: String,
    /// Whether all ranks had ended well before.
    pub trained: bool,
    /// What came out, over what `{resume}` holds.
    pub progress: TrainingProgress,
}

/// What is waited for.
#[derive(Debug)]
pub(super) struct Rescuing {
    pub why: Why,
    /// Fresh agents kill what is left of the ranks as soon as they are there.
    killed: bool,
    ranks_gone: bool,
    /// Whether the ranks ended by themselves and well.
    finished: bool,
    pub until: Timestamp,
}

impl Rescuing {
    /// What becomes of the start when SIGTERM comes now.
    pub(super) fn why_when_ended(&self) -> Why {
        match &self.why {
            Why::Done => Why::Done,
            _ => Why::Terminated(None),
        }
    }
}

impl ConductorState {
    /// The conductor before this one was killed, agents and ranks were ended; fresh agents were
    /// just started.
    #[must_use]
    pub fn after(loss: Loss, facts: Facts, now: Timestamp) -> ConductorState {
        let mut state = ConductorState::of_lost(&loss, facts);
        state.phase = Phase::Rescuing(Rescuing {
            why: if loss.trained {
                Why::Done
            } else {
                Why::Lost { cause: loss.cause }
            },
            killed: true,
            ranks_gone: true,
            finished: loss.trained,
            until: later(now, LONGEST),
        });
        state
    }

    /// The batch step was killed, and no step can be started any more: what is left is to say what
    /// becomes of the run.
    #[must_use]
    pub fn without_batch_step(loss: Loss, facts: Facts) -> (ConductorState, Vec<Effect>) {
        let mut state = ConductorState::of_lost(&loss, facts);
        let mut effects = Vec::new();
        if loss.trained {
            state.done(&mut effects);
        } else {
            state.come_back_from_loss(loss.cause, &mut effects);
        }
        (state, effects)
    }

    fn of_lost(loss: &Loss, facts: Facts) -> ConductorState {
        let mut state = ConductorState::new(facts);
        state.progress.clone_from(&loss.progress);
        state.rescued = true;
        state.loss_recorded = true;
        state
    }

    /// The agents were killed, or their srun was.
    pub(super) fn agents_lost(&mut self, cause: String, now: Timestamp, effects: &mut Vec<Effect>) {
        let lost = Why::Lost { cause };
        let (why, ranks_gone) = match &self.phase {
            Phase::Running => (lost, false),
            Phase::Draining(draining) => (draining.why.clone(), draining.stage == Stage::Last),
            _ => {
                self.abort(lost, now, effects);
                return self.agents_gone(now, effects);
            }
        };
        // A job that is ended gets no further steps, and agents that are lost twice no third try.
        let ended = self.unexplained.is_some() || matches!(why, Why::Terminated(_));
        if ended || self.rescued {
            if !ranks_gone {
                effects.push(Effect::AbortRanks);
            }
            self.part(why, false, now, effects);
            return self.agents_gone(now, effects);
        }
        self.rescued = true;
        self.hellos.clear();
        self.heard.clear();
        self.copy_progress = CopyProgress::default();
        self.gone.clear();
        if let Why::Lost { cause } = &why {
            self.record_loss(cause, effects);
        }
        if !ranks_gone {
            effects.push(Effect::AbortRanks);
        }
        effects.push(Effect::StartAgents);
        let until = later(now, LONGEST);
        self.phase = Phase::Rescuing(Rescuing {
            finished: ranks_gone && why == Why::Done,
            why,
            killed: ranks_gone,
            ranks_gone,
            until: self.deadlines.map_or(until, |at| until.min(at.leave)),
        });
    }

    /// Written down at once: what else is left of the start needs not wonder what became of it.
    pub(super) fn record_loss(&mut self, cause: &str, effects: &mut Vec<Effect>) {
        if !self.loss_recorded {
            self.loss_recorded = true;
            let cause = cause.to_owned();
            effects.push(Effect::Record(Event::Lost { cause }));
        }
    }

    pub(super) fn ranks_gone(&mut self, finished: bool, now: Timestamp, effects: &mut Vec<Effect>) {
        if let Phase::Rescuing(rescuing) = &mut self.phase {
            rescuing.ranks_gone = true;
            rescuing.finished |= finished;
            if finished {
                rescuing.why = Why::Done;
            }
        }
        self.rescue_on(now, effects);
    }

    /// Goes on as far as agents and ranks let it.
    pub(super) fn rescue_on(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let (there, publishing) = (self.all_said_hello(), self.copies.is_publishing());
        let Phase::Rescuing(rescuing) = &mut self.phase else {
            return;
        };
        let late = now >= rescuing.until;
        if !there {
            if late {
                let why = rescuing.why.clone();
                self.part(why, false, now, effects);
            }
            return;
        }
        if !rescuing.killed {
            rescuing.killed = true;
            effects.push(Effect::Send(Order::Kill));
        }
        if !late && (!rescuing.ranks_gone || publishing) {
            return;
        }
        let (why, finished) = (rescuing.why.clone(), rescuing.finished);
        self.give_roles(effects);
        effects.push(Effect::Send(Order::Rescue));
        self.drain(why, Stage::Last, finished, now, effects);
    }
}
