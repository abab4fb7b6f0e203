//! Promises to jobs that wait: when they are expected to start, and who would delay them.

use crate::State;
use crate::expected_ends::expected_end;
use crate::fault::{self, Fault};
use crate::plan::{ExpectedStart, KeptNodes, Plan};
use crate::planner::{BackfillParameters, Planning, Timeline, Window};
use crate::possible_start::{Attempt, PossibleStart};
use crate::preempt::Taker;
use crate::reserved::{Kind, Reserved};
use model::{JobId, PendingReason, Timestamp};
use resources::{Free, NodeSet, Share};
use std::collections::HashMap;

/// For what a place is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The job waits for its nodes.
    ForNodes,
    /// A limit keeps the job, for a time that is not known.
    ByLimit,
}

/// So long after now a job starts by Slurm's guess that a limit keeps, in milliseconds.
const LIMIT_LASTS: i64 = 500_000;

/// The promises of a pass.
#[derive(Clone, Debug)]
pub(crate) struct Promises {
    planning: Planning,
    timeline: Timeline<Free>,
    /// Whose job it is decides what it may be given.
    by_user: bool,
    bounds: Bounds,
    pub(crate) plan: Plan,
    /// When running jobs end by the timeline, where one may lose its place before.
    ends: HashMap<JobId, i64>,
    now: i64,
    /// Nodes that the next job is not given now.
    pub(crate) not_now: NodeSet,
    preempted: Preempted,
}

/// When jobs of a kind start at the earliest, which only becomes later, by the longest limit for which that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds(HashMap<(usize, u32, Kind), (i64, i64)>);

impl Bounds {
    /// None where a job of that length may start before.
    pub(crate) fn of(&self, kind: (usize, u32, Kind), length: i64) -> Option<i64> {
        let is_high = fault::is(Fault::BoundTooHigh);
        let known = self.0.get(&kind).filter(|_| !fault::forgets());
        let known = known.filter(|(longest, _)| *longest <= length || is_high);
        known.map(|(_, at)| *at)
    }

    /// One of that length starts then, and none of its kind before.
    pub(crate) fn set(&mut self, kind: (usize, u32, Kind), length: i64, at: i64) {
        self.0.insert(kind, (length, at));
    }
}

/// What is free were all those gone whose place a job may take, by who takes it; none where it may take no
/// place. A copy finds it anew.
#[derive(Debug, Default)]
struct Preempted(HashMap<Taker, Option<(Timeline<Free>, Bounds)>>);

impl Clone for Preempted {
    fn clone(&self) -> Preempted {
        Preempted::default()
    }
}

impl State {
    /// Whether a running job may lose its place to another before its limit.
    pub(crate) fn places_may_be_taken(&self) -> bool {
        crate::preempt::rules::is_on(&self.cluster) || self.reservations.lend()
    }
}

impl Promises {
    /// None yet: running jobs alone.
    pub(crate) fn new(state: &State, parameters: &BackfillParameters, now: Timestamp) -> Promises {
        let ends = state.gives_back(now);
        let by_job = if state.places_may_be_taken() {
            ends.iter().map(|(at, (job, _))| (*job, *at)).collect()
        } else {
            HashMap::new()
        };
        let ends = ends.into_iter().map(|(at, (_, holding))| (at, holding));
        let free = state.held.free.clone();
        let mut timeline = Timeline::new(now.0, free, ends, |free, held| {
            held.give_to(&state.cluster, free);
        });
        for at in state.reservations.moments() {
            timeline.begin_step(at.0);
        }
        Promises {
            planning: parameters.planning(0),
            timeline,
            by_user: state.is_by_user(),
            bounds: Bounds::default(),
            plan: Plan::default(),
            ends: by_job,
            now: now.0,
            not_now: NodeSet::default(),
            preempted: Preempted::default(),
        }
    }

    /// A job may be looked at from this moment on, whatever is free.
    pub(crate) fn begin_step(&mut self, at: Timestamp) {
        self.reserve((at.0, at.0), |_| {});
    }

    /// Takes something for a time, also where others would be gone.
    fn reserve(&mut self, times: (i64, i64), mut take: impl FnMut(&mut Free)) {
        let others = self.preempted.0.values_mut().flatten();
        let others = others.map(|(timeline, _)| timeline);
        for timeline in std::iter::once(&mut self.timeline).chain(others) {
            timeline.reserve(times.0, times.1, &mut take);
        }
    }

    /// A running job loses its place: it ends sooner than was expected.
    pub(crate) fn ends_sooner(&mut self, state: &State, job: JobId, now: Timestamp) {
        let job_now = &state.jobs[&job];
        let sooner = expected_end(&job_now.record.state, now);
        if let (Some(sooner), Some(end), Some(holding)) =
            (sooner, self.ends.get_mut(&job), &job_now.derived.holding)
            && sooner.0 < *end
        {
            self.preempted = Preempted::default();
            self.timeline.change(sooner.0, *end, |free| {
                holding.give_to(&state.cluster, free);
            });
            *end = sooner.0;
        }
    }

    /// A job that was stopped goes on.
    pub(crate) fn goes_on(&mut self, state: &State, job: JobId) {
        let Some(holding) = &state.jobs[&job].derived.holding else {
            return;
        };
        self.until_end(job, |free| {
            holding.suspended().give_to(&state.cluster, free);
            holding.take_from(&state.cluster, free);
        });
    }

    /// Changes what is free from now on until a running job ends.
    pub(crate) fn until_end(&mut self, job: JobId, change: impl FnMut(&mut Free)) {
        self.preempted = Preempted::default();
        if let Some(end) = self.ends.get(&job) {
            self.timeline.change(self.now, *end, change);
        }
    }

    /// What is free from now until an end.
    pub(crate) fn window(&self, end: i64) -> Window<Free> {
        self.timeline.window(end)
    }

    /// When a running job ends by the timeline, where one may lose its place before; none for one that was just
    /// started.
    pub(crate) fn end_of(&self, job: JobId) -> Option<i64> {
        self.ends.get(&job).copied()
    }

    /// What is free once running jobs have given back what is said of each.
    pub(crate) fn without<M: Copy>(
        &self,
        jobs: impl Iterator<Item = (JobId, M)>,
        give: impl Fn(JobId, M, &mut Free),
    ) -> Timeline<Free> {
        let mut timeline = self.timeline.clone();
        for (job, mode) in jobs {
            if let Some(end) = self.ends.get(&job) {
                timeline.change(self.now, *end, |free| give(job, mode, free));
            }
        }
        timeline
    }

    /// A place among some moments for as long as a job may run.
    pub(crate) fn earliest(
        &self,
        state: &State,
        attempt: &Attempt,
        moments: std::ops::RangeInclusive<i64>,
        reserved: &Reserved<'_>,
    ) -> Option<PossibleStart> {
        self.earliest_in(&self.timeline, state, attempt, moments, reserved)
    }

    /// The same as if all those were gone whose place the job may take.
    fn earliest_preempting(
        &mut self,
        state: &State,
        attempt: &Attempt,
        now: Timestamp,
        reserved: &Reserved<'_>,
    ) -> Option<PossibleStart> {
        let taker = state.taker(attempt)?;
        if !self.preempted.0.contains_key(&taker) {
            let timeline = state.once_preempted(self, &taker, attempt, now);
            let known = timeline.map(|timeline| (timeline, Bounds::default()));
            self.preempted.0.insert(taker, known);
        }
        let (timeline, bounds) = self.preempted.0.get(&taker)?.as_ref()?;
        let (kind, length) = (self.kind(attempt, reserved), attempt.span.length);
        let waits_for_few = attempt.choice.few_until.is_some();
        let from = bounds.of(kind, length).filter(|_| !waits_for_few);
        // What fits now once others are gone takes their places, or may not: that was tried.
        let later = from.unwrap_or(now.0.saturating_add(1))..=i64::MAX;
        let start = self.earliest_in(timeline, state, attempt, later, reserved)?;
        if let (Some(Some((_, bounds))), false) = (self.preempted.0.get_mut(&taker), waits_for_few)
        {
            bounds.set(kind, length, start.at.0);
        }
        Some(start)
    }

    /// Tells apart jobs of which something else is known.
    fn kind(&self, attempt: &Attempt, reserved: &Reserved<'_>) -> (usize, u32, Kind) {
        let owner = if self.by_user { attempt.user } else { 0 };
        (attempt.need(), owner, reserved.kind())
    }

    fn earliest_in(
        &self,
        timeline: &Timeline<Free>,
        state: &State,
        attempt: &Attempt,
        moments: std::ops::RangeInclusive<i64>,
        reserved: &Reserved<'_>,
    ) -> Option<PossibleStart> {
        let length = attempt.span.length;
        let find = |at: i64, free: &Free| {
            let kept = (at <= self.now).then_some(&self.not_now);
            attempt.place(state, at, free, kept, reserved)
        };
        let keep = |free: &mut Free, other: &Free| free.keep(&state.cluster, other);
        let fits = |at: i64, free: &Free| find(at, free).is_some();
        let found = timeline.earliest(moments, length, fits, Some(keep), find);
        found.map(|(at, shares)| attempt.starting(Timestamp(at), shares))
    }

    /// What is free from now until each of some moments, which ascend.
    pub(crate) fn free_until(&self, state: &State, ends: &[i64]) -> Vec<(i64, Free)> {
        let keep = |free: &mut Free, other: &Free| free.keep(&state.cluster, other);
        self.timeline.free_until(ends, keep)
    }

    /// A job that starts has a place for a time; others may take it.
    pub(crate) fn take(&mut self, state: &State, start: &PossibleStart, times: (i64, i64)) {
        self.preempted = Preempted::default();
        self.keep(state, start, times);
    }

    /// A place is kept for a job for a time.
    fn keep(&mut self, state: &State, start: &PossibleStart, times: (i64, i64)) {
        let (user, sharing) = (start.attempt.user, start.sharing());
        self.reserve(times, |free| {
            free.take(&state.cluster, &start.shares, sharing, user);
        });
    }

    /// Promises a job that can't start now its place at the first moment at which it can; false where
    /// there is none, even once all that run have ended. What lies too far ahead is planned, and not
    /// kept free.
    ///
    /// # Errors
    /// What it would get then is over a limit by what runs now: it is promised nothing, unless those that a limit
    /// keeps hold others up.
    pub(crate) fn promise(
        &mut self,
        state: &State,
        attempt: &Attempt,
        kept: Kept,
        now: Timestamp,
    ) -> Result<bool, PendingReason> {
        if kept == Kept::ByLimit {
            self.promise_limited(state, attempt, now);
            return Ok(true);
        }
        let length = attempt.span.length;
        let waits_for_few = attempt.choice.few_until.is_some();
        let reserved = state.reserved_for(attempt.job);
        let kind = self.kind(attempt, &reserved);
        let from = self.bounds.of(kind, length).filter(|_| !waits_for_few);
        let from = from.unwrap_or(now.0);
        let preempting = self.earliest_preempting(state, attempt, now, &reserved);
        let may_preempt = preempting.is_some();
        let found =
            preempting.or_else(|| self.earliest(state, attempt, from..=i64::MAX, &reserved));
        let Some(start) = found else {
            return Ok(false);
        };
        let limit = state.may_have(&state.ledger, &start, now);
        if !state.cluster.queue_rules().stops_at_limits {
            limit.clone()?;
        }
        if !waits_for_few && !may_preempt {
            self.bounds.set(kind, length, start.at.0);
        }
        if let Some(times) = self.note(&start, now) {
            if may_preempt {
                // Others may still hold what it takes from them.
                self.close_nodes(&start, times);
            } else if self.planning.whole_nodes {
                self.keep_nodes(state, &start, times);
            } else {
                self.keep(state, &start, times);
            }
        }
        limit.map(|()| true)
    }

    /// Promises a place to a job that a limit keeps: where it has nodes now, from when another has its place, or
    /// from the moment that Slurm guesses.
    fn promise_limited(&mut self, state: &State, attempt: &Attempt, now: Timestamp) {
        let kept = self.plan.kept.iter();
        let next = kept.flat_map(|kept| [kept.from, kept.until]);
        let next = next.filter(|at| *at > now.0).min();
        let next = Timestamp(next.unwrap_or(now.0.saturating_add(LIMIT_LASTS)));
        self.begin_step(next);
        let reserved = state.reserved_for(attempt.job);
        let from = |at: Timestamp| self.earliest(state, attempt, at.0..=i64::MAX, &reserved);
        let found = match from(now) {
            Some(start) if start.at <= now => from(next),
            found => found,
        };
        if let Some(start) = found {
            self.promised(state, &start, now);
        }
    }

    /// Promises a job what was found for it, on whole nodes.
    pub(crate) fn promised(&mut self, state: &State, start: &PossibleStart, now: Timestamp) {
        if let Some(times) = self.note(start, now) {
            self.keep_nodes(state, start, times);
        }
    }

    /// Notes when a job is expected to start; the time for which that is kept free, unless it lies
    /// too far ahead.
    fn note(&mut self, start: &PossibleStart, now: Timestamp) -> Option<(i64, i64)> {
        let is_far = start.at.since(now) > self.planning.window;
        let nodes = start.shares.iter().map(|share| share.node);
        let planned = ExpectedStart {
            at: if fault::is(Fault::PlannedNow) {
                now
            } else {
                start.at
            },
            needs: start.amount(),
            nodes: nodes.clone().filter(|_| !is_far).collect(),
        };
        let job = start.attempt.job;
        let known = self.plan.starts.get(&job);
        if known.is_none_or(|known| planned.at < known.at) {
            self.plan.starts.insert(job, planned);
        }
        if is_far {
            return None;
        }
        self.plan.nodes.add(&nodes.collect());
        let kept = KeptNodes::of(&self.planning, start, now);
        let times = (kept.from, kept.until);
        self.plan.kept.push(kept);
        Some(times)
    }

    /// Nodes are kept for a job for a time, whatever it needs of them; of a node that is this whole machine, its
    /// shares.
    fn keep_nodes(&mut self, state: &State, start: &PossibleStart, times: (i64, i64)) {
        let splits = |share: &Share| state.cluster.class(share.node).splits;
        if start.shares.iter().any(splits) {
            self.keep(state, start, times);
        } else {
            self.close_nodes(start, times);
        }
    }

    fn close_nodes(&mut self, start: &PossibleStart, times: (i64, i64)) {
        self.reserve(times, |free| {
            for share in &start.shares {
                free.set_up(share.node, false);
            }
        });
    }

    /// Takes the nodes of one component from the others.
    pub(crate) fn occupy(&mut self, state: &State, start: &PossibleStart) {
        self.keep_nodes(state, start, start.needed());
    }

    /// Leaves these nodes to others for good.
    pub(crate) fn leave(&mut self, nodes: &NodeSet) {
        self.reserve((i64::MIN, i64::MAX), |free| {
            nodes.iter().for_each(|node| free.set_up(node, false));
        });
    }
}
