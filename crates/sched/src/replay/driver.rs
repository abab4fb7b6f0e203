//! A trace, played event by event.
//!
//! At one moment submissions come before ends, ends in the order of their starts; a job whose
//! limit ends at a moment is over before anything else happens then. Under `fifo` and `easy` there
//! is a pass after each event, under `conservative` one a moment. These are the rules behind the
//! published schedules that the tests compare with. Under `slurm` a pass in order follows each
//! event, and a backfill cycle the next multiple of `bf_interval`, if anything happened since the
//! last one. Where priorities order the queue they are worked out anew each `PriorityCalcPeriod`
//! while jobs wait.

use super::one_by_one::play_one_by_one;
use super::ranking::Ranking;
use super::{Arrivals, Policy, Rules, Trace};
use crate::planner::Planning;
use crate::planner::{
    Backfill, Blocked, Candidate, Release, Room, conservative_pass, easy_pass, in_order_pass,
    try_one,
};
use model::{KILL_WAIT, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

/// An overdue job is expected to be killed so much later, in milliseconds.
const OVERDUE: i64 = KILL_WAIT.0 as i64 * 1000;

/// A trace that was played.
#[derive(Clone, Debug)]
pub struct Played<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The jobs that ran, in the order of their starts.
    pub starts: Vec<Start>,
    /// Those that the machine could never run, by their place in the trace.
    pub never: Vec<usize>,
}

/// One start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Which, by its place in the trace.
    pub job: usize,
    /// When.
    pub at: Timestamp,
    /// Another that was ahead of it still waited.
    pub backfilled: bool,
}

/// What the jobs of a trace need.
pub(crate) struct Needs<N> {
    /// Of each job, by its place in the trace: which of the needs is its own.
    pub kinds: Vec<u32>,
    /// The needs; none for jobs that could never run.
    pub needs: Vec<Option<N>>,
}

impl<N> Needs<N> {
    pub fn of(&self, slot: u32) -> Option<&N> {
        self.needs[self.kinds[slot as usize] as usize].as_ref()
    }
}

/// Plays a trace.
/// `progress` receives how many jobs have started, from time to time.
pub(crate) fn play<'a, R: Room>(
    trace: &'a Trace,
    rules: Rules,
    idle: R,
    needs: &Needs<R::Need>,
    order: Ranking<'_>,
    progress: &mut dyn FnMut(usize),
) -> Played<'a>
where
    R::Held: Clone,
{
    if rules.arrivals == Arrivals::WhileBlocked {
        return play_one_by_one(trace, rules, idle, needs, progress);
    }
    let mut play = Play::<R> {
        rules,
        order,
        trace,
        needs,
        limits: trace
            .jobs
            .iter()
            .map(|job| rules.estimates.limit(job))
            .collect(),
        free: idle,
        queue: Vec::new(),
        held: vec![None; trace.jobs.len()],
        expected: BTreeSet::new(),
        expected_end: vec![0; trace.jobs.len()],
        ends: BinaryHeap::new(),
        blocked: None,
        first: Vec::new(),
        is_stale: false,
        cycle: None,
        owners: match rules.policy {
            Policy::Slurm => owners(trace),
            _ => Vec::new(),
        },
        starts: Vec::with_capacity(trace.jobs.len()),
        never: Vec::new(),
    };
    let mut arrivals = trace.jobs.iter().enumerate().peekable();
    let mut told = 0;
    loop {
        let next_arrival = arrivals.peek().map(|(_, job)| job.submit.0);
        let next_end = play.ends.peek().map(|Reverse((at, ..))| *at);
        let next = [next_arrival, next_end, play.cycle, play.next_order()];
        let Some(now) = next.into_iter().flatten().min() else {
            break;
        };
        play.end_those_whose_limit_is_over(now);
        if play.renew_order(now) && !play.is_conservative() {
            play.pass(now);
        }
        while let Some((job, _)) = arrivals.next_if(|(_, job)| job.submit.0 <= now) {
            play.submit(now, job);
        }
        while let Some(Reverse((at, _, slot))) = play.ends.peek().copied()
            && at <= now
        {
            play.ends.pop();
            play.end(now, slot);
        }
        if play.is_stale {
            play.pass(now);
        }
        if play.cycle.is_some_and(|at| at <= now) {
            play.cycle(now);
        }
        if play.starts.len() >= told + 4096 {
            told = play.starts.len();
            progress(told);
        }
    }
    progress(play.starts.len());
    Played {
        trace,
        starts: play.starts,
        never: play.never,
    }
}

/// What waits and runs while a trace is played. A slot is a job's place in the trace.
struct Play<'a, R: Room> {
    rules: Rules,
    order: Ranking<'a>,
    trace: &'a Trace,
    needs: &'a Needs<R::Need>,
    /// In milliseconds.
    limits: Vec<i64>,
    free: R,
    /// Those that wait, in order.
    queue: Vec<u32>,
    held: Vec<Option<R::Held>>,
    /// Running jobs by their expected ends.
    expected: BTreeSet<(i64, u32)>,
    expected_end: Vec<i64>,
    /// Running jobs by their ends, those that started first before others.
    ends: BinaryHeap<Reverse<(i64, u32, u32)>>,
    /// What holds for those behind the first, with backfill.
    blocked: Option<Blocked<R>>,
    /// The first that waits of each line, in order.
    first: Vec<Option<u32>>,
    /// Something happened that no pass has seen.
    is_stale: bool,
    /// When the next backfill cycle of Slurm's is.
    cycle: Option<i64>,
    /// Users and queues of the jobs as numbers, for the budgets of a cycle.
    owners: Vec<(u32, u32)>,
    starts: Vec<Start>,
    never: Vec<usize>,
}

impl<R: Room> Play<'_, R>
where
    R::Held: Clone,
{
    fn is_conservative(&self) -> bool {
        self.rules.policy == Policy::Conservative
    }

    /// What runs until the very moment of its limit is over before anything else happens.
    fn end_those_whose_limit_is_over(&mut self, now: i64) {
        let over: Vec<u32> = self
            .expected
            .range((now, 0)..=(now, u32::MAX))
            .map(|(_, slot)| *slot)
            .filter(|slot| self.trace.jobs[*slot as usize].run == self.limits[*slot as usize])
            .collect();
        for slot in over {
            self.release(now, slot);
        }
    }

    fn release(&mut self, now: i64, slot: u32) {
        let Some(held) = self.held[slot as usize].take() else {
            return;
        };
        self.order.ended(slot, now);
        self.free.give(&held);
        self.expected
            .remove(&(self.expected_end[slot as usize], slot));
        self.is_stale = true;
    }

    /// When the order of the queue changes though nothing happens.
    fn next_order(&self) -> Option<i64> {
        self.order.due().filter(|_| !self.queue.is_empty())
    }

    /// Puts those that wait in the order that they have now: whether another than before.
    fn renew_order(&mut self, now: i64) -> bool {
        let is_new = !self.queue.is_empty() && self.order.renew(&mut self.queue, now);
        self.is_stale |= is_new;
        is_new
    }

    /// Something happened: another cycle is due.
    fn plan_cycle(&mut self, now: i64) {
        let backfill = self.rules.backfill.as_ref();
        let backfill = backfill.filter(|_| self.rules.policy == Policy::Slurm);
        if let Some(backfill) = backfill.filter(|_| !self.queue.is_empty()) {
            let interval = backfill.interval.max(1);
            let next = now.saturating_add(interval - now.rem_euclid(interval));
            self.cycle.get_or_insert(next);
        }
    }

    fn end(&mut self, now: i64, slot: u32) {
        self.release(now, slot);
        if self.is_stale && !self.is_conservative() {
            self.pass(now);
        }
    }

    fn submit(&mut self, now: i64, job: usize) {
        let slot = job as u32;
        if self.needs.of(slot).is_none() {
            self.never.push(job);
            return;
        }
        let place = self.order.place(&self.queue, slot);
        self.queue.insert(place, slot);
        self.renew_order(now);
        if self.is_conservative() {
            self.is_stale = true;
            return;
        }
        if matches!(self.rules.policy, Policy::Fifo | Policy::Slurm) {
            let line = self.order.lines.of[job] as usize;
            let first = self.first.get(line).copied().flatten();
            let is_first = first.is_none_or(|first| self.order.order(slot, first).is_lt());
            if is_first || self.is_stale {
                self.pass(now);
            } else {
                // Nothing became free since the last pass: those behind the first still can't start.
                self.plan_cycle(now);
            }
            return;
        }
        if place == 0 || self.is_stale || self.blocked.is_none() {
            self.pass(now);
            return;
        }
        let candidate = candidate(self.needs, &self.limits, slot);
        if let Some(blocked) = &mut self.blocked
            && let Some(held) = try_one(now, &mut self.free, blocked, candidate)
        {
            self.queue.remove(place);
            self.start(now, slot, held, true);
        }
    }

    fn start(&mut self, now: i64, slot: u32, held: R::Held, backfilled: bool) {
        let job = slot as usize;
        self.order.started(slot, now);
        let order = self.starts.len() as u32;
        self.held[job] = Some(held);
        self.expected_end[job] = now.saturating_add(self.limits[job]);
        self.expected.insert((self.expected_end[job], slot));
        let end = now.saturating_add(self.trace.jobs[job].run);
        self.ends.push(Reverse((end, order, slot)));
        self.starts.push(Start {
            job,
            at: Timestamp(now),
            backfilled,
        });
    }

    fn pass(&mut self, now: i64) {
        self.is_stale = false;
        let (needs, limits) = (self.needs, &self.limits);
        let job = |slot: u32| candidate(needs, limits, slot);
        let mut started = Vec::new();
        let start = |slot, held, backfilled| started.push((slot, held, backfilled));
        let free = &mut self.free;
        let queue = &self.queue;
        let releases = || releases(&self.expected, &self.held);
        match self.rules.policy {
            Policy::Fifo | Policy::Slurm => {
                self.first = in_order_pass(free, queue, job, &self.order.lines, start);
            }
            Policy::Easy => {
                let behind = Backfill::InOrder;
                self.blocked = easy_pass(now, free, queue, job, releases(), behind, start);
            }
            Policy::EasySjbf => {
                let behind = Backfill::ShortestFirst;
                self.blocked = easy_pass(now, free, queue, job, releases(), behind, start);
            }
            Policy::Conservative => {
                let planning = Planning::exact(OVERDUE);
                conservative_pass(now, free, queue, job, releases(), &planning, start);
            }
        }
        self.take_out(now, started);
        self.plan_cycle(now);
    }

    /// A backfill cycle of Slurm's.
    fn cycle(&mut self, now: i64) {
        self.cycle = None;
        let Some(parameters) = &self.rules.backfill else {
            return;
        };
        let (needs, limits) = (self.needs, &self.limits);
        let job = |slot: u32| candidate(needs, limits, slot);
        let releases = releases(&self.expected, &self.held);
        let mut started = Vec::new();
        let start = |slot, held, backfilled| started.push((slot, held, backfilled));
        let owners = &self.owners;
        let tried = parameters.tried(&self.queue, |slot| owners[slot as usize]);
        let planning = parameters.planning(OVERDUE);
        let free = &mut self.free;
        conservative_pass(now, free, &tried, job, releases, &planning, start);
        self.take_out(now, started);
    }

    /// Takes those that start out of the queue.
    fn take_out(&mut self, now: i64, started: Vec<(u32, R::Held, bool)>) {
        if started.is_empty() {
            return;
        }
        for (slot, held, backfilled) in started {
            self.start(now, slot, held, backfilled);
        }
        let held = &self.held;
        self.queue.retain(|slot| held[*slot as usize].is_none());
    }
}

/// Running jobs by their expected ends.
fn releases<'a, H>(
    expected: &'a BTreeSet<(i64, u32)>,
    held: &'a [Option<H>],
) -> impl Iterator<Item = Release<'a, H>> {
    expected.iter().filter_map(|(at, slot)| {
        let held = held[*slot as usize].as_ref()?;
        Some(Release { at: *at, held })
    })
}

/// Each job's user and queue, as numbers.
fn owners(trace: &Trace) -> Vec<(u32, u32)> {
    let mut users = HashMap::new();
    let mut queues = HashMap::new();
    let jobs = trace.jobs.iter().map(|job| {
        let next = users.len() as u32;
        let user = *users.entry(&job.user).or_insert(next);
        let next = queues.len() as u32;
        (user, *queues.entry(&job.queue).or_insert(next))
    });
    jobs.collect()
}

fn candidate<'a, N>(needs: &'a Needs<N>, limits: &[i64], slot: u32) -> Candidate<'a, N> {
    Candidate {
        need: needs
            .of(slot)
            .expect("invariant: only what can run is queued"),
        kind: needs.kinds[slot as usize],
        limit: limits[slot as usize],
    }
}
