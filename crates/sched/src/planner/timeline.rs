//! What is free now and later.

use std::ops::RangeInclusive;

/// What is free from some moment to the next.
#[derive(Clone, Debug)]
struct Step<R> {
    at: i64,
    free: R,
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
        steps.push(Step { at: now, free });
        for (at, held) in ends {
            let last = &steps[steps.len() - 1];
            if last.at != at {
                let free = last.free.clone();
                steps.push(Step { at, free });
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
        let over = self.steps.iter().skip(1).take_while(|step| step.at < end);
        fits(&self.steps[0].free) && over.into_iter().all(|step| fits(&step.free))
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
            if !fits(begin.at, &begin.free) {
                from += 1;
                continue;
            }
            let end = begin.at.saturating_add(limit);
            let mut whole = begin.free.clone();
            for (index, step) in steps.iter().enumerate().skip(from + 1) {
                if step.at >= end {
                    break;
                }
                if !fits(begin.at, &step.free) {
                    from = index + 1;
                    continue 'next;
                }
                if let Some(keep) = &keep {
                    keep(&mut whole, &step.free);
                }
            }
            if let Some(held) = find(begin.at, &whole) {
                return Some((begin.at, held));
            }
            from += 1;
        }
        None
    }

    /// A moment from which on something may be otherwise, whatever is free; one before now is none.
    pub fn begin_step(&mut self, at: i64) {
        self.reserve(at, at, |_| {});
    }

    /// Takes something out of all steps of a time.
    pub fn reserve(&mut self, at: i64, end: i64, mut take: impl FnMut(&mut R)) {
        let steps = &mut self.steps;
        for moment in [at, end] {
            let index = steps.partition_point(|step| step.at < moment);
            if index > 0 && steps.get(index).is_none_or(|step| step.at != moment) {
                let free = steps[index - 1].free.clone();
                steps.insert(index, Step { at: moment, free });
            }
        }
        let first = steps.partition_point(|step| step.at < at);
        let last = steps.partition_point(|step| step.at < end);
        steps[first..last]
            .iter_mut()
            .for_each(|step| take(&mut step.free));
    }
}
