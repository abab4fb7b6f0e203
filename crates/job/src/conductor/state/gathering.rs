//! From the agents' hello to the ranks' start: Gathering, Staging, Restoring.

use super::{ConductorState, Effect, Hello, Known, Phase, Why};
use crate::conductor::copies::Copies;
use crate::protocol::{AgentId, Order};
use folder::Event;
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

impl ConductorState {
    pub(super) fn hello(
        &mut self,
        agent: AgentId,
        hello: Hello,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        self.hellos.insert(agent, hello);
        if matches!(self.phase, Phase::Gathering) && self.all_said_hello() {
            self.gathered(now, effects);
        }
    }

    fn gathered(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        self.give_roles(effects);
        if self.facts.trained {
            let text = "the training was done when the start before this one was lost".to_owned();
            effects.push(Effect::Record(Event::Note { text }));
            self.part(Why::Done, true, now, effects);
        } else if self.facts.stage {
            self.phase = Phase::Staging;
            effects.push(Effect::Stage);
        } else {
            self.restore(0, effects);
        }
    }

    pub(super) fn give_roles(&mut self, effects: &mut Vec<Effect>) {
        // The first agent of each distinct disk.
        let mut disks = BTreeMap::new();
        for (agent, hello) in &self.hellos {
            disks.entry(hello.disk.clone()).or_insert(*agent);
        }
        let copiers: BTreeSet<AgentId> = disks.into_values().collect();
        self.copies = Copies::new(copiers.iter().copied());
        effects.push(Effect::Send(Order::Roles {
            copiers: copiers.into_iter().collect(),
        }));
    }

    pub(super) fn missing_agents(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let cause = format!(
            "{} agents were started, {} connected; the conductor's log has srun's output",
            self.facts.nodes,
            self.hellos.len()
        );
        self.fail(cause, now, effects);
    }

    pub(super) fn staged(
        &mut self,
        result: Result<(), String>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        if matches!(self.phase, Phase::Staging) {
            match result {
                Ok(()) => self.restore(0, effects),
                Err(why) => self.fail(format!("staging failed: {why}"), now, effects),
            }
        }
    }

    /// Tries the checkpoint at `index`, or starts without one.
    fn restore(&mut self, index: usize, effects: &mut Vec<Effect>) {
        let Some(known) = self.facts.checkpoints.get(index) else {
            if index > 0 {
                let text =
                    "no checkpoint could be resumed from: the training starts from its beginning"
                        .to_owned();
                effects.push(Effect::Record(Event::Note { text }));
            }
            return self.start(None, effects);
        };
        effects.push(Effect::Send(Order::Restore {
            name: known.name.clone(),
        }));
        self.phase = Phase::Restoring {
            index,
            waiting: self.copiers(),
            failed: false,
        };
    }

    pub(super) fn restored(
        &mut self,
        agent: AgentId,
        failed: Option<String>,
        effects: &mut Vec<Effect>,
    ) {
        let Phase::Restoring {
            index,
            waiting,
            failed: any,
        } = &mut self.phase
        else {
            return;
        };
        waiting.remove(&agent);
        *any |= failed.is_some();
        effects.extend(failed.map(|text| Effect::Record(Event::Note { text })));
        if waiting.is_empty() {
            let (index, any) = (*index, *any);
            if any {
                self.restore(index + 1, effects);
            } else {
                self.start(self.facts.checkpoints.get(index).cloned(), effects);
            }
        }
    }

    fn start(&mut self, resume: Option<Known>, effects: &mut Vec<Effect>) {
        if let Some(known) = &resume {
            effects.push(Effect::Record(Event::Resumed {
                checkpoint: known.name.clone(),
                step: known.step,
            }));
        }
        self.resumed.clone_from(&resume);
        let name = resume.as_ref().map(|known| known.name.clone());
        effects.push(Effect::Send(Order::Watch { resume: name }));
        let mut hellos: Vec<Hello> = self.hellos.values().cloned().collect();
        hellos.sort_by_key(|hello| hello.node_index);
        effects.push(Effect::StartRanks { hellos, resume });
        self.phase = Phase::Running;
    }

    pub(super) fn all_said_hello(&self) -> bool {
        self.hellos.len() == self.facts.nodes as usize
    }

    pub(super) fn copiers(&self) -> BTreeSet<AgentId> {
        self.copies.copiers().clone()
    }
}
