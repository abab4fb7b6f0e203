//! From the agents' hello to the ranks' start: Gathering, Staging, Restoring.

use super::{ConductorState, Effect, Hello, KeptPart, Phase, Stage, Why};
use crate::conductor::copies::Copies;
use crate::protocol::{AgentId, Order};
use crate::trained::DONE_BEFORE;
use folder::{Attempt, Candidate, Companion, Event, KnownCheckpoint, TrainingProgress};
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
            self.assemble(Vec::new(), effects);
        }
    }

    pub(super) fn give_roles(&mut self, effects: &mut Vec<Effect>) {
        // The first agent of each distinct disk.
        let mut disks = BTreeMap::new();
        for (agent, hello) in &self.hellos {
            disks.entry(hello.disk.clone()).or_insert(*agent);
        }
        let copiers: BTreeSet<AgentId> = disks.into_values().collect();
        let known = self.out.candidates(Vec::new());
        let known = known.iter().map(|one| &one.known);
        let known = known.map(|known| (known.name.as_str(), &known.parts));
        let copies = Copies::new(copiers.iter().copied()).least(known);
        // In a rescue more is known than when the start began.
        self.copies = copies.after(&self.copies);
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
                self.assemble(Vec::new(), effects);
            }
        }
    }

    pub(super) fn not_staged(&mut self, why: &str, now: Timestamp, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Staging { .. }) {
            self.fail(format!("staging failed: {why}"), now, effects);
        }
    }

    /// Tries the checkpoint at `index`, or starts without one.
    pub(super) fn restore(&mut self, index: usize, effects: &mut Vec<Effect>) {
        let Some(Candidate { known, kept, with }) = self.candidates.get(index).cloned() else {
            if index > 0 {
                let text =
                    "no checkpoint could be resumed from: the training starts from its beginning"
                        .to_owned();
                effects.push(Effect::Record(Event::Note { text }));
            }
            return self.start(None, effects);
        };
        self.pass_over_newer(&known, effects);
        effects.push(Effect::Send(Order::Restore {
            name: known.name,
            kept,
            with,
        }));
        self.phase = Phase::Restoring {
            index,
            waiting: self.copiers(),
            is_brought: false,
            failed: BTreeMap::new(),
        };
    }

    pub(super) fn not_restored(
        &mut self,
        agent: AgentId,
        name: String,
        is_damaged: bool,
        effects: &mut Vec<Effect>,
    ) {
        if let Phase::Restoring { failed, .. } = &mut self.phase {
            *failed.entry(name).or_default() |= is_damaged;
        }
        self.restored(agent, effects);
    }

    pub(super) fn is_restored(&mut self, agent: AgentId, effects: &mut Vec<Effect>) {
        if let Phase::Restoring { is_brought, .. } = &mut self.phase {
            *is_brought = true;
        }
        self.restored(agent, effects);
    }

    fn restored(&mut self, agent: AgentId, effects: &mut Vec<Effect>) {
        let Phase::Restoring {
            index,
            waiting,
            is_brought,
            failed,
        } = &mut self.phase
        else {
            return;
        };
        waiting.remove(&agent);
        if !waiting.is_empty() {
            return;
        }
        let (index, failed, is_brought) = (*index, std::mem::take(failed), *is_brought);
        let candidate = self.candidates.get(index).cloned();
        if failed.is_empty() {
            return self.start(candidate, effects);
        }
        let members = candidate.iter().flat_map(Candidate::members);
        for Companion { name, .. } in members.filter(|member| !member.kept) {
            if let Some(is_damaged) = failed.get(&name) {
                // What the training saves from now on is newer than it.
                self.out.remove(&name);
                // Where a node has read it well, another one has not.
                let is_damaged = *is_damaged && !is_brought;
                effects.extend(is_damaged.then_some(Effect::SetAside(name)));
            }
        }
        self.restore(index + 1, effects);
    }

    /// The checkpoints that the job's only disk keeps. Of several disks each may have a part.
    pub(super) fn kept_here(&self) -> Vec<KnownCheckpoint> {
        let is_only = self.copiers().len() == 1;
        let names = self.kept.keys();
        let names = names.filter(|name| is_only && !self.keepers_of(name).is_empty());
        names.map(|name| self.known_kept(name)).collect()
    }

    /// The agents that keep what that start wrote of it, and copy for their disk.
    pub(super) fn keepers_of(&self, name: &str) -> Vec<AgentId> {
        self.keepers_of_start(name, self.kept_start(name))
    }

    pub(super) fn keepers_of_start(&self, name: &str, start: Option<Attempt>) -> Vec<AgentId> {
        let is_of = |part: &KeptPart| part.start.is_none() || part.start == start;
        let seen = self.kept_by_copiers(name);
        seen.filter(|(_, part)| is_of(part))
            .map(|(agent, _)| agent)
            .collect()
    }

    pub(super) fn kept_by_copiers(&self, name: &str) -> impl Iterator<Item = (AgentId, &KeptPart)> {
        let seen = self.kept.get(name).into_iter().flatten();
        let copiers = self.copies.copiers();
        seen.filter(|(agent, _)| copiers.contains(agent))
            .map(|(agent, part)| (*agent, part))
    }

    pub(super) fn known_kept(&self, name: &str) -> KnownCheckpoint {
        let seen = self.kept.get(name);
        let parts = self.keepers_of(name).into_iter();
        let parts: Vec<_> = parts
            .filter_map(|agent| seen?.get(&agent).copied())
            .collect();
        KnownCheckpoint {
            written: parts.iter().filter_map(|part| part.written).max(),
            // Of all nodes together, as in the run folder.
            bytes: parts.iter().map(|part| part.bytes).sum(),
            ..KnownCheckpoint::named(name)
        }
    }

    /// Has what the nodes keep of earlier starts copied out, but for what is of no use any more.
    fn bring_kept_out(&mut self, effects: &mut Vec<Effect>) {
        let resumed = self.progress.resumed().map(|known| known.name.as_str());
        for name in self.kept.keys() {
            let out = self.out.joinable(name);
            let is_out = out.is_some_and(|known| !known.parts.may_grow());
            let joins = self.begun(name).is_some();
            // The run folder has a part of what a later start wrote.
            let is_stale = out.is_some_and(|out| out.parts.start > self.kept_start(name));
            let is_old =
                !self.facts.keep_all && self.out.outdo(name) && resumed != Some(name.as_str());
            if is_out || is_old {
                effects.push(Effect::Send(Order::Forget { name: name.clone() }));
                continue;
            }
            if is_stale && !joins {
                continue;
            }
            for agent in self.givers_of(name) {
                if joins {
                    self.copies.complete_late(agent, name.clone());
                } else {
                    self.copies.complete_earlier(agent, name.clone());
                }
            }
        }
    }

    fn start(&mut self, resume: Option<Candidate>, effects: &mut Vec<Effect>) {
        if let Some(Candidate {
            known, kept: true, ..
        }) = &resume
        {
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
                written: known.written,
                bytes: known.bytes,
            }));
        }
        self.progress = TrainingProgress::over(resume.clone());
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
