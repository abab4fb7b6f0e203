//! Checkpoints on their way out, whatever the phase.

use super::{ConductorState, Draining, Effect, NotOut, Out, Phase, Stage, Unfinished};
use crate::conductor::copies::Next;
use crate::protocol::{AgentId, Order};
use folder::{Event, Parts};
use model::Timestamp;
use std::collections::BTreeSet;

impl ConductorState {
    /// These lack so many parts.
    pub(super) fn lack(&mut self, lacking: Vec<(String, usize)>, effects: &mut Vec<Effect>) {
        for (name, lacks) in &lacking {
            self.out.lacks(name, *lacks);
        }
        effects.extend((!lacking.is_empty()).then_some(Effect::Lack(lacking)));
    }

    /// Nothing else changes the manifest while it is put together: what was heard meanwhile is written down after it.
    fn ask_again_what_lacks(&mut self, name: &str, effects: &mut Vec<Effect>) -> Option<usize> {
        let lacks = self.copies.lacks_more(name)?;
        self.lack(vec![(name.to_owned(), lacks)], effects);
        Some(lacks)
    }

    pub(super) fn published(
        &mut self,
        name: &str,
        result: Result<Out, NotOut>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        let Out { mut known, took_ms } = match result {
            Ok(out) => out,
            Err(why) => {
                self.copies.not_published(name, now);
                self.ask_again_what_lacks(name, effects);
                return self.is_not_out(name.to_owned(), why, effects);
            }
        };
        self.copies.published(name, now);
        self.copies.is_saved(name, known.parts.clone());
        // Nodes may have begun to write since it was decided how many parts it is to have.
        if let Some(lacks) = self.ask_again_what_lacks(name, effects) {
            known.parts.lacks = lacks;
        }
        let lacks = known.parts.lacks > 0;
        // Where nothing tells that others had a part at all, it may be whole: it is progress.
        let is_half = lacks && !known.parts.unconfirmed;
        let again = !is_half && !self.progress.saved(&known, &self.out);
        self.out.publish(known.clone());
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
        if lacks {
            let text = lacking(&name, &known.parts);
            effects.push(Effect::Record(Event::Note { text }));
            if is_half {
                return;
            }
        } else {
            if !self.facts.keep_all {
                self.give_up_older(effects);
            }
            self.forget_passed_over(effects);
        }
        let belong_together = self.siblings.saved(&name);
        effects.push(Effect::Record(Event::CheckpointOut {
            name,
            step: known.step,
            bytes: known.bytes.unwrap_or(0),
            took_ms,
            proven: known.proven,
            written: known.written,
            again,
        }));
        effects.extend(belong_together.map(|text| Effect::Record(Event::Note { text })));
    }

    /// Where only the newest are kept, one that is older than what is saved needs no further try.
    fn give_up_older(&mut self, effects: &mut Vec<Effect>) {
        let names: Vec<String> = self.not_out.keys().cloned().collect();
        for name in names {
            if self.out.outdo(&name) && self.copies.forget(&name) {
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
        let mut not_out = self.not_out.iter();
        not_out.any(|(name, not_out)| not_out.disk && !self.out.have_as_new(name))
    }

    /// Once for each checkpoint: another node may have it whole, by a marker that counts for all.
    pub(super) fn say_unfinished(&mut self, effects: &mut Vec<Effect>) {
        let several = self.copies.copiers().len() > 1;
        for ((name, agent), Unfinished { why, .. }) in std::mem::take(&mut self.unfinished) {
            if self.copies.is_put_together(&name) {
                continue;
            }
            let why = if several {
                format!("{} has a part of it, and {why}", self.node_of(agent))
            } else {
                why
            };
            effects.push(Effect::Record(Event::CheckpointNotOut { name, why }));
        }
    }

    /// What is not copied, and which nodes have not given their parts; in words.
    pub(super) fn unanswered(&self) -> Option<String> {
        let shown = |(name, agents): (&str, Vec<AgentId>)| {
            let nodes: Vec<String> = agents.iter().map(|agent| self.node_of(*agent)).collect();
            if nodes.is_empty() {
                name.to_owned()
            } else {
                format!("{name} (no part of {} came)", nodes.join(", "))
            }
        };
        let all: Vec<String> = self.copies.unanswered().into_iter().map(shown).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    pub(super) fn copy_on(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let hurry = matches!(self.phase, Phase::Draining(_));
        if hurry && let Some(name) = self.copies.overtaken(|name| self.copy_progress.left(name)) {
            effects.push(Effect::Send(Order::BreakOff { name }));
        }
        let last = matches!(&self.phase, Phase::Draining(Draining { stage: Stage::Last, waiting, .. }) if waiting.is_empty());
        while let Some(next) = self.copies.next(hurry, last, now) {
            match next {
                Next::Ask { name, from } => {
                    effects.push(Effect::Send(Order::Copy { name, from }));
                }
                Next::Publish {
                    name,
                    parts,
                    merge,
                    asked,
                } => {
                    effects.push(Effect::Publish {
                        name,
                        parts,
                        merge,
                        asked,
                    });
                }
                Next::Discard(parts) => {
                    if !parts.is_empty() {
                        effects.push(Effect::Discard(parts));
                    }
                }
                Next::StayBeside { name, nodes, saved } => {
                    let why = format!(
                        "its new version has the part of {} only, and the saved one has those of {saved} nodes: that one stays until the others come",
                        nodes.join(", ")
                    );
                    self.is_not_out(name, NotOut { why, disk: false }, effects);
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

    /// What only the nodes have of a training that is done, and how to fetch it; in words.
    pub(super) fn left_on_nodes(&self) -> Option<String> {
        // Of an older one than one that is saved nothing is lost.
        let is_newest = |name: &&String| !self.out.have_as_new(name);
        let names: Vec<&str> = self
            .not_out
            .keys()
            .filter(is_newest)
            .map(String::as_str)
            .collect();
        let command = self.fetch_command(&names)?;
        let is_disk = |name: &&str| self.not_out.get(*name).is_some_and(|not_out| not_out.disk);
        let is_refused = names.iter().all(is_disk);
        let (are, them) = match names[..] {
            [_] => ("is not saved and stays", "it"),
            _ => ("are not saved and stay", "them"),
        };
        let names = names.join(", ");
        Some(if is_refused {
            format!(
                "{names} {are} on the node; yard requeue saves {them} where the run folder takes {them} again, or fetch {them}: {command}"
            )
        } else {
            format!("{names} {are} on the node; fetch {them}: {command}")
        })
    }

    /// What of that which nodes had not finished may be the newest checkpoint all the same, and how to fetch it; in
    /// words.
    pub(super) fn may_be_newest(&self) -> Option<String> {
        let unfinished = self.unfinished.iter();
        let maybe = unfinished.filter(|((name, _), it)| {
            let is_kept_anew = folder::step_of(name).is_some() && self.copies.is_put_together(name);
            it.may_be_whole
                && !folder::is_of_data(name)
                && !is_kept_anew
                && !self.out.have_as_new(name)
        });
        let names: BTreeSet<&str> = maybe.map(|((name, _), _)| name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let command = self.fetch_command(&names)?;
        let (stays, it) = match names[..] {
            [_] => ("stays", "it"),
            _ => ("stay", "them"),
        };
        Some(format!(
            "{} may be complete and {stays} on the node; fetch {it}: {command}; yard clean --force removes {it} there",
            names.join(", ")
        ))
    }

    /// How to fetch these from the nodes; none where there is nothing to fetch.
    fn fetch_command(&self, names: &[&str]) -> Option<String> {
        let first = names.first()?;
        let copiers = self.copies.copiers().iter();
        let nodes: Vec<String> = copiers.map(|agent| self.node_of(*agent)).collect();
        // All of them are in one folder.
        let from = match names {
            [_] => self.facts.node_folder.join(first).display().to_string(),
            _ => format!("{}/", self.facts.node_folder.display()),
        };
        // Of several nodes each may have a part.
        let (node, each) = match &nodes[..] {
            [node] => (node.as_str(), String::new()),
            _ => ("NODE", format!(", of each of {}", nodes.join(", "))),
        };
        // No name of a pretended node leads anywhere.
        Some(if self.facts.on_this_machine {
            format!("cp -r {from} FOLDER")
        } else {
            format!("rsync -a {node}:{from} FOLDER{each}")
        })
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

/// What is said of a checkpoint that is copied, and not all of it.
fn lacking(name: &str, parts: &Parts) -> String {
    let least = parts.nodes.len() + parts.lacks;
    let because = if parts.unconfirmed {
        format!("nothing tells whether all {least} nodes had one")
    } else {
        format!("others of this run have parts of {least} nodes")
    };
    format!(
        "checkpoint {name} has the part of {} only, and {because}: it is kept, and resumed from only where no other has all parts",
        parts.nodes.join(", ")
    )
}
