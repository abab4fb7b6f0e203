//! Before a start resumes: a newer checkpoint than the run folder has may stand in parts on the nodes, where an
//! earlier start left it. It is put together first, since no node has all of it.

use super::{ConductorState, Effect, Phase};
use crate::protocol::{AgentId, Order};
use folder::{Candidate, Event, KnownCheckpoint, Position};

impl ConductorState {
    /// Puts the newest together that is newer than what is out, one after the other until one is, and goes on
    /// to resume.
    pub(super) fn assemble(&mut self, mut failed: Vec<String>, effects: &mut Vec<Effect>) {
        let kept = self.kept_in_parts();
        let kept = kept.into_iter().filter(|one| !failed.contains(&one.name));
        let best = self.out.candidates(kept.collect()).into_iter().next();
        let Some(Candidate { known, kept: true }) = best else {
            self.candidates = self.out.candidates(self.kept_here());
            return self.restore(0, effects);
        };
        let text = format!(
            "checkpoint {} is put together from what the nodes kept of an earlier start",
            known.name
        );
        effects.push(Effect::Record(Event::Note { text }));
        let is_begun = self.out.joinable(&known.name).is_some();
        for agent in self.givers_of(&known.name) {
            let name = known.name.clone();
            if is_begun {
                self.copies.complete_late(agent, name);
            } else {
                self.copies.complete_earlier(agent, name);
            }
        }
        failed.push(known.name);
        self.phase = Phase::Assembling { tried: failed };
    }

    /// Goes on once it is saved, or could not be.
    pub(super) fn assemble_on(&mut self, effects: &mut Vec<Effect>) {
        if let Phase::Assembling { tried } = &mut self.phase
            && self.copies.is_idle()
        {
            let tried = std::mem::take(tried);
            self.assemble(tried, effects);
        }
    }

    /// What the disks of the job keep of earlier starts, where they have all parts that the run folder has not.
    /// What one disk alone has needs no putting together.
    fn kept_in_parts(&self) -> Vec<KnownCheckpoint> {
        let names = self.kept.keys();
        let names = names.filter(|name| self.copiers().len() > 1 && self.has_all_parts(name));
        let known = names.map(|name| {
            let kept = self.known_kept(name);
            let out = self.out.joinable(name).and_then(|out| out.bytes);
            let bytes = kept.bytes.map(|bytes| bytes + out.unwrap_or(0));
            KnownCheckpoint { bytes, ..kept }
        });
        known.collect()
    }

    fn has_all_parts(&self, name: &str) -> bool {
        let out = self.out.joinable(name);
        let out = out.map_or(0, |out| out.parts.nodes.len());
        let all = self.copies.parts_of(name);
        let givers = self.givers_of(name).len();
        givers > 0 && out + givers >= all.unwrap_or(self.copiers().len())
    }

    /// The agents that keep a part of it which the run folder has not. What has no step is written again and
    /// again: there the nodes have the newer version.
    fn givers_of(&self, name: &str) -> Vec<AgentId> {
        let out = self.out.joinable(name);
        let is_out = |agent: &AgentId| {
            let node = self.hellos.get(agent).map(|hello| &hello.node);
            out.is_some_and(|out| node.is_some_and(|node| out.parts.nodes.contains(node)))
        };
        let mut keepers = self.keepers_of(name);
        keepers.retain(|agent| !is_out(agent));
        keepers
    }

    /// Before a start resumes from this one: the training writes newer ones again, and what is of two starts must
    /// not be put together. Parts of those that are nowhere whole go from the nodes.
    pub(super) fn pass_over_newer(&mut self, resumed: &KnownCheckpoint, effects: &mut Vec<Effect>) {
        let series = folder::series(&resumed.name);
        let from = Position::of(&resumed.name);
        let is_part = |name: &&String| {
            folder::series(name) == series
                && Position::of(name) > from
                && self.copies.parts_of(name).is_some()
                && !self.has_all_parts(name)
        };
        let parts = self.kept.keys().filter(|_| self.copiers().len() > 1);
        let parts: Vec<String> = parts.filter(is_part).cloned().collect();
        for name in parts {
            self.kept.remove(&name);
            effects.push(Effect::Send(Order::Forget { name }));
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
}
