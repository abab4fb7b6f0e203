//! A schedule as pictures show it: use over time, waits by size, who held what when.

use super::{Played, Spread, Start, TraceJob};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// How much of a machine was in use, over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Use {
    /// When each span begins, in milliseconds; all are equally long.
    pub at: Vec<i64>,
    /// Mean of the processors in use in each span.
    pub cpus: Vec<f64>,
    /// The same of the GPUs.
    pub gpus: Vec<f64>,
    /// Mean number of jobs that wait in each span.
    pub waiting: Vec<f64>,
}

/// Jobs of about the same size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeClass {
    /// Their fewest units.
    pub from: u32,
    /// Their most.
    pub to: u32,
    /// How many jobs.
    pub jobs: usize,
    /// Their waits in seconds.
    pub wait: Spread,
}

/// What one job held for a while: a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Which, by its place in the trace.
    pub job: usize,
    /// It started before one that was ahead of it.
    pub backfilled: bool,
    /// When it started, in milliseconds.
    pub from: i64,
    /// When it ended.
    pub to: i64,
    /// The first of the units.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// The jobs of a window, laid out over the units of a machine. Which units a job really had is not
/// known of a machine without nodes: each has the first that are free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Rectangles, by start.
    pub bars: Vec<Bar>,
    /// The units are GPUs.
    pub are_gpus: bool,
}

/// Mean use in each of so many spans between the first submission and the last end.
#[must_use]
pub fn in_use(played: &Played<'_>, spans: usize) -> Use {
    let jobs = || placed(played);
    let first = jobs().map(|(job, _)| job.submit.0).min();
    let last = jobs().map(|(job, start)| end(job, start)).max();
    let (Some(first), Some(last)) = (first, last) else {
        return Use::default();
    };
    let spans = spans.max(1);
    let length = last.saturating_sub(first).max(1) as f64 / spans as f64;
    let place = |at: i64| (at - first) as f64 / length;
    let mut cpus = Sums::new(spans);
    let mut gpus = Sums::new(spans);
    let mut waiting = Sums::new(spans);
    for (job, start) in jobs() {
        let (from, to) = (place(start.at.0), place(end(job, start)));
        cpus.add(from, to, job.cpus.into());
        gpus.add(from, to, job.gpus.into());
        waiting.add(place(job.submit.0), from, 1.0);
    }
    Use {
        at: (0..spans)
            .map(|span| first + (span as f64 * length) as i64)
            .collect(),
        cpus: cpus.means(),
        gpus: gpus.means(),
        waiting: waiting.means(),
    }
}

/// Amounts over spans: parts of spans at once, whole spans as differences.
struct Sums {
    parts: Vec<f64>,
    changes: Vec<f64>,
}

impl Sums {
    fn new(spans: usize) -> Sums {
        Sums {
            parts: vec![0.0; spans + 1],
            changes: vec![0.0; spans + 1],
        }
    }

    /// Adds an amount from one place to another, in spans.
    fn add(&mut self, from: f64, to: f64, amount: f64) {
        let last = self.parts.len() - 1;
        let (first_span, last_span) = ((from as usize).min(last), (to as usize).min(last));
        if first_span == last_span {
            self.parts[first_span] += amount * (to - from);
            return;
        }
        self.parts[first_span] += amount * ((first_span + 1) as f64 - from);
        self.parts[last_span] += amount * (to - last_span as f64);
        self.changes[first_span + 1] += amount;
        self.changes[last_span] -= amount;
    }

    fn means(&self) -> Vec<f64> {
        let mut whole = 0.0;
        let spans = self.parts.iter().zip(&self.changes);
        let means = spans.map(|(part, change)| {
            whole += change;
            // What is left of sums that cancel is no use.
            (whole + part).max(0.0)
        });
        means.take(self.parts.len() - 1).collect()
    }
}

/// Waits of jobs by the processors that they asked for, or the GPUs where the trace has any, in
/// powers of two; sizes that no job has are left out.
#[must_use]
pub fn waits_by_size(played: &Played<'_>) -> Vec<SizeClass> {
    let of_gpus = asks_for_gpus(played);
    let mut classes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (job, start) in placed(played) {
        let size = if of_gpus { job.gpus } else { job.cpus };
        let from = size.checked_ilog2().map_or(0, |power| 1 << power);
        let wait = (start.at.0 - job.submit.0) as f64 / 1000.0;
        classes.entry(from).or_default().push(wait);
    }
    let classes = classes.into_iter().map(|(from, waits)| SizeClass {
        from,
        to: from.saturating_mul(2).saturating_sub(1),
        jobs: waits.len(),
        wait: Spread::of(waits),
    });
    classes.collect()
}

/// The jobs that run in a window, on so many processors or GPUs.
#[must_use]
pub fn lanes(played: &Played<'_>, from: i64, to: i64, cpus: u64, gpus: u64) -> Lanes {
    let are_gpus = gpus > 0 && asks_for_gpus(played);
    let mut free: BTreeMap<u64, u64> = BTreeMap::from([(0, if are_gpus { gpus } else { cpus })]);
    let mut running: BinaryHeap<Reverse<(i64, u64, u64)>> = BinaryHeap::new();
    let mut bars = Vec::new();
    let mut shown: Vec<(&TraceJob, &Start)> = placed(played)
        .filter(|(job, start)| start.at.0 < to && end(job, start) > from)
        .collect();
    shown.sort_by_key(|(_, start)| start.at);
    for (job, start) in shown {
        while let Some(Reverse((over, first, count))) = running.peek().copied()
            && over <= start.at.0
        {
            running.pop();
            give(&mut free, first, count);
        }
        let mut left = u64::from(if are_gpus { job.gpus } else { job.cpus });
        while left > 0
            && let Some((first, count)) = free.pop_first()
        {
            let taken = count.min(left);
            left -= taken;
            if taken < count {
                free.insert(first + taken, count - taken);
            }
            running.push(Reverse((end(job, start), first, taken)));
            bars.push(Bar {
                job: start.job,
                backfilled: start.backfilled,
                from: start.at.0,
                to: end(job, start),
                first,
                count: taken,
            });
        }
    }
    Lanes { bars, are_gpus }
}

/// Gives units back, beside those that are free already.
fn give(free: &mut BTreeMap<u64, u64>, mut first: u64, mut count: u64) {
    if let Some((before, there)) = free.range(..first).next_back()
        && before + there == first
    {
        let before = *before;
        count += *there;
        first = before;
        free.remove(&before);
    }
    if let Some(there) = free.remove(&(first + count)) {
        count += there;
    }
    free.insert(first, count);
}

fn placed<'a>(played: &'a Played<'a>) -> impl Iterator<Item = (&'a TraceJob, &'a Start)> {
    let starts = played.starts.iter();
    starts.map(|start| (&played.trace.jobs[start.job], start))
}

fn end(job: &TraceJob, start: &Start) -> i64 {
    start.at.0.saturating_add(job.run)
}

fn asks_for_gpus(played: &Played<'_>) -> bool {
    placed(played).any(|(job, _)| job.gpus > 0)
}

#[cfg(test)]
mod tests {
    use super::super::{Policy, Rules, flat_machine, read_trace, replay};
    use super::*;

    /// Two jobs of two processors, one of four after them.
    const LOG: &str = "job,submit,run,cpus\n1,0,10,2\n2,0,20,2\n3,0,20,4\n";

    fn check(of: impl Fn(&Played<'_>)) {
        let trace = read_trace(LOG).expect("a table of jobs");
        of(&replay(
            &trace,
            &flat_machine(4),
            Rules::new(Policy::Fifo),
            &mut |_| {},
        ));
    }

    #[test]
    fn use_over_time() {
        check(|played| {
            let used = in_use(played, 4);
            assert_eq!(used.at, [0, 10_000, 20_000, 30_000]);
            assert_eq!(used.cpus, [4.0, 2.0, 4.0, 4.0]);
            assert_eq!(used.waiting, [1.0, 1.0, 0.0, 0.0]);
            let spans = in_use(played, 3).cpus;
            assert!((spans[0] - 3.5).abs() < 1e-9, "{spans:?}");
        });
    }

    #[test]
    fn waits_of_sizes() {
        check(|played| {
            let classes = waits_by_size(played);
            let shown: Vec<_> = classes
                .iter()
                .map(|class| (class.from, class.to, class.jobs, class.wait.max))
                .collect();
            assert_eq!(shown, [(2, 3, 2, 0.0), (4, 7, 1, 20.0)]);
        });
    }

    #[test]
    fn nothing_is_held_twice_in_a_layout() {
        check(|played| {
            let bars = lanes(played, 0, 40_000, 4, 0).bars;
            let shown: Vec<_> = bars
                .iter()
                .map(|bar| (bar.job, bar.from, bar.first, bar.count))
                .collect();
            assert_eq!(shown, [(0, 0, 0, 2), (1, 0, 2, 2), (2, 20_000, 0, 4)]);
            assert_eq!(lanes(played, 0, 20_000, 4, 0).bars.len(), 2);
        });
    }
}
