//! A job that comes between two cycles of backfill, where those take long, and that could start behind a
//! blocked one without delaying a promise, starts at once.
//!
//! The last cycle leaves what is free from then on until some moments, but for what it promised. Until the
//! next one that only becomes less: what jobs give back meanwhile is left to the passes in order and to the
//! next cycle. A job of a kind that the cycle had no time to try waits for the next one, so that it goes
//! before none of its like.

use crate::fault::{self, Fault};
use crate::kinds::{Choice, Need, find_unreserved};
use crate::member::{self, Member};
use crate::pass::Pass;
use crate::possible_start::{Attempt, PossibleStart};
use crate::promise::Promises;
use crate::queue::Key;
use crate::{Action, Event, Job, State};
use model::{JobId, Timestamp};
use resources::{Cluster, Free, Pick, QosId};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

/// What is left free for so many minutes, the usual limits of jobs, is known apart.
const MINUTES: [i64; 10] = [10, 30, 60, 120, 240, 480, 720, 1440, 2880, 10_080];

/// What the last cycle leaves to jobs that come. After a restart there is none, and the first pass is a
/// cycle. Copies share it until one of them changes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LeftFree(Option<Arc<Left>>);

#[derive(Clone, Debug, PartialEq)]
struct Left {
    /// Ascending: what is free from the cycle until a moment.
    until: Vec<(i64, Free)>,
    untried: Untried,
}

/// Whose limits a job meets: a user's in an account, and a QOS's.
type Owner = (Member, Option<QosId>);

/// Needs of jobs that were not tried, or that a limit kept: one that comes later and needs the same starts
/// before none of them. By address, and of one owner where the others' jobs may go first.
#[derive(Clone, Debug, Default)]
struct Untried(HashMap<(usize, Option<Owner>), Arc<Need>>);

impl PartialEq for Untried {
    /// The needs themselves: in another state they lie elsewhere.
    fn eq(&self, other: &Untried) -> bool {
        let has = |one: &Untried, owner: &Option<Owner>, need: &Arc<Need>| {
            let mut all = one.0.iter();
            all.any(|((_, its_owner), its_need)| its_owner == owner && its_need == need)
        };
        let within = |one: &Untried, other: &Untried| {
            let mut all = one.0.iter();
            all.all(|((_, owner), need)| has(other, owner, need))
        };
        within(self, other) && within(other, self)
    }
}

impl Untried {
    fn insert(&mut self, need: &Arc<Need>, owner: Option<Owner>) {
        let key = (Arc::as_ptr(need) as usize, owner);
        self.0.entry(key).or_insert_with(|| Arc::clone(need));
    }

    /// Whether one waits that a job would overtake.
    fn goes_before(&self, need: &Arc<Need>, owner: Owner) -> bool {
        let at = Arc::as_ptr(need) as usize;
        let owners = [None, Some(owner)];
        let mut keys = owners.into_iter().map(|owner| (at, owner));
        !self.0.is_empty()
            && keys.any(|key| self.0.contains_key(&key))
            && !fault::is(Fault::OvertakesBetweenCycles)
    }
}

/// What a job gets between two cycles.
enum Beside {
    Fits(PossibleStart),
    /// Nothing before the next cycle: until then there is only less.
    NoRoom,
    /// Nothing while a limit keeps it, which may be over before the next cycle.
    Limited,
}

impl LeftFree {
    /// A job waits for the next cycle: none of its owner, or none at all, that needs the same starts before.
    fn note_waiting(&mut self, need: &Arc<Need>, owner: Option<Owner>) {
        if let Some(left) = self.0.as_mut().map(Arc::make_mut) {
            left.untried.insert(need, owner);
        }
    }

    /// A job starts: what it gets is free no more, to whatever moment.
    pub(crate) fn take(&mut self, cluster: &Cluster, start: &PossibleStart) {
        let Attempt { user, choice, .. } = &start.attempt;
        let (sharing, shares) = (choice.need.compiled.demand.sharing, &start.shares);
        let left = self.0.as_mut().map(Arc::make_mut);
        for (_, free) in left.into_iter().flat_map(|left| &mut left.until) {
            if shares.iter().all(|share| free.has(share, sharing)) {
                free.take(cluster, shares, sharing, *user);
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
        // Jobs that were stopped for others go on before any that comes.
        let is_long = !self.is_pass_short() && pass.stopped.is_empty();
        let Some(promises) = promises.filter(|_| is_long) else {
            return;
        };
        let mut untried = Untried::default();
        for (id, queue) in &self.ready {
            let begin = pass
                .passed
                .get(id)
                .map_or(Bound::Unbounded, Bound::Excluded);
            for key in queue.range((begin, Bound::Unbounded)) {
                let choice = self.jobs[&key.job].choice(id.partition);
                choice.inspect(|choice| untried.insert(&choice.need, None));
            }
        }
        let kept = pass.not_tried.iter().chain(pass.limited.keys());
        for job in kept.filter_map(|id| self.jobs.get(id)) {
            let owner = self.owner(&job.record);
            let choices = job.derived.choices.iter();
            choices.for_each(|choice| untried.insert(&choice.need, Some(owner.clone())));
        }
        // From each moment until the next cycle.
        let interval = self.backfill.map_or(0, |backfill| backfill.interval);
        let ends = MINUTES.map(|minutes| now.0 + minutes * 60_000 + interval);
        let ends: Vec<i64> = ends.into_iter().chain([i64::MAX]).collect();
        self.left_free.0 = Some(Arc::new(Left {
            until: promises.free_until(self, &ends),
            untried,
        }));
    }

    /// Starts those of some jobs, which no pass looked at before, that delay no promise.
    pub(crate) fn start_between_cycles(&mut self, jobs: Vec<JobId>, now: Timestamp) -> Vec<Action> {
        let tests = self.backfill.map_or(0, |backfill| backfill.tests);
        let mut keys: Vec<Key> = jobs
            .into_iter()
            .filter(|job| self.is_queued(*job) && self.jobs[job].component().is_none())
            .map(|job| self.key(&self.jobs[&job].record, self.jobs[&job].record.priority))
            .collect();
        keys.sort_unstable();
        let mut actions = Vec::new();
        let (tried, others) = keys.split_at(tests.min(keys.len()));
        for key in tried {
            // An array has one row for all of its elements that wait.
            while let Some(action) = self.start_beside_promises(key.job, now) {
                actions.push(action);
            }
        }
        for key in others {
            let choices = self.jobs[&key.job].derived.choices.iter();
            choices.for_each(|choice| self.left_free.note_waiting(&choice.need, None));
        }
        actions
    }

    fn start_beside_promises(&mut self, id: JobId, now: Timestamp) -> Option<Action> {
        if !self.is_queued(id) {
            return None;
        }
        let mut choices = self.jobs[&id].derived.choices.clone();
        let tier = |choice: &Choice| self.cluster.partition(choice.partition).tier;
        choices.sort_by_key(|choice| Reverse((tier(choice), choice.priority)));
        choices
            .iter()
            .find_map(|choice| self.start_beside_promises_in(id, choice, now))
    }

    fn start_beside_promises_in(
        &mut self,
        id: JobId,
        choice: &Choice,
        now: Timestamp,
    ) -> Option<Action> {
        let attempt = self.attempt(&self.jobs[&id], choice, true, now);
        match self.beside_promises(&attempt, now) {
            Beside::Fits(start) => {
                self.looked.backfilled += 1;
                self.start(&start, true, now)
            }
            Beside::NoRoom => None,
            Beside::Limited => {
                let owner = self.owner(&self.jobs[&id].record);
                self.left_free.note_waiting(&choice.need, Some(owner));
                None
            }
        }
    }

    /// Whether a job would get a place beside what the last cycle promised.
    pub(crate) fn fits_between_cycles(&self, attempt: &Attempt, now: Timestamp) -> bool {
        matches!(self.beside_promises(attempt, now), Beside::Fits(_))
    }

    fn owner(&self, record: &Job) -> Owner {
        (
            Member::of(&self.cluster, record),
            member::qos_of(&self.cluster, record),
        )
    }

    /// What a job gets beside what the last cycle promised.
    fn beside_promises(&self, attempt: &Attempt, now: Timestamp) -> Beside {
        let Some(left) = &self.left_free.0 else {
            return Beside::NoRoom;
        };
        let (choice, length) = (&attempt.choice, attempt.span.length);
        let record = &self.jobs[&attempt.job].record;
        if left.untried.goes_before(&choice.need, self.owner(record)) {
            return Beside::NoRoom;
        }
        if self.may_attempt(attempt, now).is_err() {
            return Beside::Limited;
        }
        let end = now.0.saturating_add(length);
        let Some((_, free)) = left.until.iter().find(|(until, _)| end <= *until) else {
            return Beside::NoRoom;
        };
        let reserved = self.reservations.left_to_job(record);
        let closed = reserved.closed(&self.cluster, now.0, length);
        let pick = Pick {
            user: attempt.user,
            later: attempt.later.as_deref(),
            few_switches: choice.few_until.is_some(),
            ..Pick::default()
        };
        let Some(shares) = find_unreserved(&self.cluster, choice, free, pick, closed) else {
            return Beside::NoRoom;
        };
        let start = attempt.starting(now, shares);
        match self.may_have(&self.ledger, &start, now) {
            Ok(()) => Beside::Fits(start),
            Err(_) => Beside::Limited,
        }
    }
}
