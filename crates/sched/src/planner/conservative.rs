//! Conservative backfill: every job that waits has a promise, made anew in each pass, and no job
//! starts that would delay the promise of one ahead (Mu'alem and Feitelson, 2001; replanned, as
//! Slurm does).

use super::{Candidate, Release, Room};
use std::collections::VecDeque;

/// So many promises are looked through for a bound of the next.
const BOUNDS: usize = 32;

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

/// What is free from some moment to the next.
struct Step<R> {
    at: i64,
    free: R,
}

/// Starts the jobs whose promise is now.
///
/// `queue` holds jobs in their order, `releases` are running jobs by their expected ends; one that
/// is overdue ends `overdue` milliseconds from now. Planning stops where none of the jobs left
/// could start now even without promises.
pub fn conservative_pass<'a, R: Room>(
    now: i64,
    free: &mut R,
    queue: &[u32],
    job: impl Fn(u32) -> Candidate<'a, R::Need>,
    releases: impl Iterator<Item = Release<'a, R::Held>>,
    overdue: i64,
    mut start: impl FnMut(u32, R::Held, bool),
) where
    R::Need: 'a,
    R::Held: 'a,
{
    let mut behind: Option<R::Least> = None;
    let mut least = Vec::with_capacity(queue.len());
    for slot in queue.iter().rev() {
        let both = R::least(job(*slot).need, behind.as_ref());
        least.push(both.clone());
        behind = Some(both);
    }
    let may_start = |free: &R, index: usize| free.may_fit(&least[least.len() - 1 - index]);
    if queue.is_empty() || !may_start(free, 0) {
        return;
    }
    let mut steps = vec![Step {
        at: now,
        free: free.clone(),
    }];
    for release in releases {
        let at = if release.at > now {
            release.at
        } else {
            now.saturating_add(overdue)
        };
        let place = steps.partition_point(|step| step.at < at);
        if steps.get(place).is_none_or(|step| step.at != at) {
            let before = steps[place - 1].free.clone();
            steps.insert(place, Step { at, free: before });
        }
        for step in &mut steps[place..] {
            step.free.give(release.held);
        }
    }
    let mut overtakes = false;
    // Promises only take: who needs as much for as long as one before can't be earlier than it.
    let mut bounds: VecDeque<Bound<'_, R::Need>> = VecDeque::with_capacity(BOUNDS);
    for (index, slot) in queue.iter().enumerate() {
        if !may_start(free, index) {
            return;
        }
        let candidate = job(*slot);
        let covered = bounds.iter().filter(|bound| bound.covers::<R>(&candidate));
        let from = covered.map(|bound| bound.at).max().unwrap_or(now);
        let Some((at, held)) = earliest(&steps, &candidate, from) else {
            overtakes = true;
            continue;
        };
        if at > now {
            bounds.truncate(BOUNDS - 1);
            bounds.push_front(Bound {
                need: candidate.need,
                limit: candidate.limit,
                at,
            });
        }
        reserve(&mut steps, at, candidate.limit, &held);
        if at == now {
            free.take(&held);
            start(*slot, held, overtakes);
        } else {
            overtakes = true;
        }
    }
}

/// The first step, not before a moment, from which a job fits for as long as it may run, and what
/// it gets.
fn earliest<R: Room>(
    steps: &[Step<R>],
    candidate: &Candidate<'_, R::Need>,
    not_before: i64,
) -> Option<(i64, R::Held)> {
    let mut from = steps.partition_point(|step| step.at < not_before);
    'next: while from < steps.len() {
        let begin = &steps[from];
        if !begin.free.fits(candidate.need) {
            from += 1;
            continue;
        }
        let end = begin.at.saturating_add(candidate.limit);
        let mut whole = begin.free.clone();
        for (index, step) in steps.iter().enumerate().skip(from + 1) {
            if step.at >= end {
                break;
            }
            if !step.free.fits(candidate.need) {
                from = index + 1;
                continue 'next;
            }
            if !R::IS_TOTAL {
                whole.keep(&step.free);
            }
        }
        if let Some(held) = whole.find(candidate.need) {
            return Some((begin.at, held));
        }
        from += 1;
    }
    None
}

/// Takes what a job gets out of all steps while it would run.
fn reserve<R: Room>(steps: &mut Vec<Step<R>>, at: i64, length: i64, held: &R::Held) {
    let end = at.saturating_add(length);
    let first = steps.partition_point(|step| step.at < at);
    let last = steps.partition_point(|step| step.at < end);
    if steps.get(last).is_none_or(|step| step.at != end) {
        let free = steps[last - 1].free.clone();
        steps.insert(last, Step { at: end, free });
    }
    for step in &mut steps[first..last] {
        step.free.take(held);
    }
}
