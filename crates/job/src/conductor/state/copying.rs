//! Checkpoints on their way out, whatever the phase.

use super::{ConductorState, Draining, Effect, NotOut, Out, Phase, Stage};
use crate::conductor::copies::Next;
use crate::protocol::Order;
use folder::{Event, is_newer};
use model::Timestamp;

impl ConductorState {
    pub(super) fn published(
        &mut self,
        name: &str,
        result: Result<Out, NotOut>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        let out = match result {
            Ok(out) => out,
            Err(why) => {
                self.copies.not_published(name, now);
                return self.is_not_out(name.to_owned(), why, effects);
            }
        };
        self.copies.published(name, now);
        self.newest_out = self.newest_out.max(Some(out.step));
        let resumed = self.resumed.as_ref().and_then(|known| known.step);
        self.progress |= is_newer(out.step, resumed);
        if let Phase::Draining(Draining {
            stage: Stage::Saving { asked },
            ..
        }) = &mut self.phase
        {
            *asked = false;
        }
        self.not_out.remove(name);
        // The agents have kept it until now.
        effects.push(Effect::Send(Order::Out {
            name: name.to_owned(),
        }));
        let name = name.to_owned();
        if !self.facts.keep_all {
            self.give_up_older(out.step, effects);
        }
        let Out {
            step,
            bytes,
            took_ms,
            proven,
        } = out;
        effects.push(Effect::Record(Event::CheckpointOut {
            name,
            step,
            bytes,
            took_ms,
            proven,
        }));
    }

    /// Where only the newest are kept, one that is older than what is saved needs no further try.
    fn give_up_older(&mut self, out: Option<u64>, effects: &mut Vec<Effect>) {
        let names: Vec<String> = self.not_out.keys().cloned().collect();
        for name in names {
            if out.is_some() && folder::step_of(&name) < out && self.copies.forget(&name) {
                self.not_out.remove(&name);
                effects.push(Effect::Send(Order::Forget { name }));
            }
        }
    }

    /// Said once, and again when it is for another reason.
    pub(super) fn is_not_out(&mut self, name: String, why: NotOut, effects: &mut Vec<Effect>) {
        let before = self.not_out.insert(name.clone(), why.clone());
        // How much is free changes; that a disk refuses it does not.
        let is_known = before.is_some_and(|before| before == why || (before.disk && why.disk));
        if !is_known {
            let why = why.why;
            effects.push(Effect::Record(Event::CheckpointNotOut { name, why }));
        }
    }

    /// Whether what was done last is on its node only, because a disk refuses it for a while. An older
    /// checkpoint than one that is out is not worth waiting for.
    pub(super) fn disk_refuses(&self) -> bool {
        self.not_out.iter().any(|(name, not_out)| {
            let step = folder::step_of(name);
            let is_newest = self
                .newest_out
                .is_none_or(|newest| step.is_some() && step > newest);
            not_out.disk && is_newest
        })
    }

    pub(super) fn copy_on(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let hurry = matches!(self.phase, Phase::Draining(_));
        if hurry && let Some(name) = self.copies.overtaken(|name| self.copy_progress.left(name)) {
            effects.push(Effect::Send(Order::BreakOff { name }));
        }
        while let Some(next) = self.copies.next(hurry, now) {
            match next {
                Next::Ask { name, from } => {
                    effects.push(Effect::Send(Order::Copy { name, from }));
                }
                Next::Publish { name, parts, merge } => {
                    effects.push(Effect::Publish { name, parts, merge });
                }
                Next::Discard(parts) => {
                    if !parts.is_empty() {
                        effects.push(Effect::Discard(parts));
                    }
                }
                Next::GiveUp { name, why, parts } => {
                    if !parts.is_empty() {
                        effects.push(Effect::Discard(parts));
                    }
                    self.is_not_out(name, why, effects);
                }
            }
        }
    }

    /// What only the nodes have, in words.
    pub(super) fn left_behind(&self) -> String {
        let names: Vec<&str> = self.not_out.keys().map(String::as_str).collect();
        format!(
            "{} could not be copied and stays on the node in {:?} until the run's next start there",
            names.join(", "),
            self.facts.node_folder
        )
    }
}
