//! The trainings of a job: what is known of each, by its trial. Pure.
//!
//! What happens to the job happens to all of them; what happens to one is that one's. A job has one today.

use super::{ConductorState, Effect, StateEvent};
use model::Timestamp;
use std::collections::BTreeMap;

/// Which training of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrialId(pub u32);

impl TrialId {
    /// That of a job's first training.
    pub const FIRST: TrialId = TrialId(0);
}

/// Whom it concerns what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concerns {
    /// All trainings of the job.
    Job,
    /// One.
    Trial(TrialId),
}

/// What the conductor knows, training by training.
#[derive(Debug)]
pub struct Trainings {
    states: BTreeMap<TrialId, ConductorState>,
    /// With which code each ended.
    ended: BTreeMap<TrialId, u8>,
}

impl Trainings {
    /// None has begun.
    pub fn new(states: impl IntoIterator<Item = (TrialId, ConductorState)>) -> Trainings {
        Trainings {
            states: states.into_iter().collect(),
            ended: BTreeMap::new(),
        }
    }

    /// What is to be done before anything happens.
    pub fn begin(&mut self) -> Vec<(TrialId, Effect)> {
        let states = self.states.iter_mut();
        let all = states.map(|(trial, state)| (*trial, state.begin()));
        let all = all.collect();
        self.collect(all)
    }

    /// When [`StateEvent::Tick`] is due at the latest.
    pub fn next_due(&self) -> Option<Timestamp> {
        let living = self
            .states
            .iter()
            .filter(|(trial, _)| !self.ended.contains_key(trial));
        living.filter_map(|(_, state)| state.next_due()).min()
    }

    /// Takes what happened. One that has ended hears nothing more; the job exits when all have.
    pub fn handle(
        &mut self,
        concerns: Concerns,
        event: &StateEvent,
        now: Timestamp,
    ) -> Vec<(TrialId, Effect)> {
        let mut all = Vec::new();
        for (trial, state) in &mut self.states {
            let is_its = concerns == Concerns::Job || concerns == Concerns::Trial(*trial);
            if is_its && !self.ended.contains_key(trial) {
                all.push((*trial, state.handle(event.clone(), now)));
            }
        }
        self.collect(all)
    }

    /// The ends of trainings become that of the job.
    fn collect(&mut self, all: Vec<(TrialId, Vec<Effect>)>) -> Vec<(TrialId, Effect)> {
        let mut effects = Vec::new();
        for (trial, own) in all {
            for effect in own {
                let Effect::Exit(code) = effect else {
                    effects.push((trial, effect));
                    continue;
                };
                self.ended.insert(trial, code);
                if self.ended.len() == self.states.len() {
                    let codes = self.ended.values().copied();
                    effects.push((trial, Effect::Exit(codes.max().unwrap_or(code))));
                }
            }
        }
        effects
    }
}
