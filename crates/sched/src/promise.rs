//! Promises to blocked jobs: when they are expected to start, and who would delay them.

use crate::State;
use crate::kinds::{Choice, find};
use model::{JobState, Seconds, Timestamp};
use resources::{Cluster, Free, Share};

/// A job without a limit is taken to last a year, as Slurm has it.
pub(crate) const UNLIMITED: Seconds = Seconds(365 * 24 * 3600);

/// More jobs have no promise at a time: a bit is one.
const MOST: usize = 64;

/// The promises of a pass.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    given: Vec<Promise>,
    /// What is free both now and beside some of them, by which those are.
    left: Vec<(u64, Free)>,
}

/// When a blocked job is expected to start.
#[derive(Debug)]
struct Promise {
    at: Timestamp,
    /// What is free then beside it.
    later: Free,
}

impl Promises {
    /// The promises that a job which would run until then could delay, a bit each.
    pub(crate) fn delayed_by(&self, end: Timestamp) -> u64 {
        let late = self.given.iter().enumerate();
        let late = late.filter(|(_, promise)| end > promise.at);
        late.fold(0, |all, (index, _)| all | 1 << index)
    }

    /// What is free now and at the moments of those promises beside the promised.
    pub(crate) fn left_by(&mut self, cluster: &Cluster, free: &Free, delayed: u64) -> &Free {
        let known = self.left.iter().position(|(which, _)| *which == delayed);
        let index = known.unwrap_or_else(|| {
            let mut left = free.clone();
            for (index, promise) in self.given.iter().enumerate() {
                if delayed & (1 << index) != 0 {
                    left.keep(cluster, &promise.later);
                }
            }
            self.left.push((delayed, left));
            self.left.len() - 1
        });
        &self.left[index].1
    }

    /// A job starts: what it holds at the moment of a promise is taken of it.
    pub(crate) fn take(
        &mut self,
        cluster: &Cluster,
        choice: &Choice,
        user: u32,
        shares: &[Share],
        end: Timestamp,
    ) {
        let sharing = choice.need.compiled.demand.sharing;
        for promise in self.given.iter_mut().filter(|promise| end > promise.at) {
            promise.later.take(cluster, shares, sharing, user);
        }
        self.left.clear();
    }
}

impl State {
    /// Promises a blocked job its place at the first moment when enough has ended, if all jobs that
    /// run last until their limits; false where there are too many promises.
    pub(crate) fn promise(
        &self,
        promises: &mut Promises,
        choice: &Choice,
        user: u32,
        now: Timestamp,
    ) -> bool {
        if promises.given.len() >= MOST {
            return false;
        }
        let compiled = &choice.need.compiled;
        let mut later = self.held.free.clone();
        let mut at = Timestamp(i64::MAX);
        for (end, job) in self.ends(now) {
            let Some(holding) = &job.derived.holding else {
                continue;
            };
            later.give(
                &self.cluster,
                &holding.shares,
                holding.sharing,
                holding.user,
            );
            let found = find(
                &self.cluster,
                choice.partition,
                compiled,
                &later,
                user,
                None,
            );
            if let Some(shares) = found {
                let sharing = compiled.demand.sharing;
                later.take(&self.cluster, &shares, sharing, user);
                at = end;
                break;
            }
        }
        promises.given.push(Promise { at, later });
        promises.left.clear();
        true
    }

    /// Running jobs by the moment at which they end at the latest, never before now.
    pub(crate) fn ends(&self, now: Timestamp) -> Vec<(Timestamp, &crate::job::Job)> {
        let running = self.running.iter().filter_map(|id| self.jobs.get(id));
        let ends = running.filter_map(|job| match &job.record.state {
            JobState::Running { since, limit, .. } => {
                let end = *since + limit.unwrap_or(UNLIMITED);
                Some((end.max(now), job))
            }
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        });
        let mut ends: Vec<(Timestamp, &crate::job::Job)> = ends.collect();
        ends.sort_by_key(|(end, job)| (*end, job.record.id));
        ends
    }
}
