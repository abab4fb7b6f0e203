//! Before a start resumes: a newer checkpoint than the run folder has may stand in parts on the nodes, where an
//! earlier start left it. It is put together first, since no node has all of it.

use super::{ConductorState, Effect, Phase};
use crate::protocol::{AgentId, Order};
use folder::{Attempt, Candidate, Event, KnownCheckpoint, Position};
use model::Timestamp;
use std::collections::BTreeSet;

impl ConductorState {
    /// Puts the newest together that is newer than what is out, one after the other until one is, and goes on
    /// to resume.
    pub(super) fn assemble(&mut self, mut failed: Vec<String>, effects: &mut Vec<Effect>) {
        let kept = self.kept_in_parts();
        let kept = kept.into_iter().filter(|one| !failed.contains(&one.name));
        let best = self.out.candidates(kept.collect()).into_iter().next();
        let is_joined = |name: &str| {
            let out = self.out.get(name);
            out.is_some_and(|known| self.is_joined(known, &failed))
        };
        let best = best.iter().flat_map(Candidate::members);
        let in_parts = best.filter(|member| member.kept || is_joined(&member.name));
        let in_parts: Vec<String> = in_parts.map(|member| member.name).collect();
        if in_parts.is_empty() {
            self.candidates = self.out.candidates(self.kept_here());
            return self.restore(0, effects);
        }
        for name in in_parts {
            let text = format!(
                "checkpoint {name} is put together from what the nodes kept of an earlier start"
            );
            effects.push(Effect::Record(Event::Note { text }));
            let is_begun = self.begun(&name).is_some();
            for agent in self.givers_of(&name) {
                if is_begun {
                    self.copies.complete_late(agent, name.clone());
                } else {
                    self.copies.complete_earlier(agent, name.clone());
                }
            }
            failed.push(name);
        }
        self.phase = Phase::Assembling { tried: failed };
    }

    /// Goes on once it is saved, or could not be.
    pub(super) fn assemble_on(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        if let Phase::Assembling { tried } = &mut self.phase
            && self.copies.is_idle()
        {
            let tried = std::mem::take(tried);
            self.assemble(tried, effects);
            self.copy_on(now, effects);
        }
    }

    /// What the disks of the job keep of earlier starts, where they have all parts that the run folder has not.
    /// What one disk alone has needs no putting together.
    fn kept_in_parts(&self) -> Vec<KnownCheckpoint> {
        let names = self.kept.keys();
        let names = names.filter(|name| self.copiers().len() > 1 && self.has_all_parts(name));
        let known = names.map(|name| {
            let kept = self.known_kept(name);
            let out = self.begun(name).and_then(|out| out.bytes);
            let bytes = kept.bytes.map(|bytes| bytes + out.unwrap_or(0));
            KnownCheckpoint { bytes, ..kept }
        });
        known.collect()
    }

    /// The newest start of whose parts none lacks; where there is none, the newest that nodes keep parts of, where
    /// that is known.
    pub(super) fn kept_start(&self, name: &str) -> Option<Attempt> {
        let starts = self.kept_by_copiers(name).map(|(_, part)| part.start);
        let starts: BTreeSet<Option<Attempt>> = starts.collect();
        let all = self.copies.parts_of(name);
        let all = all.unwrap_or(self.copiers().len());
        let is_whole = |start: &&Option<Attempt>| {
            let out = self
                .out
                .joinable(name)
                .filter(|out| out.parts.is_of(**start));
            let out = out
                .into_iter()
                .flat_map(|out| out.parts.nodes.iter().cloned());
            let kept = self.keepers_of_start(name, **start).into_iter();
            let nodes: BTreeSet<String> =
                kept.map(|agent| self.node_of(agent)).chain(out).collect();
            nodes.len() >= all
        };
        let whole = starts.iter().rev().find(is_whole);
        whole.or(starts.last()).copied().flatten()
    }

    /// What the run folder has of it, where that is of the same start as what the nodes keep.
    pub(super) fn begun(&self, name: &str) -> Option<&KnownCheckpoint> {
        let start = self.kept_start(name);
        let out = self.out.joinable(name);
        out.filter(|out| out.parts.is_of(start))
    }

    fn has_all_parts(&self, name: &str) -> bool {
        let out = self.begun(name);
        let out = out.map_or(0, |out| out.parts.nodes.len());
        let all = self.copies.parts_of(name);
        let givers = self.givers_of(name).len();
        givers > 0 && out + givers >= all.unwrap_or(self.copiers().len())
    }

    /// Whether nodes keep parts of one in the run folder that was put together when nothing told how many there are.
    fn is_joined(&self, known: &KnownCheckpoint, failed: &[String]) -> bool {
        let several = self.copiers().len() > 1;
        several
            && known.parts.unconfirmed
            && self.begun(&known.name).is_some()
            && !failed.contains(&known.name)
            && !self.givers_of(&known.name).is_empty()
    }

    /// The agents that keep a part of it which the run folder has not. What has no step is written again and
    /// again: there the nodes have the newer version.
    pub(super) fn givers_of(&self, name: &str) -> Vec<AgentId> {
        let out = self.begun(name);
        let is_out = |agent: &AgentId| {
            let node = self.hellos.get(agent).map(|hello| &hello.node);
            out.is_some_and(|out| node.is_some_and(|node| out.parts.nodes.contains(node)))
        };
        let mut keepers = self.keepers_of(name);
        keepers.retain(|agent| !is_out(agent));
        keepers
    }

    /// Before a start resumes from this one: the training writes newer ones again. Parts of those that are nowhere
    /// whole stay on the nodes until one of them is: a node that is away may have what they lack.
    pub(super) fn pass_over_newer(&mut self, resumed: &KnownCheckpoint, effects: &mut Vec<Effect>) {
        let series = folder::series(&resumed.name);
        let age = resumed.age();
        let from = age.position();
        let is_part = |name: &&String| {
            folder::series(name) == series
                && Position::of(name).as_ref() > from
                && self.copies.parts_of(name).is_some()
                && !self.has_all_parts(name)
        };
        let parts = self.kept.keys().filter(|_| self.copiers().len() > 1);
        let parts: Vec<String> = parts.filter(is_part).cloned().collect();
        for name in parts {
            self.kept.remove(&name);
            self.passed_over.insert(name);
        }
        let mut lacking = self.out.passed_over_for(resumed);
        lacking.retain(|name| !self.has_all_parts(name));
        for name in &lacking {
            self.out.pass_over(name);
        }
        if !lacking.is_empty() {
            effects.push(Effect::PassOver(lacking));
        }
    }

    /// What was passed over goes once a newer one is whole, but for what the training has written again.
    pub(super) fn forget_passed_over(&mut self, effects: &mut Vec<Effect>) {
        let passed_over = std::mem::take(&mut self.passed_over).into_iter();
        let (old, left) = passed_over.partition(|name| self.out.outdo(name));
        self.passed_over = left;
        let old: BTreeSet<String> = old;
        effects.extend(
            old.into_iter()
                .map(|name| Effect::Send(Order::Forget { name })),
        );
    }
}
