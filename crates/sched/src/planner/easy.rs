//! EASY backfill: the first job that can't start has a promise, and who
//! starts before it must not delay it (Lifka, 1995).

use super::kinds::Kinds;
use super::{Candidate, Release, Room};
use std::borrow::Cow;

/// In which order those behind the first are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backfill {
    /// In the order of the queue.
    InOrder,
    /// Those with the shortest limit first.
    ShortestFirst,
}

/// The first job of the queue can't start: until when others may use what it waits for.
#[derive(Clone, Debug)]
pub struct Blocked<R> {
    /// When it is expected to start: enough will be free.
    pub shadow: i64,
    /// What is free then beside it.
    later: R,
    /// What is free both now and then beside it: for those that would still run then.
    both: R,
    /// Kinds of jobs that did not fit: while nothing is given back, none of them does.
    full: Kinds,
    /// The same of those that would still run when the first is expected to start.
    full_then: Kinds,
}

/// Starts what can start, in order; then, behind the first that can't, what does not delay it.
///
/// `queue` holds jobs in their order, `job` tells what one needs, `releases` are running jobs by
/// their expected ends. Those that started are given to `start` with whether they overtook one,
/// and their room was taken from `free`. Returns what holds until something ends or another job
/// stands first in the queue.
pub fn easy_pass<'a, R: Room>(
    now: i64,
    free: &mut R,
    queue: &[u32],
    job: impl Fn(u32) -> Candidate<'a, R::Need>,
    releases: impl Iterator<Item = Release<'a, R::Held>>,
    backfill: Backfill,
    mut start: impl FnMut(u32, R::Held, bool),
) -> Option<Blocked<R>>
where
    R::Need: 'a,
    R::Held: 'a + Clone,
{
    let mut started = Vec::new();
    let mut rest = queue;
    while let Some((first, behind)) = rest.split_first() {
        let candidate = job(*first);
        let Some(held) = free.find(candidate.need) else {
            break;
        };
        free.take(&held);
        started.push((now.saturating_add(candidate.limit), held.clone()));
        start(*first, held, false);
        rest = behind;
    }
    let (first, behind) = rest.split_first()?;
    let mut blocked = promise(now, free, job(*first).need, releases, started);
    let mut tried = Cow::Borrowed(behind);
    if backfill == Backfill::ShortestFirst {
        tried.to_mut().sort_by_key(|slot| job(*slot).limit);
    }
    for slot in tried.iter() {
        if let Some(held) = try_one(now, free, &mut blocked, job(*slot)) {
            start(*slot, held, true);
        }
    }
    Some(blocked)
}

/// When the first job is expected to start. One that would not fit even when all is over has a
/// promise at the end of time, and delays no job.
fn promise<'a, R: Room>(
    now: i64,
    free: &R,
    need: &R::Need,
    releases: impl Iterator<Item = Release<'a, R::Held>>,
    mut started: Vec<(i64, R::Held)>,
) -> Blocked<R>
where
    R::Held: 'a,
{
    let mut later = free.clone();
    started.sort_by_key(|(at, _)| *at);
    let mut started = started.iter().peekable();
    let mut releases = releases.peekable();
    let mut shadow = now;
    loop {
        let of_started = started.peek().map(|(at, _)| *at);
        let of_running = releases.peek().map(|release| release.at);
        let Some(next) = [of_started, of_running].into_iter().flatten().min() else {
            shadow = i64::MAX;
            break;
        };
        // All that ends by then; what is overdue may end at any moment.
        shadow = shadow.max(next);
        while let Some((_, held)) = started.next_if(|(at, _)| *at <= shadow) {
            later.give(held);
        }
        while let Some(release) = releases.next_if(|release| release.at <= shadow) {
            later.give(release.held);
        }
        if let Some(held) = later.find(need) {
            later.take(&held);
            break;
        }
    }
    let mut both = free.clone();
    both.keep(&later);
    Blocked {
        shadow,
        later,
        both,
        full: Kinds::default(),
        full_then: Kinds::default(),
    }
}

/// Starts a job behind the first if it fits now, and is over when the first is expected to start
/// or leaves it enough.
pub fn try_one<R: Room>(
    now: i64,
    free: &mut R,
    blocked: &mut Blocked<R>,
    candidate: Candidate<'_, R::Need>,
) -> Option<R::Held> {
    let Candidate { need, kind, limit } = candidate;
    let is_over = now.saturating_add(limit) <= blocked.shadow;
    if blocked.full.has(kind) || (!is_over && blocked.full_then.has(kind)) {
        return None;
    }
    if is_over {
        let Some(held) = free.find(need) else {
            blocked.full.add(kind);
            return None;
        };
        free.take(&held);
        blocked.both.clone_from(free);
        blocked.both.keep(&blocked.later);
        return Some(held);
    }
    let Some(held) = blocked.both.find(need) else {
        blocked.full_then.add(kind);
        return None;
    };
    free.take(&held);
    blocked.later.take(&held);
    blocked.both.take(&held);
    Some(held)
}
