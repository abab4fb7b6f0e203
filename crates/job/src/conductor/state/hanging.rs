//! Ranks that hang: first every agent says where its ranks stand, then what the run file wants is
//! done.

use super::{ConductorState, Effect, Phase, Why, later};
use crate::protocol::{AgentId, Order};
use crate::rank_stack::{RankStack, describe};
use folder::Event;
use model::{Seconds, Timestamp};
use std::collections::BTreeSet;
use std::time::Duration;
use train::{OnHang, say_seconds};

/// How long agents may take to say where ranks stand.
const LOOKS: Duration = Duration::from_secs(15);
/// How long ranks that were killed may take to end: one that waits for a disk can't be killed.
const ENDS: Duration = Duration::from_secs(20);

/// What is known of ranks that hang.
#[derive(Debug)]
pub(super) enum Hang {
    /// Agents are asked where their ranks stand.
    Looking {
        quiet: Seconds,
        until: Timestamp,
        waiting: BTreeSet<AgentId>,
        stacks: Vec<RankStack>,
    },
    /// The ranks were killed, for this reason.
    Killed { why: Why, until: Timestamp },
}

impl Hang {
    pub(super) fn until(&self) -> Timestamp {
        match self {
            Hang::Looking { until, .. } | Hang::Killed { until, .. } => *until,
        }
    }
}

/// The part of where ranks stand that tells why they hang: who is behind or does not answer; where that is no
/// one, the first of all.
fn in_short(stand: &str) -> impl Iterator<Item = &str> {
    const SHOWN: usize = 3;
    let tells = |part: &&str| {
        [" behind: ", " not answer"]
            .iter()
            .any(|word| part.contains(word))
    };
    let parts = stand.split("; ").filter(|part| !part.is_empty());
    let shown = if parts.clone().take(1).any(|part| tells(&part)) {
        1
    } else {
        SHOWN
    };
    parts.take(shown)
}

impl ConductorState {
    /// The ranks show no sign of life.
    pub(super) fn quiet(&mut self, quiet: Duration, now: Timestamp, effects: &mut Vec<Effect>) {
        if !matches!(self.phase, Phase::Running) || self.hang.is_some() {
            return;
        }
        effects.push(Effect::Send(Order::Stacks));
        self.hang = Some(Hang::Looking {
            quiet: Seconds(quiet.as_secs()),
            until: later(now, LOOKS),
            waiting: self.hellos.keys().copied().collect(),
            stacks: Vec::new(),
        });
    }

    pub(super) fn stack(&mut self, stack: RankStack) {
        if let Some(Hang::Looking { stacks, .. }) = &mut self.hang {
            stacks.push(stack);
        }
    }

    pub(super) fn looked(&mut self, agent: AgentId) {
        if let Some(Hang::Looking { waiting, .. }) = &mut self.hang {
            waiting.remove(&agent);
        }
    }

    /// What the answers, or time, bring about.
    pub(super) fn hang_on(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        if !matches!(self.phase, Phase::Running) {
            self.hang = None;
            return;
        }
        match self.hang.take() {
            Some(Hang::Looking {
                quiet,
                until,
                waiting,
                stacks,
            }) if waiting.is_empty() || now >= until => {
                let node = |agent| self.hellos.get(agent).map(|hello| hello.node.clone());
                let silent: Vec<String> = waiting.iter().filter_map(node).collect();
                self.hangs(quiet, &describe(&stacks, &silent), now, effects);
            }
            // They can't be ended here; the cluster ends what is left of the job.
            Some(Hang::Killed { why, until }) if now >= until => {
                effects.push(Effect::AbortRanks);
                self.ranks_ended(why, false, now, effects);
            }
            still => self.hang = still,
        }
    }

    fn hangs(&mut self, quiet: Seconds, stand: &str, now: Timestamp, effects: &mut Vec<Effect>) {
        let length = say_seconds(quiet);
        let mut seen =
            format!("the ranks hang: no output, no progress and no GPU at work for {length}");
        if !stand.is_empty() {
            seen.push_str("; ");
            seen.push_str(stand);
        }
        effects.push(Effect::Record(Event::Hung { cause: seen }));
        // In short: the rest was just said.
        let mut cause = format!("the ranks hung for {length}");
        for part in in_short(stand) {
            cause.push_str("; ");
            cause.push_str(part);
        }
        let why = match self.facts.on_hang {
            OnHang::Log => return,
            OnHang::Restart => Why::Lost { cause },
            OnHang::End => Why::Failed { status: 1, cause },
        };
        self.hung = true;
        effects.push(Effect::Send(Order::Kill));
        self.hang = Some(Hang::Killed {
            why,
            until: later(now, ENDS),
        });
    }

    /// Why the ranks ended, where they were killed because they hung.
    pub(super) fn why_killed(&mut self) -> Option<Why> {
        match self.hang.take() {
            Some(Hang::Killed { why, .. }) => Some(why),
            Some(Hang::Looking { .. }) | None => None,
        }
    }
}
