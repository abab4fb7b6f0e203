//! What is free now and later.

use super::Window;
use std::ops::RangeInclusive;

/// What is free from some moment to the next.
#[derive(Clone, Debug)]
struct Step<R> {
    at: i64,
    free: R,
    /// Of something less may be free than in the step before.
    falls: bool,
}

/// What is free from now on, in steps: each end of a running job gives back, each promise takes for a
/// while. Moments and lengths are in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Timeline<R> {
    /// Ascending; the first is now.
    steps: Vec<Step<R>>,
}

impl<R: Clone> Timeline<R> {
    /// What is free now and after each end that is expected, none of which lies before now.
    pub fn new<'a, H: 'a>(
        now: i64,
        free: R,
        ends: impl Iterator<Item = (i64, &'a H)>,
        mut give: impl FnMut(&mut R, &H),
    ) -> Timeline<R> {
        let mut ends: Vec<(i64, &H)> = ends.collect();
        // Nearly sorted: only overdue jobs stand elsewhere.
        ends.sort_by_key(|(at, _)| *at);
        let mut steps = Vec::with_capacity(ends.len() + 1);
        steps.push(Step {
            at: now,
            free,
            falls: false,
        });
        for (at, held) in ends {
            let last = &steps[steps.len() - 1];
            if last.at != at {
                let free = last.free.clone();
                steps.push(Step {
                    at,
                    free,
                    falls: false,
                });
            }
            let last = steps.len() - 1;
            give(&mut steps[last].free, held);
        }
        Timeline { steps }
    }

    /// Whether something is so at each moment from now until a limit; without a limit, now.
    pub fn fits(&self, limit: Option<i64>, mut fits: impl FnMut(&R) -> bool) -> bool {
        let now = self.steps[0].at;
        let end = limit.map_or(i64::MIN, |limit| now.saturating_add(limit));
        fits(&self.steps[0].free) && self.falling(0, end).all(|(_, step)| fits(&step.free))
    }

    /// What is free all the time from now until each of some moments, which ascend.
    pub fn free_until(&self, ends: &[i64], keep: impl Fn(&mut R, &R)) -> Vec<(i64, R)> {
        let mut free = self.steps[0].free.clone();
        let mut falling = self.falling(0, i64::MAX).peekable();
        let until = ends.iter().map(|end| {
            while let Some((_, step)) = falling.next_if(|(_, step)| step.at < *end) {
                keep(&mut free, &step.free);
            }
            (*end, free.clone())
        });
        until.collect()
    }

    /// What is free from now until an end.
    pub fn window(&self, end: i64) -> Window<R> {
        let now = &self.steps[0];
        let falling = self.falling(0, end).map(|(_, step)| step);
        let steps = std::iter::once(now).chain(falling);
        Window::new(steps.map(|step| (step.at, step.free.clone())))
    }

    /// The first step among some moments from which a job fits for as long as it may run, and what
    /// `find` gives it of what is free all that time; both hear when it would begin. Without `keep` a
    /// job that fits at each moment fits for all the time.
    pub fn earliest<H>(
        &self,
        moments: RangeInclusive<i64>,
        limit: i64,
        mut fits: impl FnMut(i64, &R) -> bool,
        keep: Option<impl Fn(&mut R, &R)>,
        mut find: impl FnMut(i64, &R) -> Option<H>,
    ) -> Option<(i64, H)> {
        let steps = &self.steps;
        let mut from = steps.partition_point(|step| step.at < *moments.start());
        'next: while let Some(begin) = steps.get(from)
            && begin.at <= *moments.end()
        {
            let end = begin.at.saturating_add(limit);
            if self.falling(from, end).next().is_none() {
                if let Some(held) = find(begin.at, &begin.free) {
                    return Some((begin.at, held));
                }
                from += 1;
                continue;
            }
            if !fits(begin.at, &begin.free) {
                from += 1;
                continue;
            }
            for (index, step) in self.falling(from, end) {
                if !fits(begin.at, &step.free) {
                    from = index + 1;
                    continue 'next;
                }
            }
            let mut whole = begin.free.clone();
            if let Some(keep) = &keep {
                let falling = self.falling(from, end);
                falling.for_each(|(_, step)| keep(&mut whole, &step.free));
            }
            if let Some(held) = find(begin.at, &whole) {
                return Some((begin.at, held));
            }
            from += 1;
        }
        None
    }

    /// Steps after one and before a moment that may have less than the step before: what is free in
    /// these and in the first is free in all of them.
    fn falling(&self, after: usize, end: i64) -> impl Iterator<Item = (usize, &Step<R>)> {
        let later = self.steps.iter().enumerate().skip(after + 1);
        let over = later.take_while(move |(_, step)| step.at < end);
        over.filter(|(_, step)| step.falls)
    }

    /// A moment from which on something may be otherwise, whatever is free; one before now is none.
    pub fn begin_step(&mut self, at: i64) {
        self.reserve(at, at, |_| {});
    }

    /// Takes something out of all steps of a time.
    pub fn reserve(&mut self, at: i64, end: i64, take: impl FnMut(&mut R)) {
        let (first, last) = self.each(at, end, take);
        if first < last {
            self.steps[first].falls = true;
        }
    }

    /// Changes all steps of a time; more may be free than before, or less.
    pub fn change(&mut self, at: i64, end: i64, change: impl FnMut(&mut R)) {
        let (first, last) = self.each(at, end, change);
        for index in [first, last] {
            if let Some(step) = self.steps.get_mut(index) {
                step.falls = true;
            }
        }
    }

    /// The same, for steps from one and before another; those are returned.
    fn each(&mut self, at: i64, end: i64, mut change: impl FnMut(&mut R)) -> (usize, usize) {
        let steps = &mut self.steps;
        for moment in [at, end] {
            let index = steps.partition_point(|step| step.at < moment);
            if index > 0 && steps.get(index).is_none_or(|step| step.at != moment) {
                let free = steps[index - 1].free.clone();
                let step = Step {
                    at: moment,
                    free,
                    falls: false,
                };
                steps.insert(index, step);
            }
        }
        let first = steps.partition_point(|step| step.at < at);
        let last = steps.partition_point(|step| step.at < end);
        steps[first..last]
            .iter_mut()
            .for_each(|step| change(&mut step.free));
        (first, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A change of what is free: from when, until when, how much more or less.
    type Change = (i64, i64, i32);

    /// The first moment at which so much is free for so long, each step looked at.
    fn looked_at_each(timeline: &Timeline<i32>, need: i32, limit: i64) -> Option<i64> {
        let steps = &timeline.steps;
        let fits = |begin: &&Step<i32>| {
            let over = steps.iter().filter(|step| step.at >= begin.at);
            let mut over = over.filter(|step| step.at == begin.at || step.at < begin.at + limit);
            over.all(|step| step.free >= need)
        };
        steps.iter().find(fits).map(|step| step.at)
    }

    fn any_ends() -> impl Strategy<Value = Vec<(i64, i32)>> {
        prop::collection::vec((0_i64..50, 1_i32..5), 0..8)
    }

    fn any_changes() -> impl Strategy<Value = Vec<Change>> {
        prop::collection::vec((0_i64..50, 0_i64..30, -6_i32..4), 0..8)
    }

    /// Three are free now, and more once others end.
    fn timeline(ends: &[(i64, i32)], changes: &[Change]) -> Timeline<i32> {
        let ends = ends.iter().map(|(at, free)| (*at, free));
        let mut timeline = Timeline::new(0, 3, ends, |free, held| *free += held);
        for (at, length, by) in changes {
            if *by < 0 {
                timeline.reserve(*at, at + length, |free| *free += by);
            } else {
                timeline.change(*at, at + length, |free| *free += by);
            }
        }
        timeline
    }

    proptest! {
        #[test]
        fn steps_that_only_rise_need_no_look(
            ends in any_ends(),
            changes in any_changes(),
            asked in prop::collection::vec((1_i32..12, 1_i64..60), 1..8),
        ) {
            let timeline = timeline(&ends, &changes);
            for (need, limit) in asked {
                let found = timeline.earliest(
                    0..=i64::MAX,
                    limit,
                    |_, free| *free >= need,
                    Some(|whole: &mut i32, other: &i32| *whole = (*whole).min(*other)),
                    |_, whole| (*whole >= need).then_some(*whole),
                );
                let want = looked_at_each(&timeline, need, limit);
                prop_assert_eq!(found.map(|(at, _)| at), want);
            }
        }

        /// Some of those end now that would have ended later; others take something from now on.
        #[test]
        fn a_window_has_what_the_whole_has(
            ends in any_ends(),
            changes in any_changes(),
            gone in prop::collection::vec(any::<bool>(), 8),
            taken in prop::collection::vec((1_i64..60, 1_i32..3), 0..3),
            (need, limit) in (1_i32..12, 1_i64..60),
        ) {
            let mut timeline = timeline(&ends, &changes);
            let mut window = timeline.window(limit);
            for ((end, free), _) in ends.iter().zip(gone).filter(|(_, is_gone)| *is_gone) {
                timeline.change(0, *end, |own| *own += free);
                window.change(*end, |own| *own += free);
            }
            for (end, by) in taken {
                timeline.reserve(0, end, |own| *own -= by);
                window.change(end, |own| *own -= by);
            }
            let fits = |free: &i32| *free >= need;
            let find = |free: &i32| fits(free).then_some(*free);
            let keep = |whole: &mut i32, other: &i32| *whole = (*whole).min(*other);
            let found = window.find(fits, keep, find);
            let whole = timeline.earliest(
                0..=0, limit, |_, free| fits(free), Some(keep), |_, free| find(free),
            );
            prop_assert_eq!(found.is_some(), whole.is_some());
        }
    }
}
