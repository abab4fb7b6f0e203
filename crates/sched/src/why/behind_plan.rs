//! A job to which the plan of the last cycle does not reach, as a cycle tries the first jobs alone: those
//! between are planned on, as far as a budget goes, on what the plan keeps.

use super::Planned;
use crate::State;
use crate::cycle::LOOK;
use crate::kinds::find_unreserved;
use crate::pass::Pass;
use crate::plan::KeptNodes;
use crate::possible_start::{Attempt, PossibleStart};
use crate::promise::Bounds;
use crate::reserved::Reserved;
use crate::{BackfillParameters, Job};
use model::{JobId, PlannedStart, Timestamp};
use resources::{Free, NodeSet, Pick};
use std::collections::BTreeSet;

/// So many looks of a job at a node go into planning on; some hundredths of a second.
const BUDGET: u64 = 250_000;

/// How far the planning got, where no start of the job is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotPlanned {
    /// It does not start before, since the places of jobs ahead are kept for them.
    pub not_before: Option<Timestamp>,
    /// So many jobs come before it for which no place is planned either.
    pub ahead: usize,
    /// A cycle of backfill tries so many jobs, and by the plan as many ahead of it still wait then.
    pub tried: Option<usize>,
}

/// What running jobs give back and when, beside what is kept for others.
struct PlanOn<'a> {
    state: &'a State,
    now: Timestamp,
    /// What is free from a moment on, until the next; ascending.
    free: Vec<(i64, Free)>,
    kept: Vec<KeptNodes>,
    bounds: Bounds,
    left: u64,
}

impl State {
    /// When a job starts that the plan does not have, by planning on; else how far that got.
    pub(super) fn planned_behind(
        &self,
        record: &Job,
        ahead: &[JobId],
        now: Timestamp,
    ) -> Result<Planned, NotPlanned> {
        let id = record.id;
        let unplanned =
            |job: &&JobId| self.plan.start_of(**job).is_none() && !self.limited.contains(*job);
        let mut far = NotPlanned {
            ahead: ahead.iter().filter(unplanned).count(),
            ..NotPlanned::default()
        };
        let waits_in_line = self.is_queued(id)
            && self.jobs[&id].component().is_none()
            && !self.limited.contains(&id);
        let Some(parameters) = &self.backfill else {
            return Err(far);
        };
        if !waits_in_line || self.places_may_be_taken() {
            return Err(far);
        }
        let mut plan = PlanOn::new(self, now);
        // Where few are promised a place the others keep none.
        if parameters.promises == usize::MAX {
            far.ahead = far
                .ahead
                .saturating_sub(plan.plan_ahead(record, parameters));
        }
        plan.left = BUDGET;
        let Some(start) = plan.start_of(id) else {
            return Err(far);
        };
        far.not_before = Some(start.at);
        let starts_later = |job: &&JobId| self.plan.start_of(**job).is_none_or(|at| at > start.at);
        let still_wait = ahead.iter().filter(starts_later).count();
        far.tried = (still_wait >= parameters.tests).then_some(parameters.tests);
        if far.ahead > 0 || far.tried.is_some() || parameters.promises != usize::MAX {
            return Err(far);
        }
        let ends = self.ends(now).into_iter();
        let before = ends.take_while(|(end, _)| *end <= start.at);
        let demand = &start.attempt.choice.need.compiled.demand;
        Ok(Planned {
            needs: start.amount(),
            element: None,
            ended: before.map(|(_, job)| job.record.id).collect(),
            start: PlannedStart {
                at: start.at,
                nodes: crate::held::names(
                    &self.cluster,
                    demand,
                    start.shares.iter().map(|share| share.node),
                ),
            },
        })
    }
}

impl PlanOn<'_> {
    fn new(state: &State, now: Timestamp) -> PlanOn<'_> {
        let mut free = vec![(now.0, state.held.free.clone())];
        for (at, (_, held)) in state.gives_back(now) {
            let (last, there) = &free[free.len() - 1];
            if *last != at {
                let there = there.clone();
                free.push((at, there));
            }
            let last = free.len() - 1;
            held.give_to(&state.cluster, &mut free[last].1);
        }
        let kept = state.plan.kept().iter();
        PlanOn {
            state,
            now,
            free,
            kept: kept
                .filter(|kept| state.is_queued(kept.job))
                .cloned()
                .collect(),
            bounds: Bounds::default(),
            left: BUDGET,
        }
    }

    /// Plans those that come before a job and that the plan does not have, in their order; how many.
    fn plan_ahead(&mut self, record: &Job, parameters: &BackfillParameters) -> usize {
        let state = self.state;
        let planning = parameters.planning(0);
        let (mut pass, mut planned) = (Pass::default(), BTreeSet::new());
        while let Some((queue, key)) = state.next_in_order(&pass) {
            pass.passed.insert(queue, key);
            let (id, is_known) = (key.job, state.plan.start_of(key.job).is_some());
            if id == record.id || self.left == 0 {
                break;
            }
            if is_known || planned.contains(&id) || state.limited.contains(&id) {
                continue;
            }
            if state.is_queued(id)
                && let Some(start) = self.start_of(id)
            {
                planned.insert(id);
                if start.at.since(self.now) <= parameters.window {
                    self.kept.push(KeptNodes::of(&planning, &start, self.now));
                }
            }
        }
        planned.len()
    }

    /// The first start of a job in one of its partitions, beside what is kept.
    fn start_of(&mut self, id: JobId) -> Option<PossibleStart> {
        let job = &self.state.jobs[&id];
        let choices = job.derived.choices.iter();
        let attempts: Vec<Attempt> = choices
            .map(|choice| self.state.attempt(job, choice, true, self.now))
            .collect();
        let starts = attempts.iter().filter_map(|attempt| {
            self.state.may_attempt(attempt, self.now).ok()?;
            self.earliest(attempt)
        });
        starts.min_by_key(|start| start.at)
    }

    fn earliest(&mut self, attempt: &Attempt) -> Option<PossibleStart> {
        let state = self.state;
        let length = attempt.span.length;
        let reserved = state.reserved_for(attempt.job);
        let owner = if state.is_by_user() { attempt.user } else { 0 };
        let kind = (attempt.need(), owner, reserved.kind());
        let from = self.bounds.of(kind, length).unwrap_or(self.now.0);
        let ends = self.free.iter().map(|(at, _)| *at);
        let moments = ends
            .chain(self.kept.iter().map(|kept| kept.until))
            .chain(state.reservations.moments().map(|at| at.0));
        let moments: BTreeSet<i64> = moments.filter(|at| *at >= from).collect();
        for at in moments {
            if self.left == 0 {
                return None;
            }
            if let Some(start) = self.start_at(attempt, at, &reserved) {
                if attempt.choice.few_until.is_none() {
                    self.bounds.set(kind, length, at);
                }
                return Some(start);
            }
        }
        None
    }

    /// A place at a moment on nodes that no job is promised as long as the job may last.
    fn start_at(
        &mut self,
        attempt: &Attempt,
        at: i64,
        reserved: &Reserved<'_>,
    ) -> Option<PossibleStart> {
        let (cluster, choice) = (&self.state.cluster, &attempt.choice);
        let length = attempt.span.length;
        let until = at.saturating_add(length);
        let overlap = self
            .kept
            .iter()
            .filter(|kept| kept.from < until && kept.until > at);
        let promised: NodeSet = overlap
            .flat_map(|kept| kept.nodes.iter().copied())
            .collect();
        let last = self.free.partition_point(|(from, _)| *from <= at);
        let free = &self.free[last.checked_sub(1)?].1;
        let mut left = cluster.partition(choice.partition).nodes.clone();
        left.keep(free.up());
        left.drop_all(&promised);
        self.left = self.left.saturating_sub(LOOK + u64::from(left.len()));
        let pick = Pick {
            user: attempt.user,
            without: Some(&promised),
            later: attempt.later.as_deref(),
            few_switches: choice.few_until.is_some_and(|few| at < few.0),
            ..Pick::default()
        };
        let closed = reserved.closed(cluster, at, length);
        let shares = find_unreserved(cluster, choice, free, pick, closed)?;
        let start = attempt.starting(Timestamp(at), shares);
        let state = self.state;
        state.may_have(&state.ledger, &start, self.now).ok()?;
        Some(start)
    }
}
