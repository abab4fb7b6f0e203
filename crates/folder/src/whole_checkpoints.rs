//! Which of a run's whole checkpoints is the newest, in which order they are resumed from, and which are of no
//! use any more: one judgement for all who ask, be it a conductor, an agent on its own, or who looks after a
//! start that was lost. Pure.

use crate::checkpoint_name::{Position, series};
use crate::checkpoint_unit::{CheckpointUnit, checkpoint_units, unit_series};
use crate::recency::goes_by_number;
use crate::{Age, Manifest, Parts, newest_first, step_of};
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a whole checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCheckpoint {
    /// Its name.
    pub name: String,
    /// The step in its name.
    pub step: Option<u64>,
    /// When the program wrote it, where that is known.
    pub written: Option<Timestamp>,
    /// Its size, where that is known.
    pub bytes: Option<u64>,
    /// Whether its completeness was seen.
    pub proven: bool,
    /// What tells its bytes from others, where they were read.
    pub digest: Option<u64>,
    /// Of which nodes' parts it consists.
    pub parts: Parts,
}

impl KnownCheckpoint {
    /// One of which only the name is known.
    #[must_use]
    pub fn named(name: &str) -> KnownCheckpoint {
        KnownCheckpoint {
            name: name.to_owned(),
            step: step_of(name),
            written: None,
            bytes: None,
            proven: false,
            digest: None,
            parts: Parts::default(),
        }
    }

    /// What tells whether another one is newer.
    #[must_use]
    pub fn age(&self) -> Age {
        let age = Age::new(&self.name, self.written, self.bytes);
        if self.step.is_some() {
            age
        } else {
            age.without_step()
        }
    }

    /// Whether others may go because of it: it is known how many parts it has.
    fn is_confirmed(&self) -> bool {
        !self.parts.may_grow()
    }
}

impl Manifest {
    /// What decides between this checkpoint and others.
    #[must_use]
    pub fn known(&self) -> KnownCheckpoint {
        KnownCheckpoint {
            name: self.name.clone(),
            // One of an earlier version may have taken another number for it.
            step: self.step.and_then(|_| step_of(&self.name)),
            // Of one that was saved before that was written down, the copy's time is all that is known.
            written: Some(self.contents.written.unwrap_or(self.at)),
            bytes: Some(self.bytes()),
            proven: self.proven,
            digest: Some(self.contents.digest()),
            parts: self.parts.clone(),
        }
    }
}

/// What a start may resume from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The checkpoint.
    pub known: KnownCheckpoint,
    /// Whether it is taken from what the node kept, and not from the run folder.
    pub kept: bool,
    /// What goes with it, such as the optimizer of its step.
    pub with: Vec<Companion>,
}

/// What goes with a checkpoint, and is resumed from together with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Companion {
    /// Its name.
    pub name: String,
    /// Whether it is taken from what the node kept, and not from the run folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

impl Candidate {
    /// One by itself.
    #[must_use]
    pub fn new(known: KnownCheckpoint, kept: bool) -> Candidate {
        Candidate {
            known,
            kept,
            with: Vec::new(),
        }
    }

    /// All that is resumed from together.
    pub fn members(&self) -> impl Iterator<Item = Companion> {
        let head = Companion {
            name: self.known.name.clone(),
            kept: self.kept,
        };
        std::iter::once(head).chain(self.with.iter().cloned())
    }

    fn of(unit: CheckpointUnit<Candidate>) -> Candidate {
        let with = unit.sides.into_iter().map(|side| Companion {
            name: side.known.name,
            kept: side.kept,
        });
        Candidate {
            with: with.collect(),
            ..unit.head
        }
    }
}

type Unit<'a> = CheckpointUnit<&'a KnownCheckpoint>;

/// What tells whether another one is newer: all of it was written when the last of it was, and has the bytes of all.
fn age_of(unit: &Unit) -> Age {
    let whole = KnownCheckpoint {
        written: unit.members().filter_map(|known| known.written).max(),
        bytes: unit.members().map(|known| known.bytes).sum(),
        ..unit.head.clone()
    };
    whole.age()
}

/// Of each of these whether it lacks something that the one before it has beside it, such as an optimizer that is still
/// to be saved.
fn lack_companions(units: &[Unit]) -> Vec<bool> {
    let mut families: BTreeMap<String, Vec<(Position, usize)>> = BTreeMap::new();
    for (at, unit) in units.iter().enumerate() {
        let name = &unit.head.name;
        if let (Some(family), Some(position)) = (unit_series(name), Position::of(name)) {
            families.entry(family).or_default().push((position, at));
        }
    }
    let mut lacking = vec![false; units.len()];
    for same in families.values_mut() {
        same.sort();
        for (own, at) in same.iter() {
            let earlier = same.partition_point(|(position, _)| position < own);
            if let Some((_, before)) = earlier.checked_sub(1).and_then(|last| same.get(last)) {
                let mine: BTreeSet<String> = series_of(&units[*at]).collect();
                lacking[*at] = series_of(&units[*before]).any(|theirs| !mine.contains(&theirs));
            }
        }
    }
    lacking
}

fn series_of(unit: &Unit) -> impl Iterator<Item = String> {
    unit.members().map(|known| series(&known.name))
}

/// The whole checkpoints of a run folder.
#[derive(Clone, Debug, Default)]
pub struct WholeCheckpoints {
    out: Vec<KnownCheckpoint>,
}

impl WholeCheckpoints {
    /// These.
    #[must_use]
    pub fn new(out: Vec<KnownCheckpoint>) -> WholeCheckpoints {
        WholeCheckpoints { out }
    }

    /// The one of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&KnownCheckpoint> {
        self.out.iter().find(|known| known.name == name)
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &KnownCheckpoint> {
        self.out.iter()
    }

    /// One was published; it takes the place of what had its name.
    pub fn publish(&mut self, known: KnownCheckpoint) {
        self.out.retain(|other| other.name != known.name);
        self.out.push(known);
    }

    /// That one can't be resumed from: it stands in no other's way.
    pub fn remove(&mut self, name: &str) {
        self.out.retain(|known| known.name != name);
    }

    /// Whether it lacks a part, by what is known of others of its series.
    fn lacks_a_part(&self, known: &KnownCheckpoint) -> bool {
        let parts = &known.parts;
        let mine = || series(&known.name);
        let has_more = |other: &KnownCheckpoint| {
            let theirs = &other.parts;
            theirs.of == parts.of && theirs.nodes.len() > parts.nodes.len()
        };
        parts.lacks > 0
            || (parts.unconfirmed
                && self.out.iter().any(|other| {
                    other.is_confirmed() && has_more(other) && series(&other.name) == mine()
                }))
    }

    /// What is one checkpoint of them, and whether it lacks a node's part or something that goes with it.
    fn units(&self) -> Vec<(Unit<'_>, bool)> {
        let units = checkpoint_units(self.out.iter().collect(), |known| &known.name);
        let lacking = lack_companions(&units).into_iter();
        let judged = units.into_iter().zip(lacking).map(|(unit, lacks)| {
            // A model of one start and an optimizer of another are no state that the training ever had.
            let starts = unit.members().filter_map(|known| known.parts.start);
            let is_mixed = starts.collect::<BTreeSet<_>>().len() > 1;
            let lacks = lacks || is_mixed || unit.members().any(|known| self.lacks_a_part(known));
            (unit, lacks)
        });
        judged.collect()
    }

    /// The names of those that lack nothing, neither a part nor what goes with them.
    fn whole_names(&self) -> BTreeSet<&str> {
        let whole = self.units().into_iter().filter(|(_, lacks)| !lacks);
        let members = whole.flat_map(|(unit, _)| unit.members().copied().collect::<Vec<_>>());
        members.map(|known| known.name.as_str()).collect()
    }

    /// Which lack parts and are newer than the one that a start resumes from: the training writes them again.
    #[must_use]
    pub fn passed_over_for(&self, resumed: &KnownCheckpoint) -> Vec<String> {
        let series = series(&resumed.name);
        let age = resumed.age();
        let from = age.position();
        let is = |known: &&KnownCheckpoint| {
            self.lacks_a_part(known)
                && !known.parts.passed_over
                && known.age().position() > from
                && crate::series(&known.name) == series
        };
        let names = self.out.iter().filter(is);
        names.map(|known| known.name.clone()).collect()
    }

    /// A start resumes from an older one than that.
    pub fn pass_over(&mut self, name: &str) {
        let named = self.out.iter_mut().filter(|known| known.name == name);
        named.for_each(|known| known.parts.passed_over = true);
    }

    /// The one of that name lacks so many parts.
    pub fn lacks(&mut self, name: &str, many: usize) {
        let named = self.out.iter_mut().filter(|known| known.name == name);
        named.for_each(|known| known.parts.lacks = many);
    }

    /// The one of that name to which late parts may belong.
    #[must_use]
    pub fn joinable(&self, name: &str) -> Option<&KnownCheckpoint> {
        self.get(name)
            .filter(|known| known.step.is_some() && !known.parts.passed_over)
    }

    /// What may be resumed from, the best first: what lacks no node's part before what does, the newest first,
    /// and of one step what the run folder has, which has hashes. `kept`: what the job's only disk keeps of
    /// earlier starts; of what has no step it keeps the newer.
    #[must_use]
    pub fn candidates(&self, kept: Vec<KnownCheckpoint>) -> Vec<Candidate> {
        let is_outdone = |out: &&KnownCheckpoint| {
            self.lacks_a_part(out) && kept.iter().any(|kept| kept.name == out.name)
        };
        let out = self.out.iter().filter(|out| !is_outdone(out));
        let out = out.map(|known| Candidate::new(known.clone(), false));
        let kept = kept.iter().map(|known| Candidate::new(known.clone(), true));
        let mut all: Vec<Candidate> = out.chain(kept).collect();
        all.sort_by_key(|candidate| candidate.kept != candidate.known.step.is_none());
        // Of a name that both have the one that is preferred is tried first.
        let (mut first, mut second): (Vec<Candidate>, Vec<Candidate>) = Default::default();
        for one in all {
            let is_there = first.iter().any(|there| there.known.name == one.known.name);
            let to = if is_there { &mut second } else { &mut first };
            to.push(one);
        }
        let first = checkpoint_units(first, |one| &one.known.name);
        let has_second = |unit: &&CheckpointUnit<Candidate>| {
            let has = |one: &Candidate| second.iter().any(|it| it.known.name == one.known.name);
            unit.members().any(has)
        };
        let instead = |one: Candidate| {
            let other = second.iter().find(|it| it.known.name == one.known.name);
            other.cloned().unwrap_or(one)
        };
        let seconds = first.iter().filter(has_second);
        let seconds = seconds.map(|unit| unit.clone().map(instead));
        let units: Vec<CheckpointUnit<Candidate>> = first.iter().cloned().chain(seconds).collect();
        let known: Vec<CheckpointUnit<KnownCheckpoint>> = units
            .iter()
            .map(|unit| unit.clone().map(|one| self.decides(one)))
            .collect();
        let known: Vec<Unit> = known.iter().map(CheckpointUnit::as_ref).collect();
        let judged = units.into_iter().zip(&known).zip(lack_companions(&known));
        let judged = judged.map(|((unit, known), lacks)| {
            let mut members = unit.members();
            let lacks = lacks || members.any(|one| self.lacks_a_part(&one.known));
            drop(members);
            (Candidate::of(unit), age_of(known), lacks)
        });
        let ordered = best_first(
            judged.collect(),
            |(_, age, _): &(Candidate, Age, bool)| age.clone(),
            |(.., lacks)| *lacks,
        );
        ordered
            .into_iter()
            .map(|(candidate, ..)| candidate)
            .collect()
    }

    /// What decides between a candidate and others: of one that a node keeps the bytes are those that the run folder
    /// has, and their hashes decide.
    fn decides(&self, candidate: Candidate) -> KnownCheckpoint {
        let Candidate { known, kept, .. } = candidate;
        let out = self.get(&known.name);
        let out = out.filter(|out| kept && known.step.is_some() && !self.lacks_a_part(out));
        out.cloned().unwrap_or(known)
    }

    /// When the program wrote the last that lacks nothing.
    #[must_use]
    pub fn last_written(&self) -> Option<Timestamp> {
        let names = self.whole_names();
        let whole = self.out.iter().filter(|known| names.contains(&*known.name));
        whole.filter_map(|known| known.written).max()
    }

    /// Whether a newer one than that is out and lacks nothing: then that one needs not be saved where only the
    /// newest are wanted. What has no step is outdone by none, and steps of other series count something else.
    #[must_use]
    pub fn outdo(&self, name: &str) -> bool {
        Position::of(name).is_some_and(|mine| self.furthest(name) > Some(mine))
    }

    /// Whether one that is as new is out and lacks nothing, its own name's counted.
    #[must_use]
    pub fn have_as_new(&self, name: &str) -> bool {
        Position::of(name).is_some_and(|mine| self.furthest(name) >= Some(mine))
    }

    /// The furthest of the series of that name, where its numbers tell.
    fn furthest(&self, name: &str) -> Option<Position> {
        let mine = series(name);
        let out = self.out.iter();
        let whole = self.whole_names();
        let same = out.filter(|known| {
            known.is_confirmed() && whole.contains(&*known.name) && series(&known.name) == mine
        });
        let ages: Vec<Age> = same.map(KnownCheckpoint::age).collect();
        let furthest = ages.iter().filter_map(|age| age.position().cloned()).max();
        furthest.filter(|_| goes_by_number(&ages))
    }

    /// Which may be removed where the `keep` newest are wanted, at least one; what is one checkpoint goes together. Of
    /// those that are proven the newest stays too, where there is one, else the one before the newest; of those of
    /// which it is known how many parts they have the newest; and what the program wrote last, whatever its name. One
    /// that lacks a part, or something that goes with it, does not count, and stays while no newer one lacks nothing:
    /// it may still come.
    #[must_use]
    pub fn superfluous(&self, keep: u32) -> Vec<String> {
        let ordered = newest_first(self.units(), |(unit, _)| age_of(unit));
        let whole = ordered.iter().filter(|(_, lacks)| !lacks);
        let whole = whole.map(|(unit, _)| unit);
        let all_are = |is: &dyn Fn(&KnownCheckpoint) -> bool| {
            whole
                .clone()
                .position(|unit| unit.members().all(|known| is(known)))
        };
        let proven = all_are(&|known| known.proven).or(Some(1));
        let confirmed = all_are(&KnownCheckpoint::is_confirmed);
        let written = |unit: &&Unit| unit.members().filter_map(|known| known.written).max();
        let last = whole.clone().filter_map(|unit| written(&unit)).max();
        let last = last.and_then(|at| whole.clone().position(|unit| written(&unit) == Some(at)));
        let keep = usize::try_from(keep.max(1)).unwrap_or(usize::MAX);
        let (mut names, mut seen) = (Vec::new(), 0);
        for (unit, lacks) in &ordered {
            let is_superfluous = if *lacks {
                seen > 0
            } else {
                seen += 1;
                let stays = [proven, confirmed, last].contains(&Some(seen - 1));
                seen > keep && !stays
            };
            if is_superfluous {
                names.extend(unit.members().map(|known| known.name.clone()));
            }
        }
        names
    }
}

/// The best to resume from first: what lacks no node's part before what does, and of each the newest first.
pub fn best_first<T>(
    all: Vec<T>,
    age: impl Fn(&T) -> Age,
    lacks_a_part: impl Fn(&T) -> bool,
) -> Vec<T> {
    let mut ordered = newest_first(all, age);
    ordered.sort_by_key(lacks_a_part);
    ordered
}

#[cfg(test)]
mod tests;
