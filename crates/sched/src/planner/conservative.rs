//! Conservative backfill: every job that waits has a promise, made anew in each pass, and no job
//! starts that would delay the promise of one ahead (Mu'alem and Feitelson, 2001; replanned, as
//! Slurm does).

use super::kinds::Kinds;
use super::timeline::Timeline;
use super::{Candidate, Release, Room};
use std::collections::VecDeque;

/// So many promises are looked through for a bound of the next.
const BOUNDS: usize = 32;

/// So many jobs are planned before it is seen again whether one of the others may start.
const CHECKED: usize = 4;

/// A promise that was made.
struct Bound<'a, N> {
    need: &'a N,
    limit: i64,
    at: i64,
}

impl<N> Bound<'_, N> {
    /// Whether a job needs at least as much for at least as long.
    fn covers<R: Room<Need = N>>(&self, candidate: &Candidate<'_, N>) -> bool {
        self.limit <= candidate.limit && R::needs_as_much(candidate.need, self.need)
    }
}

/// The promises that were made to jobs of each kind: of those with a limit as long or shorter the latest. What is
/// free on nodes can be compared between jobs of one kind alone, and a backlog has many kinds.
#[derive(Debug, Default)]
struct OfKinds(Vec<Vec<(i64, i64)>>);

impl OfKinds {
    /// A job of a kind that may run so long is not promised anything before.
    fn bound(&self, kind: u32, limit: i64) -> Option<i64> {
        let known = self.0.get(kind as usize)?;
        let shorter = known.partition_point(|(known, _)| *known <= limit);
        known[..shorter].last().map(|(_, at)| *at)
    }

    /// One has a promise, not before its bound. Limits and moments ascend.
    fn add(&mut self, kind: u32, limit: i64, at: i64) {
        let kind = kind as usize;
        if self.0.len() <= kind {
            self.0.resize_with(kind + 1, Vec::new);
        }
        let known = &mut self.0[kind];
        known.retain(|(longer, before)| *longer < limit || *before > at);
        let place = known.partition_point(|(shorter, _)| *shorter < limit);
        known.insert(place, (limit, at));
    }
}

/// How far ahead and how finely a pass plans. Lengths are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planning {
    /// A running job whose limit is over is expected to end so much later.
    pub overdue: i64,
    /// A job that would start later than so much from now has no promise. `bf_window`
    pub window: i64,
    /// A promise begins and ends on a multiple of this. `bf_resolution`
    pub resolution: i64,
    /// A promise is for all of its nodes, however little of them the job needs.
    pub whole_nodes: bool,
    /// So many of the first jobs have a promise; the others start where they delay none of them.
    /// `bf_job_part_count_reserve`
    pub promises: usize,
}

impl Planning {
    /// A promise to each job, of what it needs, to the millisecond.
    #[must_use]
    pub fn exact(overdue: i64) -> Planning {
        Planning {
            overdue,
            window: i64::MAX,
            resolution: 1,
            whole_nodes: false,
            promises: usize::MAX,
        }
    }

    /// When a promise begins.
    pub fn begin(&self, at: i64, now: i64) -> i64 {
        at.saturating_sub(at.rem_euclid(self.resolution.max(1)))
            .max(now)
    }

    /// When a promise is over.
    pub fn end(&self, at: i64, limit: i64) -> i64 {
        let end = at.saturating_add(limit);
        let resolution = self.resolution.max(1);
        let beyond = end.rem_euclid(resolution);
        if beyond == 0 {
            end
        } else {
            end.saturating_add(resolution - beyond)
        }
    }
}

/// Starts the jobs whose promise is now.
///
/// `queue` holds jobs in their order, `releases` are running jobs by their expected ends. Planning
/// stops where none of the jobs left could start now even without promises.
pub fn conservative_pass<'a, R: Room>(
    now: i64,
    free: &mut R,
    queue: &[u32],
    job: impl Fn(u32) -> Candidate<'a, R::Need>,
    releases: impl Iterator<Item = Release<'a, R::Held>>,
    planning: &Planning,
    mut start: impl FnMut(u32, R::Held, bool),
) where
    R::Need: 'a,
    R::Held: 'a,
{
    let mut last = LastThatMayStart::new(queue.len());
    if !last.find(0, queue, &job, |need, _| free.may_fit(need)) {
        return;
    }
    let releases = releases.map(|release| (release.expected(now, planning.overdue), release.held));
    let mut timeline = Timeline::new(now, free.clone(), releases, R::give);
    let mut overtakes = false;
    let mut promises = 0;
    // Promises only take: who needs as much for as long as one before can't be earlier than it.
    let mut bounds: VecDeque<Bound<'_, R::Need>> = VecDeque::with_capacity(BOUNDS);
    let mut of_kinds = OfKinds::default();
    for (index, slot) in queue.iter().enumerate() {
        if index % CHECKED == 0
            && !last.find(index, queue, &job, |need, limit| {
                timeline.fits(limit, |free| free.may_fit(need))
            })
        {
            return;
        }
        let candidate = job(*slot);
        let covered = bounds.iter().filter(|bound| bound.covers::<R>(&candidate));
        let of_kind = of_kinds.bound(candidate.kind, candidate.limit);
        let from = covered.map(|bound| bound.at).chain(of_kind).max();
        let from = from.unwrap_or(now);
        let Some((at, held)) = earliest(&timeline, &candidate, from) else {
            overtakes = true;
            continue;
        };
        let end = planning.end(at, candidate.limit);
        if at == now {
            timeline.reserve(at, end, |free| free.take(&held));
            free.take(&held);
            start(*slot, held, overtakes);
            continue;
        }
        overtakes = true;
        if R::IS_TOTAL {
            bounds.truncate(BOUNDS - 1);
            bounds.push_front(Bound {
                need: candidate.need,
                limit: candidate.limit,
                at,
            });
        } else {
            of_kinds.add(candidate.kind, candidate.limit, at);
        }
        if promises == planning.promises || at.saturating_sub(now) > planning.window {
            continue;
        }
        promises += 1;
        let at = planning.begin(at, now);
        if planning.whole_nodes {
            timeline.reserve(at, end, |free| free.block(&held));
        } else {
            timeline.reserve(at, end, |free| free.take(&held));
        }
    }
}

/// The last of a queue that may still start now: planning goes no further. Starts and promises only
/// take, so that who can't start any more never can.
struct LastThatMayStart {
    /// Behind it.
    end: usize,
    /// Kinds of jobs that do not fit beside those that run.
    full: Kinds,
}

impl LastThatMayStart {
    fn new(jobs: usize) -> LastThatMayStart {
        LastThatMayStart {
            end: jobs,
            full: Kinds::default(),
        }
    }

    /// Goes forward to the last that may start, by its need and limit; false where none does from
    /// some place of the queue on.
    fn find<'a, N: 'a>(
        &mut self,
        from: usize,
        queue: &[u32],
        job: &impl Fn(u32) -> Candidate<'a, N>,
        may_start: impl Fn(&N, Option<i64>) -> bool,
    ) -> bool {
        while self.end > from {
            let candidate = job(queue[self.end - 1]);
            if !self.full.has(candidate.kind) {
                if may_start(candidate.need, Some(candidate.limit)) {
                    return true;
                }
                if !may_start(candidate.need, None) {
                    self.full.add(candidate.kind);
                }
            }
            self.end -= 1;
        }
        false
    }
}

/// When a job may start, not before a moment, and what it gets.
fn earliest<R: Room>(
    timeline: &Timeline<R>,
    candidate: &Candidate<'_, R::Need>,
    not_before: i64,
) -> Option<(i64, R::Held)> {
    let fits = |_at: i64, free: &R| free.may_fit(candidate.need);
    let keep = |free: &mut R, other: &R| free.keep_for(other, candidate.need);
    let keep = (!R::IS_TOTAL).then_some(keep);
    timeline.earliest(
        not_before..=i64::MAX,
        candidate.limit,
        fits,
        keep,
        |_at, free| free.find(candidate.need),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use resources::NodeSet;
    use std::cell::Cell;

    /// One place that counts how often it was asked whether a job may fit.
    #[derive(Clone)]
    struct Counting<'a> {
        is_free: bool,
        asked: &'a Cell<usize>,
    }

    impl Room for Counting<'_> {
        type Need = ();
        type Held = ();

        const IS_TOTAL: bool = false;

        fn needs_as_much((): &(), (): &()) -> bool {
            false
        }

        fn may_fit(&self, (): &()) -> bool {
            self.asked.set(self.asked.get() + 1);
            self.is_free
        }

        fn find(&self, (): &()) -> Option<()> {
            self.is_free.then_some(())
        }

        fn take(&mut self, (): &()) {
            self.is_free = false;
        }

        fn give(&mut self, (): &()) {
            self.is_free = true;
        }

        fn block(&mut self, (): &()) {
            self.is_free = false;
        }

        fn withdraw(&mut self, _nodes: &NodeSet) {}

        fn keep(&mut self, other: &Self) {
            self.is_free &= other.is_free;
        }

        fn keep_for(&mut self, other: &Self, (): &()) {
            self.keep(other);
        }
    }

    /// So many jobs of some kinds wait behind each other for one place, and one that would have another.
    fn asked(jobs: u32, kinds: u32) -> usize {
        let asked = Cell::new(0);
        let mut free = Counting {
            is_free: true,
            asked: &asked,
        };
        let queue: Vec<u32> = (0..jobs).collect();
        let job = |slot: u32| Candidate {
            need: &(),
            kind: slot % kinds,
            // The last one would fit before the second, were it not for the first.
            limit: if slot + 1 == jobs { 0 } else { 10 },
        };
        let mut started = Vec::new();
        let start = |slot, (), _| started.push(slot);
        let planning = Planning::exact(0);
        let none = std::iter::empty();
        conservative_pass(0, &mut free, &queue, job, none, &planning, start);
        assert_eq!(started, [0]);
        asked.get()
    }

    #[test]
    fn a_backlog_of_many_kinds_is_not_gone_through_for_each_job() {
        let (few, many) = (asked(500, 50), asked(1000, 50));
        assert!(many < 3 * few, "{few}, {many}");
    }

    #[test]
    fn bounds_of_a_kind_are_those_of_limits_that_are_as_long_or_shorter() {
        let mut of_kinds = OfKinds::default();
        of_kinds.add(3, 10, 100);
        of_kinds.add(3, 5, 70);
        of_kinds.add(3, 20, 100);
        let check = |kind, limit, want| assert_eq!(of_kinds.bound(kind, limit), want, "{limit}");
        check(3, 4, None);
        check(3, 5, Some(70));
        check(3, 9, Some(70));
        check(3, 10, Some(100));
        check(3, 30, Some(100));
        check(2, 30, None);
        of_kinds.add(3, 5, 110);
        assert_eq!(of_kinds.bound(3, 10), Some(110));
    }
}
