//! A trace played one job after another, as the simulator of RLScheduler does: the first of the
//! queue is chosen, and only while it can't start does time go on and do others arrive.

use super::driver::{Needs, Played, Start};
use super::{Rules, Trace};
use crate::planner::Room;
use model::Timestamp;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What waits and runs.
struct OneByOne<'a, R: Room> {
    trace: &'a Trace,
    free: R,
    now: i64,
    /// The next that arrives, by its place in the trace.
    next: usize,
    /// Those that wait, in order.
    queue: Vec<u32>,
    held: Vec<Option<R::Held>>,
    ends: BinaryHeap<Reverse<(i64, u32)>>,
}

/// Plays a trace.
pub(crate) fn play_one_by_one<'a, R: Room>(
    trace: &'a Trace,
    rules: Rules,
    idle: R,
    needs: &Needs<R::Need>,
    progress: &mut dyn FnMut(usize),
) -> Played<'a> {
    let key = |slot: u32| {
        let job = &trace.jobs[slot as usize];
        rules.order.key(job, rules.estimates.limit(job))
    };
    let mut play = OneByOne::<R> {
        trace,
        free: idle,
        now: i64::MIN,
        next: 0,
        queue: Vec::new(),
        held: trace.jobs.iter().map(|_| None).collect(),
        ends: BinaryHeap::new(),
    };
    let mut played = Played {
        trace,
        starts: Vec::with_capacity(trace.jobs.len()),
        never: Vec::new(),
    };
    loop {
        while play.queue.is_empty() && play.next < trace.jobs.len() {
            play.step();
        }
        let first = (0..play.queue.len())
            .min_by(|one, other| key(play.queue[*one]).total_cmp(&key(play.queue[*other])));
        let Some(first) = first else {
            break;
        };
        let slot = play.queue.remove(first);
        let Some(need) = needs.of(slot) else {
            played.never.push(slot as usize);
            continue;
        };
        let held = loop {
            if let Some(held) = play.free.find(need) {
                break held;
            }
            play.step();
        };
        play.free.take(&held);
        play.held[slot as usize] = Some(held);
        let job = &trace.jobs[slot as usize];
        let end = play.now.saturating_add(job.run);
        play.ends.push(Reverse((end, slot)));
        played.starts.push(Start {
            job: slot as usize,
            at: Timestamp(play.now),
            backfilled: false,
        });
        if played.starts.len().is_multiple_of(4096) {
            progress(played.starts.len());
        }
    }
    progress(played.starts.len());
    played
}

impl<R: Room> OneByOne<'_, R> {
    /// The next arrival or end, whichever comes first. One of them is to come: what can run at all
    /// fits an idle machine.
    fn step(&mut self) {
        let arrival = self.trace.jobs.get(self.next).map(|job| job.submit.0);
        let end = self.ends.peek().map(|Reverse((at, _))| *at);
        if let Some(at) = arrival
            && end.is_none_or(|end| at <= end)
        {
            self.now = self.now.max(at);
            self.queue.push(self.next as u32);
            self.next += 1;
        } else if let Some(Reverse((at, slot))) = self.ends.pop() {
            self.now = self.now.max(at);
            if let Some(held) = self.held[slot as usize].take() {
                self.free.give(&held);
            }
        }
    }
}
