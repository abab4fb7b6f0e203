//! Some of several agents are lost, with their nodes or alone: an event, and not the end of the
//! others.

use super::{ConductorState, Draining, Effect, Phase, Why, later};
use crate::protocol::AgentId;
use crate::srun_words::SrunLoss;
use folder::StopReason;
use model::Timestamp;
use std::collections::BTreeSet;
use std::time::Duration;

/// An agent that says nothing for so long is lost: many times what lies between two of its heartbeats.
const SILENCE: Duration = Duration::from_secs(90);
/// A tick that comes so much later than it was due: this process, or the machine, stood still, and
/// what the agents said meanwhile was not read yet.
const STOOD_STILL: Duration = Duration::from_secs(5);

impl ConductorState {
    /// srun says that agents ended badly.
    pub(super) fn srun_said(&mut self, loss: SrunLoss, now: Timestamp, effects: &mut Vec<Effect>) {
        match loss {
            SrunLoss::Tasks { tasks, nodes, how } => {
                let agents: BTreeSet<AgentId> = tasks.into_iter().collect();
                let cause = format!("the agent on {nodes} was lost: {how}");
                self.lose(&agents, cause, now, effects);
            }
            SrunLoss::Node(node) => {
                let agents = self.agents_on(std::slice::from_ref(&node));
                self.lose(&agents, format!("node {node} was lost"), now, effects);
            }
        }
    }

    /// Agents that were not heard of for long.
    pub(super) fn silent(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let Some(due) = self.silence_due().filter(|due| now >= *due) else {
            return;
        };
        if now > later(due, STOOD_STILL) {
            for heard in self.heard.values_mut() {
                *heard = now;
            }
            return;
        }
        let is_silent = |heard: &Timestamp| later(*heard, SILENCE) <= now;
        let silent = self.heard.iter().filter(|(_, heard)| is_silent(heard));
        let agents: BTreeSet<AgentId> = silent.map(|(agent, _)| *agent).collect();
        let nodes: Vec<&str> = agents
            .iter()
            .filter_map(|agent| Some(self.hellos.get(agent)?.node.as_str()))
            .collect();
        let cause = format!(
            "the agent on {} was not heard of for {} s",
            nodes.join(", "),
            SILENCE.as_secs()
        );
        self.lose(&agents, cause, now, effects);
    }

    /// When the next agent is lost if it says nothing. That of one node's only agent is seen by the end
    /// of its step.
    pub(super) fn silence_due(&self) -> Option<Timestamp> {
        let oldest = self.heard.values().min().filter(|_| self.facts.nodes > 1);
        let matters = matches!(self.phase, Phase::Running | Phase::Draining(_));
        oldest
            .filter(|_| matters)
            .map(|oldest| later(*oldest, SILENCE))
    }

    /// The job is ended because these nodes are down. What the others have is saved.
    pub(super) fn nodes_lost(&mut self, nodes: &[String], effects: &mut Vec<Effect>) {
        self.record_loss(&say_lost(nodes), effects);
        if let Phase::Draining(Draining { why, .. }) | Phase::Closing { why, .. } = &mut self.phase
        {
            *why = Why::Terminated(Some(StopReason::NodeLost));
        }
        self.go_on_without(&self.agents_on(nodes));
    }

    fn agents_on(&self, nodes: &[String]) -> BTreeSet<AgentId> {
        let own = self.hellos.iter();
        let own = own.filter(|(_, hello)| nodes.contains(&hello.node));
        own.map(|(agent, _)| *agent).collect()
    }

    fn lose(
        &mut self,
        agents: &BTreeSet<AgentId>,
        cause: String,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        // Where all are lost their step ends, which says it.
        if agents.len() >= self.facts.nodes as usize {
            return;
        }
        let is_ended = self.unexplained.is_some();
        match &self.phase {
            // One that ended by itself has said why, or the end of its step does.
            Phase::Gathering | Phase::ComingBack { .. } | Phase::Leaving { .. } | Phase::Over => {}
            Phase::Draining(Draining { why, .. }) if is_ended || is_termination(why) => {
                self.go_on_without(agents);
            }
            Phase::Closing { .. } | Phase::Rescuing(_) => self.go_on_without(agents),
            Phase::Staging { .. } | Phase::Assembling { .. } | Phase::Restoring { .. } => {
                self.go_on_without(agents);
                self.abort(Why::Lost { cause }, now, effects);
            }
            Phase::Running | Phase::Draining(_) => {
                self.agents_lost(cause, now, effects);
            }
        }
    }

    /// Waits for nothing of theirs any more.
    fn go_on_without(&mut self, agents: &BTreeSet<AgentId>) {
        self.heard.retain(|agent, _| !agents.contains(agent));
        self.hellos.retain(|agent, _| !agents.contains(agent));
        self.copies.lose(agents);
        for agent in agents {
            self.copy_progress.forget(*agent);
        }
        self.gone.extend(agents);
        if let Phase::Draining(Draining { waiting, .. }) | Phase::Closing { waiting, .. } =
            &mut self.phase
        {
            waiting.retain(|agent| !agents.contains(agent));
        }
    }
}

/// `node n1 was lost`
pub(crate) fn say_lost(nodes: &[String]) -> String {
    let names = nodes.join(", ");
    if nodes.len() == 1 {
        format!("node {names} was lost")
    } else {
        format!("nodes {names} were lost")
    }
}

fn is_termination(why: &Why) -> bool {
    matches!(why, Why::Terminated(_))
}
