//! A job that comes between two cycles of backfill, where those take long, and that could start behind a
//! blocked one without delaying a promise, starts at once.
//!
//! The last cycle leaves what is free from then on until some moments, but for what it promised. Until the
//! next one that only becomes less: what jobs give back meanwhile is left to the passes in order and to the
//! next cycle. A job of a kind that the cycle had no time to try waits for the next one, so that it goes
//! before none of its like.

use crate::kinds::{Choice, find_unreserved};
use crate::ledger::{Chain, Ledger};
use crate::pass::Pass;
use crate::promise::Promises;
use crate::queue::Key;
use crate::{Action, Event, State};
use model::{JobId, Timestamp};
use resources::{Free, Pick, Share};
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

/// What is left free for so many minutes, the usual limits of jobs, is known apart.
const MINUTES: [i64; 10] = [10, 30, 60, 120, 240, 480, 720, 1440, 2880, 10_080];

/// What the last cycle leaves to jobs that come. It is no part of what two states are compared by, and a
/// copy of a state, as a plan makes one, has none.
#[derive(Debug, Default)]
pub(crate) struct LeftFree(Option<Left>);

#[derive(Debug)]
struct Left {
    /// Ascending: what is free from the cycle until a moment.
    until: Vec<(i64, Free)>,
    /// Kinds of jobs that were not tried: needs by their address.
    untried: HashSet<usize>,
}

impl Clone for LeftFree {
    fn clone(&self) -> LeftFree {
        LeftFree::default()
    }
}

impl PartialEq for LeftFree {
    fn eq(&self, _other: &LeftFree) -> bool {
        true
    }
}

impl LeftFree {
    /// A job starts: what it gets is free no more, to whatever moment.
    pub(crate) fn take(
        &mut self,
        state: &resources::Cluster,
        choice: &Choice,
        user: u32,
        shares: &[Share],
    ) {
        let sharing = choice.need.compiled.demand.sharing;
        for (_, free) in self.0.iter_mut().flat_map(|left| &mut left.until) {
            if shares.iter().all(|share| free.has(share, sharing)) {
                free.take(state, shares, sharing, user);
            } else {
                shares
                    .iter()
                    .for_each(|share| free.set_up(share.node, false));
            }
        }
    }

    /// Whether what happened may leave less than that to others than those that start.
    pub(crate) fn outlives(event: &Event) -> bool {
        matches!(
            event,
            Event::Submitted { .. }
                | Event::Ending { .. }
                | Event::Gone { .. }
                | Event::CancelledWaiting { .. }
                | Event::CancelledElements { .. }
        )
    }

    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

impl State {
    /// Keeps what a cycle left free, where the next passes are none.
    pub(crate) fn keep_left_free(
        &mut self,
        pass: &Pass,
        promises: Option<&Promises>,
        now: Timestamp,
    ) {
        self.left_free.forget();
        let Some(promises) = promises.filter(|_| !self.is_pass_short()) else {
            return;
        };
        let mut untried = HashSet::new();
        for (id, queue) in &self.ready {
            let begin = pass
                .passed
                .get(id)
                .map_or(Bound::Unbounded, Bound::Excluded);
            for key in queue.range((begin, Bound::Unbounded)) {
                let choice = self.jobs[&key.job].choice(id.partition);
                untried.extend(choice.map(|choice| Arc::as_ptr(&choice.need) as usize));
            }
        }
        // From each moment until the next cycle.
        let interval = self.backfill.map_or(0, |backfill| backfill.interval);
        let ends = MINUTES.map(|minutes| now.0 + minutes * 60_000 + interval);
        let ends: Vec<i64> = ends.into_iter().chain([i64::MAX]).collect();
        self.left_free.0 = Some(Left {
            until: promises.free_until(self, &ends),
            untried,
        });
    }

    /// Starts those of some jobs, which no pass looked at before, that delay no promise.
    pub(crate) fn start_between_cycles(&mut self, jobs: Vec<JobId>, now: Timestamp) -> Vec<Action> {
        let tests = self.backfill.map_or(0, |backfill| backfill.tests);
        let mut keys: Vec<Key> = jobs
            .into_iter()
            .filter(|job| self.is_queued(*job) && self.jobs[job].component().is_none())
            .map(|job| Key::of(&self.jobs[&job].record, self.jobs[&job].record.priority))
            .collect();
        keys.sort_unstable();
        let mut actions = Vec::new();
        for key in keys.into_iter().take(tests) {
            // An array has one row for all of its elements that wait.
            while let Some(action) = self.start_beside_promises(key.job, now) {
                actions.push(action);
            }
        }
        actions
    }

    fn start_beside_promises(&mut self, id: JobId, now: Timestamp) -> Option<Action> {
        if !self.is_queued(id) {
            return None;
        }
        let choices = self.jobs[&id].derived.choices.clone();
        choices
            .into_iter()
            .find_map(|choice| self.start_beside_promises_in(id, choice, now))
    }

    fn start_beside_promises_in(
        &mut self,
        id: JobId,
        mut choice: Choice,
        now: Timestamp,
    ) -> Option<Action> {
        let left = self.left_free.0.as_ref()?;
        if left.untried.contains(&(Arc::as_ptr(&choice.need) as usize)) {
            return None;
        }
        let job = &self.jobs[&id];
        choice.few_until = self.few_until(job, &choice).filter(|until| *until > now);
        let span = self.span_of(job, &choice, true, now);
        self.may_start(job, &choice).ok()?;
        if Ledger::counts(&self.cluster) {
            let chain = Chain::of(&self.cluster, &job.record, Some(choice.partition));
            self.may_spend(&chain, now).ok()?;
            self.before(&self.ledger, &chain, span.limit, now).ok()?;
        }
        let user = job.record.submitter.uid;
        let end = now.0.saturating_add(span.length);
        let (_, free) = left.until.iter().find(|(until, _)| end <= *until)?;
        let reserved = self.reservations.left_to(&job.record.request);
        let closed = reserved.closed(&self.cluster, now.0, span.length);
        let pick = Pick {
            user,
            few_switches: choice.few_until.is_some(),
            ..Pick::default()
        };
        let shares = find_unreserved(&self.cluster, &choice, free, pick, closed)?;
        self.may_have(&self.ledger, id, (&choice, span.limit), &shares, now)
            .ok()?;
        self.looked.backfilled += 1;
        self.start(id, &choice, span.limit, &shares, now)
    }
}
