//! From the agents' hello to the ranks' start: Gathering, Staging, Restoring.

use super::{Candidate, ConductorState, Effect, Hello, Known, Phase, Stage, Why};
use crate::conductor::copies::Copies;
use crate::protocol::{AgentId, Order};
use crate::trained::DONE_BEFORE;
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
            let text = DONE_BEFORE.to_owned();
            effects.push(Effect::Record(Event::Note { text }));
            // What the start before had not brought out is on the nodes only.
            self.bring_kept_out(effects);
            self.drain(Why::Done, Stage::Last, true, now, effects);
        } else if self.facts.stage {
            let waiting = (0..self.facts.nodes).collect();
            self.phase = Phase::Staging { waiting };
            effects.push(Effect::Send(Order::Stage));
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
        let known = &self.facts.checkpoints;
        let known = known.iter();
        let known = known.map(|known| (known.name.as_str(), &known.parts));
        let copies = Copies::new(copiers.iter().copied()).least(known);
        // In a rescue more is known than when the start began.
        self.copies = copies.after(&self.copies);
        self.candidates = candidates(&self.facts.checkpoints, self.kept_here(&copiers));
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

    pub(super) fn staged(&mut self, agent: AgentId, effects: &mut Vec<Effect>) {
        if let Phase::Staging { waiting } = &mut self.phase {
            waiting.remove(&agent);
            if waiting.is_empty() {
                self.restore(0, effects);
            }
        }
    }

    pub(super) fn not_staged(&mut self, why: &str, now: Timestamp, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Staging { .. }) {
            self.fail(format!("staging failed: {why}"), now, effects);
        }
    }

    /// Tries the checkpoint at `index`, or starts without one.
    fn restore(&mut self, index: usize, effects: &mut Vec<Effect>) {
        let Some(Candidate { known, kept }) = self.candidates.get(index).cloned() else {
            if index > 0 {
                let text =
                    "no checkpoint could be resumed from: the training starts from its beginning"
                        .to_owned();
                effects.push(Effect::Record(Event::Note { text }));
            }
            return self.start(None, effects);
        };
        effects.push(Effect::Send(Order::Restore {
            name: known.name,
            kept,
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
                self.start(self.candidates.get(index).cloned(), effects);
            }
        }
    }

    /// The checkpoints that the job's only disk keeps. Of several disks each may have a part.
    fn kept_here(&self, copiers: &BTreeSet<AgentId>) -> Vec<Known> {
        let is_here =
            |agents: &BTreeSet<AgentId>| copiers.len() == 1 && !agents.is_disjoint(copiers);
        let kept = self.kept.iter().filter(|(_, agents)| is_here(agents));
        kept.map(|(name, _)| {
            let facts = self.kept_facts.get(name).copied();
            let (written, bytes) = facts.unwrap_or_default();
            Known {
                written,
                bytes,
                ..Known::named(name)
            }
        })
        .collect()
    }

    /// Has what the nodes keep of earlier starts copied out, but for what is of no use any more.
    fn bring_kept_out(&mut self, effects: &mut Vec<Effect>) {
        let newest = |name: &str| {
            let whole = self.facts.checkpoints.iter();
            let whole = whole.filter(|known| known.parts.lacks == 0);
            // Steps of other series count something else.
            let same = whole.filter(|known| folder::series(&known.name) == folder::series(name));
            same.filter_map(|known| known.step).max()
        };
        let resumed = self.resumed.as_ref().map(|known| known.name.as_str());
        for (name, agents) in &self.kept {
            let mut out = self.facts.checkpoints.iter();
            let out = out.find(|known| known.name == *name && known.step.is_some());
            let lacks = out.is_some_and(|known| known.parts.lacks > 0);
            let is_out = out.is_some() && !lacks;
            let step = folder::step_of(name);
            let is_old = !self.facts.keep_all
                && step.is_some()
                && step < newest(name)
                && resumed != Some(name.as_str());
            if is_out || is_old {
                effects.push(Effect::Send(Order::Forget { name: name.clone() }));
                continue;
            }
            for agent in agents
                .intersection(self.copies.copiers())
                .copied()
                .collect::<Vec<_>>()
            {
                if lacks {
                    self.copies.complete_late(agent, name.clone());
                } else {
                    self.copies.complete_earlier(agent, name.clone());
                }
            }
        }
    }

    fn start(&mut self, resume: Option<Candidate>, effects: &mut Vec<Effect>) {
        if let Some(Candidate { known, kept: true }) = &resume {
            let text = format!(
                "checkpoint {} is taken from the node's own disk, where an earlier start left it",
                known.name
            );
            effects.push(Effect::Record(Event::Note { text }));
        }
        let resume = resume.map(|candidate| candidate.known);
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
        self.bring_kept_out(effects);
        self.phase = Phase::Running;
    }

    pub(super) fn all_said_hello(&self) -> bool {
        self.hellos.len() == self.facts.nodes as usize
    }

    pub(super) fn copiers(&self) -> BTreeSet<AgentId> {
        self.copies.copiers().clone()
    }
}

/// What may be resumed from, the best first: what lacks no node's part before what does, the newest first,
/// and of one step what the run folder has, which has hashes. Of what has no step a node keeps the newer.
fn candidates(whole: &[Known], kept: Vec<Known>) -> Vec<Candidate> {
    let kept = kept
        .into_iter()
        .map(|known| Candidate { known, kept: true });
    let out = whole.iter().map(|known| Candidate {
        known: known.clone(),
        kept: false,
    });
    let mut all: Vec<Candidate> = out.chain(kept).collect();
    all.sort_by_key(|candidate| candidate.kept != candidate.known.step.is_none());
    let age = |candidate: &Candidate| match candidate {
        // Its bytes are those that the run folder has: their hashes decide.
        Candidate { known, kept: true } if known.step.is_some() => {
            let out = whole.iter().find(|out| out.name == known.name);
            out.map_or_else(|| known.age(), Known::age)
        }
        candidate => candidate.known.age(),
    };
    all = folder::newest_first(all, age);
    all.sort_by_key(|candidate| candidate.known.parts.lacks > 0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(out: &[&str], kept: &[&str], want: &[&str]) {
        let known = |names: &[&str]| -> Vec<Known> {
            names.iter().map(|name| Known::named(name)).collect()
        };
        let found = candidates(&known(out), known(kept));
        let shown: Vec<String> = found
            .iter()
            .map(|one| format!("{}{}", one.known.name, if one.kept { " kept" } else { "" }))
            .collect();
        assert_eq!(shown, want);
    }

    #[test]
    fn the_newest_of_both_places_comes_first() {
        check(&[], &[], &[]);
        check(&["c-20", "c-10"], &["c-30"], &["c-30 kept", "c-20", "c-10"]);
        check(&["c-20", "c-10"], &["c-20"], &["c-20", "c-20 kept", "c-10"]);
        check(&["c-20"], &["c-10"], &["c-20", "c-10 kept"]);
        check(&["last"], &["last"], &["last kept", "last"]);
        check(&["c-20", "last"], &["last"], &["c-20", "last kept", "last"]);
    }
}
