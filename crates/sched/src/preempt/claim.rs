//! In a pass: room for a job that finds none, once others lose their places.

use super::choose::choose;
use super::rules::{self, Claimant};
use super::soon::SoonFree;
use crate::fault::{self, Fault};
use crate::kinds::Choice;
use crate::pass::Pass;
use crate::planner::Timeline;
use crate::possible_start::{Attempt, PossibleStart};
use crate::promise::Promises;
use crate::reserved::Kind;
use crate::{Action, State};
use cluster_file::PreemptMode;
use model::{JobId, JobState, PendingReason, Seconds, Timestamp};
use resources::{Free, PartId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What a pass came to know of preemption.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// Room that jobs wait for until those that had it are gone.
    taken: Vec<PossibleStart>,
    /// What found no room, by the shortest limit.
    failed: HashMap<(usize, Claimant, u32, Kind), i64>,
    /// Whose places may be taken, by who takes them, and of which version of the state that is.
    candidates: HashMap<Taker, (u64, Arc<[Victim]>)>,
}

/// Who takes the place of others: jobs that are alike in that take those of the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Taker {
    claimant: Claimant,
    partition: PartId,
    /// The number of the reservation that takes back what it lends.
    lender: Option<usize>,
}

/// A running job, or the components of one, that may lose its place.
#[derive(Clone, Debug)]
struct Victim {
    jobs: Vec<JobId>,
    mode: PreemptMode,
    /// How long it may end by itself, where that is not up to its partition or QOS.
    grace: Option<Seconds>,
}

impl State {
    /// Takes as many places as a job needs that finds no room, where limits would let it have them.
    /// Those that are suspended for it give back their CPUs at once.
    ///
    /// The error is the limit that would not.
    pub(crate) fn preempt_for(
        &mut self,
        pass: &mut Pass,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Result<Vec<Action>, PendingReason> {
        let Attempt {
            job,
            user,
            choice,
            span,
            later: _,
        } = attempt;
        let Some(taker) = self.taker(attempt) else {
            return Ok(Vec::new());
        };
        let candidates = match pass.claims.candidates.get(&taker) {
            Some((version, known)) if *version == self.version => Arc::clone(known),
            _ => {
                let found: Arc<[Victim]> = self.candidates(&taker, *job, choice, now).into();
                let known = (self.version, Arc::clone(&found));
                pass.claims.candidates.insert(taker, known);
                found
            }
        };
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let length = span.length;
        let reserved = self.reserved_for(*job);
        let like = (attempt.need(), taker.claimant, *user, reserved.kind());
        let failed = pass.claims.failed.get(&like);
        let failed = failed.filter(|_| !fault::forgets());
        if failed.is_some_and(|shortest| *shortest <= length) {
            return Ok(Vec::new());
        }
        let soon = SoonFree::new(self, pass, &pass.claims.taken, length, now);
        let room = |victims: &[Victim]| {
            let mut view = Cow::Borrowed(&soon);
            for victim in victims {
                for id in &victim.jobs {
                    view.to_mut().lose(self, *id, victim.mode);
                }
            }
            view.place(self, attempt, &reserved, now)
        };
        let chosen = if room(&[]).is_some() {
            // Those that are being ended have room enough for it.
            Some(Vec::new())
        } else {
            choose(&candidates, |victims| room(victims).is_some())
        };
        let start = chosen.as_ref().and_then(|victims| room(victims));
        let (Some(mut chosen), Some(start)) = (chosen, start) else {
            pass.claims.failed.insert(like, length);
            return Ok(Vec::new());
        };
        self.may_have(&self.ledger, &start, now)?;
        // Those that stop for a while do so once the others are gone: the job starts then.
        let stops = |victim: &Victim| victim.mode == PreemptMode::Suspend;
        if !chosen.iter().all(stops) || self.is_any_ending() {
            chosen.retain(|victim| !stops(victim));
        }
        pass.claims.taken.push(start);
        let mut actions = Vec::new();
        for victim in chosen {
            if stops(&victim)
                && let Some(promises) = &mut pass.promises
            {
                for id in &victim.jobs {
                    promises.lose(self, *id, victim.mode);
                }
            }
            for id in victim.jobs {
                actions.extend(self.lose_place_within(id, victim.mode, victim.grace, now));
                if let Some(promises) = &mut pass.promises {
                    promises.ends_sooner(self, id, now);
                }
            }
        }
        Ok(actions)
    }

    /// Who takes the place of others by what a job is; none where no job takes any.
    pub(crate) fn taker(&self, attempt: &Attempt) -> Option<Taker> {
        let record = &self.jobs[&attempt.job].record;
        let lender = self.takes_back(record);
        if lender.is_none() && !rules::is_on(&self.cluster) {
            return None;
        }
        let partition = attempt.choice.partition;
        Some(Taker {
            claimant: rules::claimant(&self.cluster, record, partition),
            partition,
            lender: lender.map(|lender| lender.number),
        })
    }

    /// What is free, and will be, were all those gone whose place a job may take: it is promised a place as
    /// if they were. None where there are none.
    pub(crate) fn once_preempted(
        &self,
        promises: &Promises,
        taker: &Taker,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Option<Timeline<Free>> {
        let candidates = self.candidates(taker, attempt.job, &attempt.choice, now);
        if candidates.is_empty() {
            return None;
        }
        let victims = candidates.iter();
        let jobs = victims.flat_map(|victim| victim.jobs.iter().map(|id| (*id, victim.mode)));
        Some(promises.without(jobs, |id, mode, free| self.give_place(id, mode, free)))
    }

    /// A running job has lost its place: all of it, or its CPUs alone.
    pub(super) fn give_place(&self, id: JobId, mode: PreemptMode, free: &mut Free) {
        let Some(holding) = &self.jobs[&id].derived.holding else {
            return;
        };
        holding.give_to(&self.cluster, free);
        if mode == PreemptMode::Suspend {
            holding.suspended().take_from(&self.cluster, free);
        }
    }

    /// Those whose place a job may take, the least worth first.
    fn candidates(
        &self,
        taker: &Taker,
        job: JobId,
        choice: &Choice,
        now: Timestamp,
    ) -> Vec<Victim> {
        let claimant = taker.claimant;
        let lender = self.takes_back(&self.jobs[&job].record);
        let nodes = &self.cluster.partition(choice.partition).nodes;
        let mut all = Vec::new();
        for id in &self.running {
            let job = &self.jobs[id];
            let Some(holding) = &job.derived.holding else {
                continue;
            };
            // Components lose their places together.
            let jobs = self.components(*id);
            let is_there = holding
                .shares
                .iter()
                .any(|share| nodes.contains(share.node));
            if !is_there || jobs.first() != Some(id) {
                continue;
            }
            let grace = self.borrows_from(lender, job);
            let borrows = grace.is_some();
            let modes = jobs.iter();
            let modes = modes.map(|id| self.loses_place(*id, claimant, borrows, now));
            let modes: Option<Vec<PreemptMode>> = modes.collect();
            let Some(mode) = modes.and_then(|modes| modes.first().copied()) else {
                continue;
            };
            // The last element of an array that starts keeps the array's id.
            let record = &job.record;
            let place = (record.submitted_as(), record.submitted_as() == *id, *id);
            let worth = rules::worth(&self.cluster, job);
            all.push((worth, place, Victim { jobs, mode, grace }));
        }
        all.sort_by_key(|(worth, place, _)| (*worth, *place));
        if fault::is(Fault::WrongVictims) {
            all.reverse();
        }
        all.into_iter().map(|(_, _, victim)| victim).collect()
    }

    /// What would become of a job if another took its place; none where it keeps it.
    fn loses_place(
        &self,
        id: JobId,
        claimant: Claimant,
        borrows: bool,
        now: Timestamp,
    ) -> Option<PreemptMode> {
        let record = &self.jobs[&id].record;
        let JobState::Running { ending: None, .. } = &record.state else {
            return None;
        };
        let holder = rules::holder(&self.cluster, record);
        if !borrows && !rules::takes_from(&self.cluster, claimant, holder) {
            return None;
        }
        let exempt = rules::exempt_until(&self.cluster, record);
        if exempt.is_some_and(|until| now < until) {
            return None;
        }
        match self.preempt_mode(id)? {
            PreemptMode::Off => None,
            PreemptMode::Suspend if record.state.is_suspended() => None,
            mode => Some(mode),
        }
    }

    /// The next moment at which a running job may lose its place that it keeps until then.
    pub(crate) fn next_not_exempt(&self) -> Option<Timestamp> {
        if self.ready.is_empty() || !rules::is_on(&self.cluster) {
            return None;
        }
        let running = self.running.iter().map(|id| &self.jobs[id].record);
        let ends = running.filter_map(|record| rules::exempt_until(&self.cluster, record));
        ends.filter(|end| *end > self.last_pass.0).min()
    }

    fn is_any_ending(&self) -> bool {
        let mut running = self.running.iter();
        running.any(|id| is_ending(&self.jobs[id].record.state))
    }
}

/// Whether the end of a running job was decided, also one in its grace time.
pub(super) fn is_ending(state: &JobState) -> bool {
    matches!(
        state,
        JobState::Running {
            ending: Some(_),
            ..
        }
    )
}

impl Promises {
    /// From now on until it would have ended a running job has lost its place: all of it, or its
    /// CPUs alone.
    fn lose(&mut self, state: &State, id: JobId, mode: PreemptMode) {
        self.until_end(id, |free| state.give_place(id, mode, free));
    }
}
